package chaos

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/multimap"
)

// values is a multimap of one kind.
type values interface {
	PutAll(ctx context.Context, k string, vs ...int64) error
	Get(ctx context.Context, k string) ([]int64, error)
	Remove(ctx context.Context, k string, v int64) (bool, error)
	RemoveAll(ctx context.Context, k string) ([]int64, error)
}

// setValues makes a set of values from what has another PutAll.
type setValues struct{ *multimap.Set[string, int64] }

func (s setValues) PutAll(ctx context.Context, k string, vs ...int64) error {
	_, err := s.Set.PutAll(ctx, k, vs...)
	return err
}

func multimapOptions(ids bool) (opts []multimap.Option) {
	if ids {
		opts = append(opts, multimap.WithRequestIDs())
	}
	return opts
}

func lists(c *rueidisson.Client, name string, ids bool) values {
	return multimap.NewList[string, int64](c, name, multimapOptions(ids)...)
}

func sets(c *rueidisson.Client, name string, ids bool) values {
	return setValues{multimap.NewSet[string, int64](c, name, multimapOptions(ids)...)}
}

// useValues puts a value of its own to a key, removes the one before, reads all, or removes all.
func useValues(of func(c *rueidisson.Client, name string, ids bool) values) func(context.Context, *worker, context.Context, string) {
	return func(ctx context.Context, w *worker, _ context.Context, name string) {
		m, k, v := of(w.c, name, w.rnd.IntN(2) == 0), strconv.Itoa(w.rnd.IntN(keysOfMap)), w.fresh(w.r.proc)
		entry := entryOf(name, k)
		if w.at == nil {
			w.at = map[string]int64{}
		}
		switch before := w.at[entry]; {
		case w.rnd.IntN(8) == 0: // with an id: of a lost answer nobody knows what it had
			w.exchange(entry, "remove all", 0, func() ([]int64, error) { return of(w.c, name, true).RemoveAll(ctx, k) })
		case w.rnd.IntN(3) == 0:
			w.exchange(entry, "get", 0, func() ([]int64, error) { return m.Get(ctx, k) })
		case before != 0 && w.rnd.IntN(2) == 0:
			w.at[entry] = 0
			w.exchange(entry, "remove", before, func() ([]int64, error) { return nil, happened(m.Remove(ctx, k, before)) })
		default:
			w.at[entry] = v
			w.exchange(entry, "put", v, func() ([]int64, error) { return nil, m.PutAll(ctx, k, v) })
		}
	}
}

func checkValues(of func(c *rueidisson.Client, name string, ids bool) values, ordered bool) func(context.Context, *rueidisson.Client, string, []event) ([]string, int) {
	return func(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
		for i := range keysOfMap {
			k := strconv.Itoa(i)
			left, err := of(c, name, false).Get(ctx, k)
			if err != nil {
				return append(found, fmt.Sprintf("key %s: %v", k, err)), chances
			}
			some, n := valuesHistory(operations(events, entryOf(name, k), ""), left, ordered)
			for _, f := range some {
				found = append(found, "key "+k+": "+f)
			}
			chances += n
		}
		return found, chances
	}
}

// valuesHistory judges the operations of a key whose values are all different: each is removed once at most, is seen only between its
// put and its removal, and is gone only if it was removed, or may have been. Values that are ordered are seen in the order of their
// puts.
func valuesHistory(ops []event, left []int64, ordered bool) (found []string, chances int) {
	puts, removed, perhaps := map[int64]event{}, map[int64]event{}, map[int64]bool{}
	all := false // are perhaps removed
	for _, o := range ops {
		gone := o.Values
		switch {
		case o.Op == "put":
			puts[o.Value] = o
			continue
		case o.Op == "get":
			continue
		case o.Outcome == unknown && o.Op == "remove":
			perhaps[o.Value] = true
		case o.Outcome == unknown:
			all = true
		case o.Op == "remove":
			gone = []int64{o.Value}
		}
		for _, v := range gone {
			if o.Outcome != done {
				continue
			}
			if before, twice := removed[v]; twice {
				found = append(found, fmt.Sprintf("%x was removed twice: by a %s of process %d and a %s of process %d", v, before.Op, before.Proc, o.Op, o.Proc))
			}
			removed[v] = o
		}
	}
	found = append(found, seenValues(ops, puts, removed, left, ordered)...)
	for v, p := range puts {
		_, was := removed[v]
		if p.Outcome == done && !was && !perhaps[v] && !all && !slices.Contains(left, v) {
			found = append(found, fmt.Sprintf("%x is gone, and nobody has removed it", v))
		}
		if was && slices.Contains(left, v) {
			found = append(found, fmt.Sprintf("%x is there, and was removed", v))
		}
	}
	return found, int(count(ops, unknown))
}

