package chaos

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
)

// makeFilter makes a filter in which no value is found by chance.
func makeFilter(ctx context.Context, c *rueidisson.Client, name string) error {
	_, err := bloom.New[int64](c, name).Init(ctx, 10_000, 1e-12)
	return err
}

// filterKeys are those of a Bloom filter.
func filterKeys(name string) []string { return []string{name, "{" + name + "}:config"} }

const addsNew = "add new"

// addOrLook adds a value that no other operation adds, and looks for it, or for one that was not added.
func addOrLook(ctx context.Context, w *worker, _ context.Context, name string) {
	f, v := bloom.New[int64](w.c, name), w.fresh(w.r.proc)
	answer := func(is bool, err error) ([]int64, error) {
		if is {
			return []int64{1}, err
		}
		return []int64{0}, err
	}
	switch w.rnd.IntN(4) {
	case 0:
		w.exchange(name, "look for another", 0, func() ([]int64, error) { return answer(f.Has(ctx, -v-1)) })
	case 1:
		w.exchange(name, addsNew, v, func() ([]int64, error) {
			fresh, err := f.AddNew(ctx, v)
			return answer(len(fresh) == 1 && fresh[0], err)
		})
	default:
		var err error
		w.exchange(name, "add", v, func() ([]int64, error) { err = f.Add(ctx, v); return nil, err })
		if err == nil {
			w.exchange(name, "look", 0, func() ([]int64, error) { return answer(f.Has(ctx, v)) })
		}
	}
}

// allFound looks for all that was added.
func allFound(ctx context.Context, c *rueidisson.Client, name string, events []event) ([]string, int) {
	ops := operations(events, name, "")
	var vs []int64
	for _, o := range ops {
		if o.Value != 0 {
			vs = append(vs, o.Value)
		}
	}
	has, err := bloom.New[int64](c, name).HasEach(ctx, vs...)
	if err != nil {
		return []string{err.Error()}, 0
	}
	in := map[int64]bool{}
	for i, v := range vs {
		in[v] = has[i]
	}
	return sifted(ops, in)
}

// sifted judges a filter in which no value is found by chance. What was added is found, at once and in the end; what was not added is not;
// and no value that was added once is said to have been there before. A chance is an add of unknown outcome.
func sifted(ops []event, in map[int64]bool) (found []string, chances int) {
	for _, o := range ops {
		yes := len(o.Values) == 1 && o.Values[0] == 1
		switch {
		case o.Value != 0 && o.Outcome == unknown:
			chances++
		case o.Outcome != done:
		case o.Value != 0 && !in[o.Value]:
			found = append(found, fmt.Sprintf("the value %d was added, and is not found", o.Value))
		case o.Op == "look" && !yes:
			found = append(found, fmt.Sprintf("process %d does not find what it has added", o.Proc))
		case o.Op == "look for another" && yes:
			found = append(found, fmt.Sprintf("process %d finds what was not added", o.Proc))
		case o.Op == addsNew && !yes:
			found = append(found, fmt.Sprintf("the value %d was added once, and is said to have been there", o.Value))
		}
	}
	return found, chances
}

func TestFiltersThatAreWrongAreFound(t *testing.T) {
	t.Parallel()
	op := func(op string, value int64, outcome string, values ...int64) event {
		return event{Op: op, Value: value, Outcome: outcome, Values: values}
	}
	for name, c := range map[string]struct {
		ops            []event
		in             map[int64]bool
		found, chances int
	}{
		"all are found":              {[]event{op("add", 1, done), op(addsNew, 2, done, 1), op("look", 0, done, 1)}, map[int64]bool{1: true, 2: true}, 0, 0},
		"one is lost":                {[]event{op("add", 1, done), op(addsNew, 2, done, 1)}, map[int64]bool{1: true}, 1, 0},
		"one is not found at once":   {[]event{op("add", 1, done), op("look", 0, done, 0)}, map[int64]bool{1: true}, 1, 0},
		"one is found by chance":     {[]event{op("look for another", 0, done, 1)}, nil, 1, 0},
		"another is not found":       {[]event{op("look for another", 0, done, 0)}, nil, 0, 0},
		"one is not new":             {[]event{op(addsNew, 2, done, 0)}, map[int64]bool{2: true}, 1, 0},
		"perhaps it is there":        {[]event{op("add", 1, unknown), op(addsNew, 2, unknown)}, map[int64]bool{1: true}, 0, 2},
		"a look that was not done":   {[]event{op("look", 0, not, 0), op("look for another", 0, not, 0)}, nil, 0, 0},
		"a value that was refused":   {[]event{op("add", 1, not)}, nil, 0, 0},
		"nothing was ever looked at": {nil, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := sifted(c.ops, c.in)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}
