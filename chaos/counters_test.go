package chaos

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/counter"
)

// addOne adds 1 by an operation, and notes the sum.
func addOne(add func(ctx context.Context, c *rueidisson.Client, name string) (int64, error)) func(context.Context, *worker, context.Context, string) {
	return func(ctx context.Context, w *worker, _ context.Context, name string) {
		w.holds++
		_ = w.operation(name, "add", 0, func() (int64, error) { return add(ctx, w.c, name) })
	}
}

func plainAdd(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
	return counter.New(c, name).Add(ctx, 1)
}

func countedAdd(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
	return counter.New(c, name, counter.WithRequestIDs()).Add(ctx, 1)
}

func floatAdd(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
	v, err := counter.NewFloat(c, name).Add(ctx, 1)
	return int64(v), err
}

// localAdd adds to the sum of the process, and sends that. It answers no sum of its own. What is refused stays with the process.
func localAdd(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
	a := counter.NewAdder(c, name)
	err := a.Add(ctx, 1)
	if err == nil {
		if err = a.Flush(ctx); err != nil {
			err = fmt.Errorf("%w: %w", rueidisson.ErrOutcomeUnknown, err)
		}
	}
	return 0, err
}

// addedOnce checks a number to which 1 was added.
func addedOnce(get func(ctx context.Context, c *rueidisson.Client, name string) (int64, error)) func(context.Context, *rueidisson.Client, string, []event) ([]string, int) {
	return func(ctx context.Context, c *rueidisson.Client, name string, events []event) ([]string, int) {
		n, err := get(ctx, c, name)
		if err != nil {
			return []string{err.Error()}, 0
		}
		return addedSums(operations(events, name, "add"), n)
	}
}

// addedSums judges adds of 1: each that was done counts once, none counts that was not done, and no two were answered the same sum. A
// chance is an add of unknown outcome.
func addedSums(ops []event, n int64) (found []string, chances int) {
	least, most := count(ops, done), count(ops, done)+count(ops, unknown)
	if n < least || n > most {
		found = append(found, fmt.Sprintf("the number is %d, expected %d to %d", n, least, most))
	}
	seen := map[int64]bool{}
	for _, o := range ops {
		if o.Outcome != done || o.Value == 0 {
			continue
		}
		if seen[o.Value] {
			found = append(found, fmt.Sprintf("two adds were answered %d", o.Value))
		}
		seen[o.Value] = true
	}
	return found, int(count(ops, unknown))
}

func readCounter(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
	return counter.New(c, name).Get(ctx)
}

func readFloat(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
	v, err := counter.NewFloat(c, name).Get(ctx)
	return int64(v), err
}

// takeIDs takes an id, or some in a row.
func takeIDs(ctx context.Context, w *worker, _ context.Context, name string) {
	g := counter.NewIDs(w.c, name)
	if w.rnd.IntN(8) > 0 {
		w.exchange(name, "next", 0, func() ([]int64, error) {
			id, err := g.Next(ctx)
			return []int64{id}, err
		})
		return
	}
	w.exchange(name, "range", 0, func() (ids []int64, err error) {
		from, to, err := g.Range(ctx, 1+w.rnd.Int64N(20))
		for id := from; id < to; id++ {
			ids = append(ids, id)
		}
		return ids, err
	})
}

// idsOnce checks that no id was handed out twice.
func idsOnce(_ context.Context, _ *rueidisson.Client, name string, events []event) ([]string, int) {
	return eachOnce(operations(events, name, ""))
}

// eachOnce judges ids. A chance is a call that failed, whose block may be lost.
func eachOnce(ops []event) (found []string, chances int) {
	by := map[int64]event{}
	for _, o := range ops {
		if o.Outcome != done {
			chances++
			continue
		}
		for _, id := range o.Values {
			if before, twice := by[id]; twice {
				found = append(found, fmt.Sprintf("processes %d and %d have the id %d", before.Proc, o.Proc, id))
			}
			by[id] = o
		}
	}
	return found, chances
}

// addValue adds a value that no other operation adds.
func addValue(ctx context.Context, w *worker, _ context.Context, name string) {
	v := w.fresh(w.r.proc)
	_ = w.operation(name, "add", v, func() (int64, error) { return 0, counter.NewDistinct[int64](w.c, name).Add(ctx, v) })
}

