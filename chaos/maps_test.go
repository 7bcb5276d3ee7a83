package chaos

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/rmap"
)

const (
	keysOfMap = 4        // entries that are used of each map
	shards    = 4        // of a sharded map
	sum       = "sum"    // the entry that is added to
	lent      = "lent"   // the entry that expires
	rested    = "rested" // the entry that expires when it is not used
	// restOf is the idle time of the entry that is rested.
	restOf = 150 * time.Millisecond
)

// mapOf returns a map of one kind, with or without request ids.
type mapOf func(c *rueidisson.Client, name string, ids bool) rmap.Mapping[string, int64]

// mapOptions returns the options of a handle. Numbers have to be text to be added to.
func mapOptions[T any](ids bool) []T {
	all := []T{any(rmap.WithCodec(codec.Text)).(T)}
	if ids {
		all = append(all, any(rmap.WithRequestIDs()).(T))
	}
	return all
}

func plainMap(c *rueidisson.Client, name string, ids bool) rmap.Mapping[string, int64] {
	return rmap.New[string, int64](c, name, mapOptions[rmap.MapOption](ids)...)
}

func ttlMap(c *rueidisson.Client, name string, ids bool) rmap.Mapping[string, int64] {
	return rmap.NewTTLMap[string, int64](c, name, mapOptions[rmap.TTLMapOption](ids)...)
}

func cacheMap(c *rueidisson.Client, name string, ids bool) rmap.Mapping[string, int64] {
	return rmap.NewCache[string, int64](c, name, mapOptions[rmap.CacheOption](ids)...)
}

func shardedMap(c *rueidisson.Client, name string, ids bool) rmap.Mapping[string, int64] {
	return rmap.NewSharded[string, int64](c, name, shards, mapOptions[rmap.MapOption](ids)...)
}

func shardNames(name string) (all []string) {
	for i := range shards {
		all = append(all, keys.Shard(name, i))
	}
	return all
}

// entryOf is the name of an entry in the record.
func entryOf(name, key string) string { return name + " #" + key }

// useMap does an operation on an entry of a map, by a handle with or without request ids.
func useMap(of mapOf, expires bool) func(context.Context, *worker, context.Context, string) {
	return func(ctx context.Context, w *worker, _ context.Context, name string) {
		m, k, v := of(w.c, name, w.rnd.IntN(2) == 0), strconv.Itoa(w.rnd.IntN(keysOfMap)), w.fresh(w.r.proc)
		entry := entryOf(name, k)
		switch w.rnd.IntN(10) {
		case 0, 1:
			w.exchange(entry, "put", v, func() ([]int64, error) { return nil, m.Put(ctx, k, v) })
		case 2, 3:
			w.exchange(entry, "get", 0, func() ([]int64, error) { return one(m.Get(ctx, k)) })
		case 4:
			w.exchange(entry, "swap", v, func() ([]int64, error) { return one(m.Swap(ctx, k, v)) })
		case 5:
			w.exchange(entry, "take", 0, func() ([]int64, error) { return one(m.Take(ctx, k)) })
		case 6:
			compareAndSwap(ctx, w, m, name, k, v)
		case 7:
			w.exchange(entry, "replace", v, func() ([]int64, error) { return nil, happened(m.Replace(ctx, k, v)) })
		case 8:
			w.exchange(entry, "put if absent", v, func() ([]int64, error) {
				_, stored, err := m.PutIfAbsent(ctx, k, v)
				return nil, happened(stored, err)
			})
		case 9:
			useSpecialEntry(ctx, w, m, name, expires, v)
		}
	}
}

// useSpecialEntry adds to the number of a map, or writes or reads the entry that expires.
func useSpecialEntry(ctx context.Context, w *worker, m rmap.Mapping[string, int64], name string, expires bool, v int64) {
	cache, idles := m.(*rmap.Cache[string, int64])
	switch entry := entryOf(name, lent); {
	case idles && w.rnd.IntN(3) == 0:
		useRested(ctx, w, cache, entryOf(name, rested), v)
	case !expires || w.rnd.IntN(2) == 0:
		w.exchange(entryOf(name, sum), "add", 0, func() ([]int64, error) {
			n, err := rmap.Add(ctx, m, sum, 1)
			return []int64{n}, err
		})
	case w.rnd.IntN(3) == 0:
		w.exchange(entry, "put", v, func() ([]int64, error) { return nil, m.Put(ctx, lent, v, rmap.WithTTL(lifeOf(v))) })
	default:
		w.exchange(entry, "get", 0, func() ([]int64, error) { return one(m.Get(ctx, lent)) })
	}
}

