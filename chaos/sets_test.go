package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/set"
)

// addOrPop adds a number to a set, which nobody adds again, or pops one, or looks for one.
func addOrPop(ctx context.Context, w *worker, _ context.Context, name string) {
	s := set.New[int64](w.c, name)
	switch w.rnd.IntN(5) {
	case 0, 1:
		v := w.fresh(w.r.proc)
		w.exchange(name, "add", v, func() ([]int64, error) { return nil, added(s.Add(ctx, v)) })
	case 2:
		v := w.fresh(w.r.proc)
		w.exchange(name, "add", v, func() ([]int64, error) { return nil, happened(s.AddAllIfAbsent(ctx, v)) })
	case 3:
		w.exchange(name, "take", 0, func() ([]int64, error) { return s.Pop(ctx, 1) })
	case 4:
		v := w.fresh(w.r.proc)
		w.exchange(name, "has", v, func() ([]int64, error) { return nil, happened(s.Has(ctx, v)) })
	}
}

func added(n int64, err error) error { return happened(n > 0, err) }

// popped judges what is left of a set.
func popped(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	var left []int64
	for v, err := range set.New[int64](c, name).All(ctx) {
		if err != nil {
			return []string{err.Error()}, 0
		}
		left = append(left, v)
	}
	return setHistory(operations(events, name, ""), left)
}

// addOrRemove adds a number to a set with times to live, for ever or for a moment, or removes one that it finds there.
func addOrRemove(ctx context.Context, w *worker, _ context.Context, name string) {
	s, v := set.NewCache[int64](w.c, name), w.fresh(w.r.proc)
	switch w.rnd.IntN(6) {
	case 0, 1:
		w.exchange(name, "add", v, func() ([]int64, error) { return nil, happened(s.Add(ctx, v)) })
	case 2:
		w.exchange(name, "add", v, func() ([]int64, error) { return nil, happened(s.AddIfAbsent(ctx, v)) })
	case 3:
		w.exchange(name, "brief", v, func() ([]int64, error) { return nil, happened(s.Add(ctx, v, set.WithTTL(50*time.Millisecond))) })
	case 4:
		some, err := s.Random(ctx, 1)
		if err != nil || len(some) == 0 {
			return
		}
		w.exchange(name, "take", some[0], func() ([]int64, error) { return some, added(s.Remove(ctx, some[0])) })
	case 5:
		w.exchange(name, "has", v, func() ([]int64, error) { return nil, happened(s.Has(ctx, v)) })
	}
}

// removed judges what is left of a set with times to live.
func removed(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	var left []int64
	for v, err := range set.NewCache[int64](c, name).All(ctx) {
		if err != nil {
			return []string{err.Error()}, 0
		}
		left = append(left, v)
	}
	return setHistory(operations(events, name, ""), left)
}

// setHistory judges a set in which each number is added once. What was added is there or was taken, by one; what was taken is not there;
// nothing is there that was not added; nobody has found what nobody has added.
func setHistory(ops []event, left []int64) (found []string, chances int) {
	was, taken, there := map[int64]event{}, map[int64]string{}, map[int64]bool{}
	for _, v := range left {
		there[v] = true
	}
	lost := 0 // takes of which nobody knows what they took
	for _, o := range ops {
		switch {
		case o.Op == "add" || o.Op == "brief":
			was[o.Value] = o
		case o.Op == "take" && o.Outcome == unknown && o.Value == 0:
			lost++
		case o.Op == "take" && o.Outcome == unknown:
			if taken[o.Value] == "" {
				taken[o.Value] = unknown
			}
		case o.Op == "has" && o.Outcome == done:
			found = append(found, fmt.Sprintf("%x was found, and never added", o.Value))
		}
	}
	for _, o := range ops {
		if o.Op != "take" || o.Outcome != done {
			continue
		}
		for _, v := range o.Values {
			if taken[v] == done {
				found = append(found, fmt.Sprintf("%x was taken twice", v))
			}
			if taken[v] = done; there[v] {
				found = append(found, fmt.Sprintf("%x was taken, and is there", v))
			}
			if o, known := was[v]; !known || o.Outcome == not {
				found = append(found, fmt.Sprintf("%x was taken, and never added", v))
			}
		}
	}
	for v, o := range was {
		switch {
		case o.Outcome == not && there[v]:
			found = append(found, fmt.Sprintf("%x is there, and its add says: %s", v, o.Error))
		case o.Outcome == done && o.Op == "add" && !there[v] && taken[v] == "":
			if lost--; lost < 0 {
				found = append(found, fmt.Sprintf("%x was added, and is gone", v))
			}
		}
	}
	for v := range there {
		if _, known := was[v]; !known {
			found = append(found, fmt.Sprintf("%x is there, and was never added", v))
		}
	}
	return found, int(count(ops, unknown))
}

func TestWrongSetsAreFound(t *testing.T) {
	t.Parallel()
	op := func(name string, value int64, outcome string, values ...int64) event {
		return event{Op: name, Value: value, Outcome: outcome, Values: values}
	}
	for name, c := range map[string]struct {
		ops     []event
		left    []int64
		found   int
		chances int
	}{
		"each is there":               {[]event{op("add", 7, done), op("add", 9, done)}, []int64{7, 9}, 0, 0},
		"one was taken":               {[]event{op("add", 7, done), op("take", 0, done, 7)}, nil, 0, 0},
		"one may be there":            {[]event{op("add", 7, unknown)}, []int64{7}, 0, 1},
		"one may not be there":        {[]event{op("add", 7, unknown)}, nil, 0, 1},
		"one may have been taken":     {[]event{op("add", 7, done), op("take", 0, unknown)}, nil, 0, 1},
		"this may have been taken":    {[]event{op("add", 7, done), op("take", 7, unknown)}, nil, 0, 1},
		"two cannot have been":        {[]event{op("add", 7, done), op("add", 9, done), op("take", 0, unknown)}, nil, 1, 1},
		"another may have been taken": {[]event{op("add", 7, done), op("add", 9, done), op("take", 9, unknown)}, nil, 1, 1},
		"one has ended":               {[]event{op("brief", 7, done)}, nil, 0, 0},
		"one is gone":                 {[]event{op("add", 7, done)}, nil, 1, 0},
		"one was taken twice":         {[]event{op("add", 7, done), op("take", 0, done, 7), op("take", 0, done, 7)}, nil, 1, 0},
		"one was taken and stays":     {[]event{op("add", 7, done), op("take", 0, done, 7)}, []int64{7}, 1, 0},
		"one was refused":             {[]event{op("add", 7, not)}, []int64{7}, 1, 0},
		"a refused one was taken":     {[]event{op("add", 7, not), op("take", 0, done, 7)}, nil, 1, 0},
		"one was never added":         {nil, []int64{7}, 1, 0},
		"what is not there is found":  {[]event{op("has", 7, done)}, nil, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := setHistory(c.ops, c.left)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}
