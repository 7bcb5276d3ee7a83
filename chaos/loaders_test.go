package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// callsOfStore bounds a call of a loader or a writer.
const callsOfStore = 300 * time.Millisecond

// errRefused is the error of a store that has changed nothing.
var errRefused = errors.New("the store refuses")

// stored is a store on the server that no nemesis reaches: the map of a name. It fails and hangs now and then, that of one process of
// each round more often.
type stored struct {
	of    *rueidisson.Client
	name  string
	r     *recorder
	seed  int64
	sick  bool
	calls atomic.Int64
}

func newStored(w *worker, name string) *stored {
	return &stored{of: w.store, name: name, r: w.r, seed: int64(w.o.Seed), sick: int(w.o.Seed%processes) == w.r.proc-1}
}

// entries are those of the store, as text. What was removed of a store with tokens is empty.
func entries(store *rueidisson.Client, name string) *rmap.Map[string, string] {
	return rmap.New[string, string](store, name+":store", rmap.WithCodec(codec.Text))
}

// ails refuses a call, or has it take long, now and then.
func (s *stored) ails(ctx context.Context) error {
	switch n := mixed(s.seed+s.calls.Add(1)) % 16; {
	case n == 0:
		return errRefused
	case n == 1, s.sick && n < 8:
		sleep(ctx, time.Duration(n+1)*callsOfStore/5)
		return ctx.Err() // that it took too long, or nothing
	}
	return nil
}