// useRested writes the entry that expires when it is not used, or reads it several times.
func useRested(ctx context.Context, w *worker, m *rmap.Cache[string, int64], entry string, v int64) {
	if w.rnd.IntN(4) == 0 {
		w.exchange(entry, "put", v, func() ([]int64, error) { return nil, m.Put(ctx, rested, v, rmap.WithMaxIdle(restOf)) })
		return
	}
	for range 3 {
		w.exchange(entry, "get", 0, func() ([]int64, error) { return one(m.Get(ctx, rested)) })
		sleep(ctx, w.between(0, restOf/2))
	}
}

func compareAndSwap(ctx context.Context, w *worker, m rmap.Mapping[string, int64], name, k string, v int64) {
	old, there, err := m.Get(ctx, k)
	if err != nil || !there {
		return
	}
	w.exchange(entryOf(name, k), "compare and swap", v, func() ([]int64, error) {
		done, err := m.CompareAndSwap(ctx, k, old, v)
		return []int64{old}, happened(done, err)
	})
}

func one(v int64, there bool, err error) ([]int64, error) {
	if !there {
		return nil, err
	}
	return []int64{v}, err
}

func happened(done bool, err error) error {
	if err == nil && !done {
		return errNothing
	}
	return err
}

// lifeOf is the time to live of a value.
func lifeOf(v int64) time.Duration { return time.Duration(20+mixed(v)%200) * time.Millisecond }

// mixed returns a number that looks like chance and belongs to a value.
func mixed(v int64) int64 { return int64(uint64(v) * 0x9e3779b97f4a7c15 >> 33) }

// checkMap judges all entries of a map.
func checkMap(of mapOf) func(context.Context, *rueidisson.Client, string, []event) ([]string, int) {
	return func(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
		m := of(c, name, false)
		for i := range keysOfMap {
			k := strconv.Itoa(i)
			last, err := one(m.Get(ctx, k))
			if err != nil {
				return append(found, fmt.Sprintf("entry %s: %v", k, err)), chances
			}
			some, n := entryHistory(operations(events, entryOf(name, k), ""), last)
			for _, f := range some {
				found = append(found, "entry "+k+": "+f)
			}
			chances += n
		}
		total, _, err := m.Get(ctx, sum)
		if err != nil {
			return append(found, fmt.Sprintf("the number: %v", err)), chances
		}
		some, n := sums(operations(events, entryOf(name, sum), "add"), total)
		outlived, ends := expired(operations(events, entryOf(name, lent), ""))
		unused, rests := restless(operations(events, entryOf(name, rested), ""))
		return slices.Concat(found, some, outlived, unused), chances + n + ends + rests
	}
}

// ending are the operations that end a value which they return.
var ending = []string{"swap", "take", "compare and swap"}