// distinct checks that about as many different values are counted as were added.
func distinct(ctx context.Context, c *rueidisson.Client, name string, events []event) ([]string, int) {
	n, err := counter.NewDistinct[int64](c, name).Count(ctx)
	if err != nil {
		return []string{err.Error()}, 0
	}
	return aboutAsMany(operations(events, name, "add"), n)
}

// aboutAsMany judges a count of different values, which may be wrong by a few percent.
func aboutAsMany(ops []event, n int64) (found []string, chances int) {
	least, most := count(ops, done), count(ops, done)+count(ops, unknown)
	if low, high := least-least/20-1, most+most/20+1; n < low || n > high {
		found = append(found, fmt.Sprintf("%d different values, expected about %d to %d", n, least, most))
	}
	return found, int(count(ops, unknown))
}

func TestSumsThatAreWrongAreFound(t *testing.T) {
	t.Parallel()
	add := func(sum int64, outcome string) event { return event{Op: "add", Value: sum, Outcome: outcome} }
	for name, c := range map[string]struct {
		ops            []event
		n              int64
		found, chances int
	}{
		"each counts once":       {[]event{add(1, done), add(2, done)}, 2, 0, 0},
		"one is lost":            {[]event{add(1, done), add(2, done)}, 1, 1, 0},
		"one counts twice":       {[]event{add(1, done), add(3, done)}, 3, 1, 0},
		"two have one sum":       {[]event{add(1, done), add(1, done)}, 2, 1, 0},
		"perhaps it counts":      {[]event{add(1, done), add(0, unknown)}, 2, 0, 1},
		"perhaps it does not":    {[]event{add(1, done), add(0, unknown)}, 1, 0, 1},
		"an unknown one twice":   {[]event{add(1, done), add(0, unknown)}, 3, 1, 1},
		"one that was refused":   {[]event{add(1, done), add(0, not)}, 2, 1, 0},
		"those without a sum":    {[]event{add(0, done), add(0, done)}, 2, 0, 0},
		"nothing was ever added": {nil, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := addedSums(c.ops, c.n)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}

func TestIDsThatComeTwiceAreFound(t *testing.T) {
	t.Parallel()
	op := func(outcome string, ids ...int64) event { return event{Values: ids, Outcome: outcome} }
	for name, c := range map[string]struct {
		ops            []event
		found, chances int
	}{
		"each once":                 {[]event{op(done, 1), op(done, 3), op(done, 4, 5)}, 0, 0},
		"one twice":                 {[]event{op(done, 1), op(done, 1)}, 1, 0},
		"one in a range":            {[]event{op(done, 1), op(done, 0, 1, 2)}, 1, 0},
		"two ranges":                {[]event{op(done, 1, 2), op(done, 0, 1, 2)}, 2, 0},
		"one that nobody has":       {[]event{op(not, 0), op(done, 0)}, 0, 1},
		"one that was under way, 0": {[]event{op(unknown), op(done, 7)}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := eachOnce(c.ops)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}

func TestCountsThatAreWrongAreFound(t *testing.T) {
	t.Parallel()
	ops := func(sure, perhaps int) (all []event) {
		for i := range sure + perhaps {
			o := event{Outcome: done}
			if i >= sure {
				o.Outcome = unknown
			}
			all = append(all, o)
		}
		return all
	}
	for name, c := range map[string]struct {
		sure, perhaps int
		n             int64
		found         int
	}{
		"none": {0, 0, 0, 0}, "all": {100, 0, 100, 0}, "about all": {100, 0, 103, 0}, "too few": {100, 0, 93, 1}, "too many": {100, 0, 107, 1},
		"perhaps": {100, 50, 150, 0}, "perhaps not": {100, 50, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := aboutAsMany(ops(c.sure, c.perhaps), c.n)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.perhaps, chances)
		})
	}
}

// generatorKeys are those of an id generator.
func generatorKeys(name string) []string { return []string{name, "{" + name + "}:allocation"} }

// beginIDs sets blocks that are so small that many are taken.
func beginIDs(ctx context.Context, c *rueidisson.Client, name string) error {
	_, err := counter.NewIDs(c, name).Init(ctx, 1, 5)
	return err
}