// note writes what the store was asked for into the record, as another worker than those that use the map.
func (s *stored) note(op, entry string, value int64, do func() error) error {
	e := event{Kind: begins, Name: entry, Op: op, Value: value, Worker: workers, Hold: s.calls.Add(1)}
	s.r.put(e)
	err := do()
	e.Kind, e.Outcome, e.Error = ends, outcomeOf(err), text(err)
	s.r.put(e)
	return err
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// loaded is the map of this process that loads what is not there.
func loaded(w *worker, name string) *readthrough.Map[string, int64] {
	return shared("loaded", name, func() *readthrough.Map[string, int64] {
		s := newStored(w, name)
		return readthrough.New(loadedMap(w.c, name), func(ctx context.Context, k string) (v int64, there bool, err error) {
			err = s.note("load "+k, name, 0, func() error {
				if err := s.ails(ctx); err != nil {
					return err
				}
				got, is, err := entries(s.of, name).Get(ctx, k)
				v, there = number(got), is
				return err
			})
			return v, there, err
		}, readthrough.WithLoadTimeout(callsOfStore))
	})
}

// loadedMap is a cache for the first name of a round, and a map for the others.
func loadedMap(c *rueidisson.Client, name string) rmap.Mapping[string, int64] {
	if strings.HasSuffix(name, "0") {
		return cacheMap(c, name, false)
	}
	return plainMap(c, name, false)
}

// readOrChange reads an entry, loading it if it is not there. The first worker of each process changes an entry that it alone changes,
// with values that grow: first in the store, and then in the map, or it removes it from that.
func readOrChange(ctx context.Context, w *worker, round context.Context, name string) {
	m := loaded(w, name)
	w.holds++
	if w.number > 0 {
		k := fmt.Sprint(1 + w.rnd.IntN(processes))
		_ = w.operation(name, "get "+k, 0, func() (int64, error) { v, _, err := m.Get(ctx, k); return v, err })
		return
	}
	k, v := fmt.Sprint(w.r.proc), w.holds
	for entries(w.store, name).Put(round, k, fmt.Sprint(v)) != nil {
		if round.Err() != nil {
			return
		}
	}
	_ = w.operation(name, "put "+k, v, func() (int64, error) {
		if w.rnd.IntN(2) == 0 {
			_, err := m.Remove(ctx, k)
			return v, err
		}
		return v, m.Put(ctx, k, v)
	})
}

// loadedAsStored checks that no read is older than a change, and that what is removed is loaded when the faults are over.
func loadedAsStored(ctx context.Context, c, store *rueidisson.Client, name string, events []event) (found []string, chances int) {
	m := readthrough.New(loadedMap(c, name), func(ctx context.Context, k string) (int64, bool, error) {
		got, is, err := entries(store, name).Get(ctx, k)
		return number(got), is, err
	})
	for i := 1; i <= processes; i++ {
		k := fmt.Sprint(i)
		last, _, err := m.Get(ctx, k)
		if err != nil {
			return append(found, fmt.Sprintf("entry %s: %v", k, err)), chances
		}
		puts := operations(events, name, "put "+k)
		gets := append(operations(events, name, "get "+k), event{Outcome: done, Value: last, Began: math.MaxInt64, Hold: math.MaxInt32})
		stale, backwards, _ := staleReads(puts, gets, 0)
		found = append(append(found, stale...), backwards...)
		chances += during(operations(events, name, "load "+k), puts)
		_, removed := m.Remove(ctx, k)
		last, _, err = m.Get(ctx, k)
		is, _, bad := entries(store, name).Get(ctx, k)
		if err = errors.Join(removed, err, bad); err != nil || last != number(is) {
			found = append(found, fmt.Sprintf("entry %s is loaded as %d, and the store has %s (%v)", k, last, is, err))
		}
	}
	return found, chances
}

// during counts the changes that were made while a load of the entry was under way.
func during(loads, changes []event) (n int) {
	for _, c := range changes {
		if c.Outcome == done && slices.ContainsFunc(loads, func(l event) bool { return l.Began < c.At && c.Began < l.At }) {
			n++
		}
	}
	return n
}

// written is the map of this process that writes to the store first.
func written(w *worker, name string) *writethrough.Map[string, int64] {
	return shared("written", name, func() *writethrough.Map[string, int64] {
		s := newStored(w, name)
		return writethrough.New(plainMap(w.c, name, false), func(ctx context.Context, changes []writethrough.Change[string, int64]) error {
			c := changes[0]
			if err := s.ails(ctx); err != nil {
				return fmt.Errorf("%w: %w", errRefused, err)
			}
			return s.note("store", entryOf(name, c.Key), c.Value, func() error {
				if c.Removed {
					_, err := entries(s.of, name).Remove(ctx, c.Key)
					return err
				}
				return entries(s.of, name).Put(ctx, c.Key, fmt.Sprint(c.Value))
			})
		}, writethrough.WithWriteTimeout(callsOfStore))
	})
}

// change writes or removes an entry of a map with a store.
func change(of func(w *worker, name string) *writethrough.Map[string, int64]) func(context.Context, *worker, context.Context, string) {
	return func(ctx context.Context, w *worker, _ context.Context, name string) {
		k, v := strconv.Itoa(w.rnd.IntN(keysOfMap)), w.fresh(w.r.proc)
		if w.rnd.IntN(4) == 0 {
			w.exchange(entryOf(name, k), "remove", 0, func() ([]int64, error) {
				_, err := of(w, name).Remove(ctx, k)
				return nil, perhaps(err)
			})
			return
		}
		w.exchange(entryOf(name, k), "put", v, func() ([]int64, error) { return nil, perhaps(of(w, name).Put(ctx, k, v)) })
	}
}

// perhaps returns an error whose outcome is unknown, unless the store has refused: an error may come when the store has the change.
func perhaps(err error) error {
	if err == nil || errors.Is(err, errRefused) {
		return err
	}
	return errors.Join(err, rueidisson.ErrOutcomeUnknown)
}

// writtenAsStored checks that store and map are the same, unless an error said that they may not be.
func writtenAsStored(ctx context.Context, c, store *rueidisson.Client, name string, events []event) (found []string, chances int) {
	for i := range keysOfMap {
		k := strconv.Itoa(i)
		for {
			inMap, err := one(plainMap(c, name, false).Get(ctx, k))
			text, is, bad := entries(store, name).Get(ctx, k)
			if err = errors.Join(err, bad); err != nil {
				return append(found, fmt.Sprintf("entry %s: %v", k, err)), chances
			}
			inStore, _ := one(number(text), is, nil)
			entry := entryOf(name, k)
			some, n := throughHistory(slices.Concat(operations(events, entry, "put"), operations(events, entry, "remove")), operations(events, entry, "store"), inStore, inMap)
			if len(some) > 0 && sleep(ctx, 50*time.Millisecond) { // a caller that has left may have its change made still
				continue
			}
			for _, f := range some {
				found = append(found, "entry "+k+": "+f)
			}
			chances += n
			break
		}
	}
	return found, chances
}

// throughHistory judges an entry that is written to the store first, and then to the map. The map may lack it, or have another value,
// only after an error. A chance is a change that the store has, and whose caller was told of an error.
func throughHistory(ops, stores []event, inStore, inMap []int64) (found []string, chances int) {
	found, _ = entryHistory(ops, inStore)
	for i := range found {
		found[i] = "in the store: " + found[i]
	}
	outcome := map[int64]string{}
	for _, o := range ops {
		outcome[o.Value] = cmp.Or(outcome[o.Value], o.Outcome)
		if o.Value == 0 && o.Outcome == unknown {
			outcome[0] = unknown
		}
	}
	for _, s := range stores {
		if s.Outcome != not && outcome[s.Value] != done {
			chances++
		}
	}
	switch {
	case slices.Equal(inStore, inMap):
	case len(inMap) == 0 && count(ops, unknown) > 0:
	case len(inStore) == 0 && outcome[0] == unknown:
	case len(inStore) > 0 && len(inMap) > 0 && outcome[inStore[0]] != done:
	default:
		found = append(found, fmt.Sprintf("the store has %x, and the map %x", inStore, inMap))
	}
	return found, chances
}

// queued is the map of this process that writes to the store later.
func queued(w *worker, name string) *writethrough.Map[string, int64] {
	return shared("queued", name, func() *writethrough.Map[string, int64] {
		s := newStored(w, name)
		return writethrough.New(loadedMap(w.c, name), func(ctx context.Context, changes []writethrough.Change[string, int64]) error {
			return s.note("batch", name, int64(len(changes)), func() error {
				if err := s.ails(ctx); err != nil {
					return err
				}
				return putChanges(ctx, s.of, name, changes)
			})
		}, writethrough.WithBehind(20), writethrough.WithWriteDelay(10*time.Millisecond), writethrough.WithWriteTimeout(callsOfStore))
	})
}

// putChanges writes changes to a store that refuses older tokens.
func putChanges(ctx context.Context, store *rueidisson.Client, name string, changes []writethrough.Change[string, int64]) error {
	token, is := fence.FromContext(ctx)
	if !is {
		return errors.New("the context of the writer has no token")
	}
	fields := map[string]string{}
	for _, c := range changes {
		fields[c.Key] = ""
		if !c.Removed {
			fields[c.Key] = fmt.Sprint(c.Value)
		}
	}
	return store.FenceGuard(name+":store", token.Lock()).HSet(ctx, token, fields)
}

// queuedAsStored has what is queued written, and checks that store and map are the same.
func queuedAsStored(ctx context.Context, c, store *rueidisson.Client, name string, events []event) (found []string, chances int) {
	m := writethrough.New(loadedMap(c, name), func(ctx context.Context, changes []writethrough.Change[string, int64]) error {
		return putChanges(ctx, store, name, changes)
	}, writethrough.WithBehind(1000))
	if err := errors.Join(m.Flush(ctx), m.Close(ctx)); err != nil {
		return []string{fmt.Sprintf("the changes are not written: %v", err)}, 0
	}
	for i := range keysOfMap {
		k := strconv.Itoa(i)
		inMap, err := one(loadedMap(c, name).Get(ctx, k))
		text, is, bad := entries(store, name).Get(ctx, k)
		if err = errors.Join(err, bad); err != nil {
			return append(found, fmt.Sprintf("entry %s: %v", k, err)), chances
		}
		inStore, _ := one(number(text), is && text != "", nil)
		some, _ := entryHistory(operations(events, entryOf(name, k), ""), inMap)
		if !slices.Equal(inStore, inMap) {
			some = append(some, fmt.Sprintf("the store has %x, and the map %x", inStore, inMap))
		}
		for _, f := range some {
			found = append(found, "entry "+k+": "+f)
		}
	}
	return found, chances + turns(operations(events, name, "batch"))
}

// turns counts the batches that the store has not taken, and how often another process wrote the next one.
func turns(batches []event) (n int) {
	slices.SortFunc(batches, func(a, b event) int { return cmp.Compare(a.Began, b.Began) })
	for i, b := range batches {
		if b.Outcome != done || i > 0 && b.Proc != batches[i-1].Proc {
			n++
		}
	}
	return n
}

func TestStoresThatAreNotTheMapAreFound(t *testing.T) {
	t.Parallel()
	op := func(name string, from, to, value int64, outcome string) event {
		return event{Op: name, Began: from, At: to, Value: value, Outcome: outcome}
	}
	for name, c := range map[string]struct {
		ops, stores    []event
		inStore, inMap []int64
		found, chances int
	}{
		"the same":                            {[]event{op("put", 1, 2, 7, done)}, []event{op("store", 1, 2, 7, done)}, []int64{7}, []int64{7}, 0, 0},
		"not in the map":                      {[]event{op("put", 1, 2, 7, done)}, nil, []int64{7}, nil, 1, 0},
		"not in the store":                    {[]event{op("put", 1, 2, 7, done)}, nil, nil, []int64{7}, 2, 0},
		"in neither":                          {[]event{op("put", 1, 2, 7, done)}, nil, nil, nil, 1, 0},
		"the caller was told":                 {[]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, unknown)}, []event{op("store", 3, 4, 8, done)}, []int64{8}, []int64{7}, 0, 1},
		"the map has another one":             {[]event{op("put", 1, 2, 7, done), op("put", 1, 2, 8, done)}, nil, []int64{8}, []int64{7}, 1, 0},
		"the store has an older one":          {[]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, done)}, nil, []int64{7}, []int64{8}, 2, 0},
		"removed from the store":              {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 0, done)}, nil, nil, []int64{7}, 1, 0},
		"perhaps removed":                     {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 0, unknown)}, nil, nil, []int64{7}, 0, 0},
		"the map lacks it after an error":     {[]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, unknown)}, nil, []int64{7}, nil, 0, 0},
		"the store has what it refused":       {[]event{op("put", 1, 2, 7, not)}, nil, []int64{7}, []int64{7}, 1, 0},
		"the map has what the store refused":  {[]event{op("put", 1, 2, 7, not)}, nil, nil, []int64{7}, 1, 0},
		"a process died before it was stored": {[]event{op("put", 1, 2, 7, unknown)}, []event{op("store", 1, 1, 7, unknown)}, nil, nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := throughHistory(c.ops, c.stores, c.inStore, c.inMap)
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			require.Equal(t, c.chances, chances)
		})
	}
}

func TestChancesOfStoresAreCounted(t *testing.T) {
	t.Parallel()
	at := func(proc int, from, to int64, outcome string) event {
		return event{Proc: proc, Began: from, At: to, Outcome: outcome}
	}
	require.Equal(t, 3, turns([]event{at(1, 5, 6, not), at(1, 1, 2, done), at(2, 7, 8, done), at(2, 9, 10, done), at(1, 11, 12, done)}))
	require.Equal(t, 1, during([]event{at(1, 5, 9, done)}, []event{at(2, 8, 12, done), at(2, 10, 12, done), at(2, 6, 7, not)}))
}