// entryHistory judges the operations of an entry whose values are all different: no value is seen that was not written, or that had
// been replaced or removed before the read began; none is replaced or taken twice; none is gone that nobody removed. The entry has
// the values of last in the end: one, or none.
func entryHistory(ops []event, last []int64) (found []string, chances int) {
	wrote, over, by := map[int64]event{}, map[int64]int64{}, map[int64]event{}
	for _, o := range ops {
		if o.Value != 0 {
			wrote[o.Value] = o
		}
	}
	for _, o := range ops {
		if o.Outcome != done || !slices.Contains(ending, o.Op) {
			continue
		}
		for _, v := range o.Values {
			if before, twice := by[v]; twice {
				found = append(found, fmt.Sprintf("%x was ended twice: by a %s of process %d and a %s of process %d", v, before.Op, before.Proc, o.Op, o.Proc))
			}
			by[v], over[v] = o, o.At
		}
	}
	for v, w := range wrote { // another write that began after it was done, and is done, has replaced it
		for _, o := range ops {
			if w.Outcome == done && o.Outcome == done && o.Op != "get" && o.Began > w.At && (o.Value != 0 || len(o.Values) > 0 || o.Op == "remove") {
				over[v] = min(cmp.Or(over[v], math.MaxInt64), o.At)
			}
		}
	}
	reads := append(slices.Clone(ops), event{Op: "last look", Outcome: done, Values: last, Began: math.MaxInt64, At: math.MaxInt64})
	for _, r := range reads {
		if r.Outcome != done {
			continue
		}
		for _, v := range r.Values {
			switch w, known := wrote[v]; {
			case !known:
				found = append(found, fmt.Sprintf("a %s sees %x, which was never written", r.Op, v))
			case w.Outcome == not:
				found = append(found, fmt.Sprintf("a %s sees %x, whose %s says: %s", r.Op, v, w.Op, w.Error))
			case over[v] != 0 && over[v] < r.Began:
				found = append(found, fmt.Sprintf("a %s of process %d sees %x, %v after it had ended", r.Op, r.Proc, v, time.Duration(r.Began-over[v])))
			}
		}
		if len(r.Values) == 0 && slices.Contains([]string{"get", "take", "put if absent", "last look"}, r.Op) {
			if w, gone := vanished(ops, r); gone {
				found = append(found, fmt.Sprintf("a %s sees nothing, and nobody has removed %x", r.Op, w.Value))
			}
		}
	}
	return found, int(count(ops, unknown))
}

// vanished reports whether a read sees nothing although a value had been written that nobody can have removed.
func vanished(ops []event, read event) (newest event, gone bool) {
	for _, o := range ops {
		if o.Value != 0 && o.Outcome == done && o.At < read.Began && o.Began > newest.Began {
			newest, gone = o, true
		}
	}
	return newest, gone && !slices.ContainsFunc(ops, func(o event) bool {
		removes := o.Op == "take" && (o.Outcome == unknown || o.Outcome == done && len(o.Values) > 0) || o.Op == "remove" && o.Outcome != not
		return removes && o.Began < read.At && (o.Outcome == unknown || o.At > newest.Began)
	})
}

// sums judges what was added to a number, 1 at a time: each sum is seen once, and grows.
func sums(ops []event, last int64) (found []string, chances int) {
	least, most := count(ops, done), count(ops, done)+count(ops, unknown)
	if last < least || last > most {
		found = append(found, fmt.Sprintf("the number is %d, expected %d to %d", last, least, most))
	}
	slices.SortFunc(ops, func(a, b event) int { return cmp.Compare(a.At, b.At) })
	seen := map[int64]bool{}
	for i, o := range ops {
		if o.Outcome != done {
			continue
		}
		if seen[o.Values[0]] {
			found = append(found, fmt.Sprintf("two additions made it %d", o.Values[0]))
		}
		seen[o.Values[0]] = true
		if slices.ContainsFunc(ops[:i], func(b event) bool { return b.Outcome == done && b.At < o.Began && b.Values[0] > o.Values[0] }) {
			found = append(found, fmt.Sprintf("an addition makes it %d, after a larger one", o.Values[0]))
		}
	}
	return found, int(count(ops, unknown))
}

// inexact is what the clock of the record and that of the times to live may differ by within a round.
const inexact = 20 * time.Millisecond

// expired judges the reads of an entry whose values have times to live. None is seen after its time, and the entry is there as long as
// the values live of all writes that may have been the last. A chance is a read that began when the last value had expired a moment ago.
func expired(ops []event) (found []string, chances int) {
	wrote := map[int64]event{}
	for _, o := range ops {
		if o.Op == "put" && o.Outcome == done {
			wrote[o.Value] = o
		}
	}
	for _, r := range ops {
		if r.Op != "get" || r.Outcome != done {
			continue
		}
		for _, v := range r.Values {
			if w, known := wrote[v]; known && r.Began > w.At+int64(lifeOf(v)+inexact) {
				found = append(found, fmt.Sprintf("%x is read %v after its time to live", v, time.Duration(r.Began-w.At)-lifeOf(v)))
			}
		}
		if w, gone := tooSoon(ops, r); gone {
			found = append(found, fmt.Sprintf("a get of process %d sees nothing %v after %x was written, to live for %v", r.Proc, time.Duration(r.At-w.Began), w.Value, lifeOf(w.Value)))
		}
		for v, w := range wrote {
			if ago := r.Began - w.At - int64(lifeOf(v)); ago > 0 && ago < int64(200*time.Millisecond) {
				chances++
				break
			}
		}
	}
	return found, chances
}