// seenValues judges what operations have seen of a key, and what is left in the end.
func seenValues(ops []event, puts, removed map[int64]event, left []int64, ordered bool) (found []string) {
	for _, o := range append(slices.Clone(ops), event{Op: "last look", Outcome: done, Values: left}) {
		for i, v := range o.Values {
			switch p, known := puts[v]; {
			case o.Outcome != done:
			case !known:
				found = append(found, fmt.Sprintf("a %s sees %x, which was never put", o.Op, v))
			case p.Outcome == not:
				found = append(found, fmt.Sprintf("a %s sees %x, whose put says: %s", o.Op, v, p.Error))
			case slices.Contains(o.Values[:i], v):
				found = append(found, fmt.Sprintf("a %s sees %x twice", o.Op, v))
			case o.Op == "get" && removed[v].At != 0 && removed[v].At < o.Began:
				found = append(found, fmt.Sprintf("a %s sees %x after its removal", o.Op, v))
			case ordered && slices.ContainsFunc(o.Values[:i], func(b int64) bool {
				return p.Outcome == done && puts[b].Outcome == done && p.At < puts[b].Began
			}):
				found = append(found, fmt.Sprintf("a %s sees %x after one that was put later", o.Op, v))
			}
		}
	}
	return found
}

func TestWhatAKeyOfAMultimapCannotShowIsFound(t *testing.T) {
	t.Parallel()
	op := func(name string, from, to, value int64, outcome string, values ...int64) event {
		return event{Op: name, Began: from, At: to, Value: value, Outcome: outcome, Values: values}
	}
	for name, c := range map[string]struct {
		ops   []event
		left  []int64
		found int
	}{
		"put and left":              {[]event{op("put", 1, 2, 7, done), op("get", 3, 4, 0, done, 7)}, []int64{7}, 0},
		"put and removed":           {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 7, done)}, nil, 0},
		"never put":                 {nil, []int64{7}, 1},
		"its put was refused":       {[]event{op("put", 1, 2, 7, not)}, []int64{7}, 1},
		"gone":                      {[]event{op("put", 1, 2, 7, done)}, nil, 1},
		"perhaps removed":           {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 7, unknown)}, nil, 0},
		"another one is perhaps":    {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 6, unknown)}, nil, 1},
		"all are perhaps":           {[]event{op("put", 1, 2, 7, done), op("remove all", 3, 4, 0, unknown)}, nil, 0},
		"removed twice":             {[]event{op("put", 1, 2, 7, done), op("remove", 3, 5, 7, done), op("remove all", 4, 6, 0, done, 7)}, nil, 1},
		"removed and left":          {[]event{op("put", 1, 2, 7, done), op("remove", 3, 5, 7, done)}, []int64{7}, 1},
		"seen after its removal":    {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 7, done), op("get", 5, 6, 0, done, 7)}, nil, 1},
		"seen during its removal":   {[]event{op("put", 1, 2, 7, done), op("remove", 3, 6, 7, done), op("get", 5, 7, 0, done, 7)}, nil, 0},
		"twice in the list":         {[]event{op("put", 1, 2, 7, done)}, []int64{7, 7}, 1},
		"in order":                  {[]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, done)}, []int64{7, 8}, 0},
		"out of order":              {[]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, done)}, []int64{8, 7}, 1},
		"in the order of a request": {[]event{op("put", 1, 5, 7, done), op("put", 3, 4, 8, done)}, []int64{8, 7}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := valuesHistory(c.ops, c.left, true)
			require.Len(t, found, c.found, found)
		})
	}
	found, _ := valuesHistory([]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, done)}, []int64{8, 7}, false)
	require.Empty(t, found, "a set has no order")
}