// tooSoon reports whether a read sees nothing although the values live of the last write that was done before it, and of all writes that
// may have followed.
func tooSoon(ops []event, read event) (last event, gone bool) {
	for _, o := range ops {
		if o.Op == "put" && o.Outcome == done && o.At < read.Began && o.Began > last.Began {
			last = o
		}
	}
	if last.Value == 0 || len(read.Values) > 0 {
		return last, false
	}
	for _, o := range ops {
		follows := o.Outcome == unknown || o.Outcome == done && o.At > last.Began
		if o.Op == "put" && follows && o.Began < read.At && read.At > o.Began+int64(lifeOf(o.Value)-inexact) {
			return last, false
		}
	}
	return last, true
}

// restless judges the reads of an entry that expires when it is not used for restOf: a write and each read that sees it begin that time
// anew, counted from when it was called. One that was on its way at the last use may have begun a time that ends earlier. A chance is a
// read that sees the entry when only another read has kept it.
func restless(ops []event) (found []string, chances int) {
	for _, r := range ops {
		if r.Op != "get" || r.Outcome != done {
			continue
		}
		var wrote, used event // the last write, and the last use, that were done before the read began
		for _, o := range ops {
			if o.Outcome != done || o.At >= r.Began || o.Op == "get" && len(o.Values) == 0 {
				continue
			}
			if o.Began > used.Began {
				used = o
			}
			if o.Op == "put" && o.Began > wrote.Began {
				wrote = o
			}
		}
		early := slices.ContainsFunc(ops, func(o event) bool {
			return (o.Outcome != done || o.At > used.Began) && o.Began+int64(restOf-inexact) < r.At
		})
		switch kept := r.At - used.Began; {
		case used.Outcome == "":
		case len(r.Values) == 0 && !early && kept < int64(restOf-inexact):
			found = append(found, fmt.Sprintf("a get of process %d sees nothing %v after a %s of process %d, and entries rest for %v", r.Proc, time.Duration(kept), used.Op, used.Proc, restOf))
		case len(r.Values) > 0 && r.Began > wrote.At+int64(restOf):
			chances++
		}
	}
	return found, chances
}

// entryLock returns the lock of an entry of another kind of map for each name of a round.
func entryLock(c *rueidisson.Client, name string) lock.Locker {
	switch name[len(name)-1] {
	case '0':
		return rmap.New[string, int64](c, name).FairLock("k")
	case '1':
		return multimap.NewSet[string, int64](c, name).Lock("k")
	}
	return rmap.New[string, int64](c, name).Lock("k")
}

func TestWhatAnEntryCannotShowIsFound(t *testing.T) {
	t.Parallel()
	op := func(name string, from, to, value int64, outcome string, values ...int64) event {
		return event{Op: name, Began: from, At: to, Value: value, Outcome: outcome, Values: values}
	}
	for name, c := range map[string]struct {
		ops     []event
		last    []int64
		found   int
		chances int
	}{
		"written and read":                 {[]event{op("put", 1, 2, 7, done), op("get", 3, 4, 0, done, 7)}, []int64{7}, 0, 0},
		"read while it is written":         {[]event{op("put", 1, 9, 7, unknown), op("get", 3, 4, 0, done, 7)}, nil, 0, 1},
		"never written":                    {[]event{op("get", 3, 4, 0, done, 7)}, nil, 1, 0},
		"its write was refused":            {[]event{op("put", 1, 2, 7, not), op("get", 3, 4, 0, done, 7)}, nil, 1, 0},
		"replaced before":                  {[]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, done), op("get", 5, 6, 0, done, 7)}, []int64{8}, 1, 0},
		"replaced meanwhile":               {[]event{op("put", 1, 2, 7, done), op("put", 3, 6, 8, done), op("get", 5, 9, 0, done, 7)}, []int64{8}, 0, 0},
		"the older one in the end":         {[]event{op("put", 1, 2, 7, done), op("put", 3, 4, 8, done)}, []int64{7}, 1, 0},
		"the older one comes late":         {[]event{op("put", 1, 2, 7, unknown), op("put", 3, 4, 8, done)}, []int64{7}, 0, 1},
		"both at once":                     {[]event{op("put", 1, 4, 7, done), op("put", 3, 5, 8, done)}, []int64{7}, 0, 0},
		"taken twice":                      {[]event{op("put", 1, 2, 7, done), op("take", 3, 6, 0, done, 7), op("take", 4, 7, 0, done, 7)}, nil, 1, 0},
		"taken, and still there":           {[]event{op("put", 1, 2, 7, done), op("take", 3, 4, 0, done, 7)}, []int64{7}, 1, 0},
		"swapped by two":                   {[]event{op("put", 1, 2, 7, done), op("swap", 3, 6, 8, done, 7), op("compare and swap", 4, 7, 9, done, 7)}, []int64{9}, 1, 0},
		"a comparison that failed":         {[]event{op("put", 1, 2, 7, done), op("compare and swap", 4, 7, 9, not, 7)}, []int64{7}, 0, 0},
		"gone":                             {[]event{op("put", 1, 2, 7, done), op("get", 3, 4, 0, done)}, []int64{7}, 1, 0},
		"gone in the end":                  {[]event{op("put", 1, 2, 7, done)}, nil, 1, 0},
		"perhaps taken":                    {[]event{op("put", 1, 2, 7, done), op("take", 3, 4, 0, unknown)}, nil, 0, 1},
		"taken before it was written":      {[]event{op("put", 1, 2, 6, done), op("take", 3, 4, 0, done, 6), op("put", 5, 6, 7, done)}, nil, 1, 0},
		"removed":                          {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 0, done)}, nil, 0, 0},
		"removed, and still there":         {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 0, done)}, []int64{7}, 1, 0},
		"its removal was refused":          {[]event{op("put", 1, 2, 7, done), op("remove", 3, 4, 0, not)}, nil, 1, 0},
		"stored where one was":             {[]event{op("put", 1, 2, 7, done), op("put if absent", 3, 4, 8, done)}, []int64{8}, 1, 0},
		"taken while another one is there": {[]event{op("put", 1, 2, 7, done), op("take", 3, 4, 0, done)}, []int64{7}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := entryHistory(c.ops, c.last)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}

func TestWrongSumsAreFound(t *testing.T) {
	t.Parallel()
	op := func(from, to int64, outcome string, sum int64) event {
		return event{Op: "add", Began: from, At: to, Outcome: outcome, Values: []int64{sum}}
	}
	for name, c := range map[string]struct {
		ops   []event
		last  int64
		found int
	}{
		"each counts":             {[]event{op(1, 2, done, 1), op(3, 4, done, 2)}, 2, 0},
		"one may count":           {[]event{op(1, 2, done, 1), op(3, 4, unknown, 0)}, 2, 0},
		"one may not count":       {[]event{op(1, 2, done, 1), op(3, 4, unknown, 0)}, 1, 0},
		"one counts twice":        {[]event{op(1, 2, done, 1), op(3, 4, done, 3)}, 3, 1},
		"one is lost":             {[]event{op(1, 2, done, 1), op(3, 4, done, 2)}, 1, 1},
		"two make the same":       {[]event{op(1, 2, done, 1), op(1, 4, done, 1)}, 2, 1},
		"one falls":               {[]event{op(1, 2, done, 2), op(3, 4, done, 1)}, 2, 1},
		"one that failed counted": {[]event{op(1, 2, done, 1), op(3, 4, not, 0)}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := sums(c.ops, c.last)
			require.Len(t, found, c.found, found)
		})
	}
}

func TestReadsOfExpiredEntriesAreFound(t *testing.T) {
	t.Parallel()
	const v = 5
	put := event{Op: "put", Value: v, Outcome: done, Began: 1, At: 2}
	get := func(after time.Duration, values ...int64) event {
		at := put.At + int64(lifeOf(v)+after)
		return event{Op: "get", Outcome: done, Began: at, At: at + 1, Values: values}
	}
	found, chances := expired([]event{put, get(-time.Millisecond, v), get(inexact/2, v), get(time.Millisecond)})
	require.Empty(t, found)
	require.Equal(t, 2, chances)
	found, _ = expired([]event{put, get(2*inexact, v)})
	require.Len(t, found, 1)
	put.Outcome = unknown
	found, chances = expired([]event{put, get(2*inexact, v)})
	require.Empty(t, found, "it may have been written later")
	require.Zero(t, chances)
}

func TestEntriesThatExpireTooSoonAreFound(t *testing.T) {
	t.Parallel()
	const v, short = 5, 6
	put := func(value, at int64, outcome string) event {
		return event{Op: "put", Value: value, Outcome: outcome, Began: at, At: at + 1}
	}
	get := func(at time.Duration, values ...int64) event {
		return event{Op: "get", Outcome: done, Began: int64(at), At: int64(at) + 1, Values: values}
	}
	half := lifeOf(v) / 2
	for name, c := range map[string]struct {
		ops   []event
		found int
	}{
		"it lives":                 {[]event{put(v, 1, done), get(half, v)}, 0},
		"it is gone":               {[]event{put(v, 1, done), get(half)}, 1},
		"nobody has written it":    {[]event{get(half)}, 0},
		"perhaps it was written":   {[]event{put(v, 1, unknown), get(half)}, 0},
		"it is written meanwhile":  {[]event{{Op: "put", Value: v, Outcome: done, Began: 1, At: int64(half) + 9}, get(half)}, 0},
		"it is over":               {[]event{put(v, 1, done), get(lifeOf(v) + inexact)}, 0},
		"it is nearly over":        {[]event{put(v, 1, done), get(lifeOf(v) - inexact/2)}, 0},
		"another may have ended":   {[]event{put(short, 1, unknown), put(v, int64(lifeOf(short)), done), get(lifeOf(short) + half)}, 0},
		"another has been written": {[]event{put(v, 1, done), put(v, int64(lifeOf(v)), done), get(lifeOf(v) + half)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := expired(c.ops)
			require.Len(t, found, c.found, strings.Join(found, "\n"))
		})
	}
}

func TestEntriesThatRestTooShortlyAreFound(t *testing.T) {
	t.Parallel()
	const v = 5
	put := event{Op: "put", Value: v, Outcome: done, Began: 1, At: 2}
	get := func(at time.Duration, values ...int64) event {
		return event{Op: "get", Outcome: done, Began: int64(at), At: int64(at) + 1, Values: values}
	}
	for name, c := range map[string]struct {
		ops            []event
		found, chances int
	}{
		"it is used":                    {[]event{put, get(restOf/2, v), get(restOf+restOf/4, v)}, 0, 1},
		"the read did not count":        {[]event{put, get(restOf/2, v), get(restOf + restOf/4)}, 1, 0},
		"the write did not count":       {[]event{put, get(restOf / 2)}, 1, 0},
		"it has rested":                 {[]event{put, get(restOf/2, v), get(2 * restOf)}, 0, 0},
		"it has nearly rested":          {[]event{put, get(restOf - inexact/2)}, 0, 0},
		"a read that sees it not":       {[]event{put, get(restOf + inexact), get(restOf + 2*inexact)}, 0, 0},
		"nobody has written it":         {[]event{get(restOf)}, 0, 0},
		"a write came late":             {[]event{{Op: "put", Value: v, Outcome: unknown, Began: 1, At: 2}, put, get(restOf/2, v), get(restOf + restOf/4)}, 0, 0},
		"the use may have come earlier": {[]event{put, {Op: "get", Outcome: done, Began: 3, At: int64(restOf), Values: []int64{v}}, get(restOf + inexact)}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := restless(c.ops)
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			require.Equal(t, c.chances, chances)
		})
	}
}
