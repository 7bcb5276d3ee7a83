package writethrough

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Change is what becomes of one entry.
type Change[K comparable, V any] struct {
	Key     K    // of the entry
	Value   V    // what it is now; the zero value if it was removed
	Removed bool // it was removed
}

// Map is a map whose changes are written to a store, too: see [New].
// Any number of goroutines may use it.
type Map[K comparable, V any] struct {
	m     rmap.Mapping[K, V]
	in    mapstore.Inside[K, V, rmap.PutOption]
	h     *mapstore.Handle[K, V]
	write func(ctx context.Context, changes []Change[K, V]) error
	cfg   config
	bad   error
	drain drainer
}

// New returns a map on top of m whose changes are also written to a store,
// such as a database, by calls of write.
//
// Without an option it writes through: each change is made under the lock of its
// entry, first to the store, as the only one of its call, and then to the map. This is done even
// if its caller has left meanwhile. If write returns an error or panics, nothing changes, and
// the caller gets that. Changes of one entry wait for each other, in the whole fleet; readers do
// not wait.
//
// If the map cannot be written then, the error says so: the store has the change already, and
// the same may be done again. The entry is then removed from the map, if the server can be
// reached, so that a readthrough.Map brings what the store has; also if the lock was lost meanwhile.
// The map is written only while the lock is held: a request that the network delays changes
// nothing later.
//
// With [WithBehind] it writes behind: one step on the server changes the map and queues the
// change, and the caller continues. One process of the fleet at a time takes changes from the
// queue, in their order, and calls write with a batch: of each key the last change. Changes
// leave the queue when write has returned without an error. Otherwise they are tried again,
// after a pause that grows. So every change that was acknowledged reaches the store at least
// once, and those of one key in order, whatever process dies.
//
// A fenced lock decides which process writes. The context of write ends with its hold, and
// carries its token ([fence.FromContext]). A store that refuses older tokens is safe from a
// process that was paused. Any process with a handle that is used takes part; if there is none,
// the queue waits in Redis.
//
// Only changes by a Map of this package are written to the store: changes of the map by others, Java too,
// are not, and neither are times to live. All operations that change an entry do so in both
// modes, and Clear removes entry by entry. [rmap.Add] returns [ErrInvalidArgument]: use Compute. A
// Map need not be closed ([Map.Close]): one that is dropped leaves no trace when its
// changes are written.
//
// With WithBehind m is an [rmap.Map], an [rmap.TTLMap] or an [rmap.Cache]: put what belongs on top of those, such
// as a readthrough.Map, on top of the writethrough.Map. If m announces its
// writes, near caches are told in the step that changes the map and queues the change.
func New[K comparable, V any](m rmap.Mapping[K, V], write func(ctx context.Context, changes []Change[K, V]) error, opts ...Option) *Map[K, V] {
	w := &Map[K, V]{m: m, write: write}
	w.cfg = config{batch: 100, delay: 100 * time.Millisecond, backlog: 1_000_000, dead: 10_000, timeout: 30 * time.Second}
	w.cfg, w.bad = object.Options(w.cfg, opts, Option.apply)
	if m != nil {
		w.in = m.Inside()
		w.h = w.in.Handle
	}
	switch {
	case w.bad != nil:
	case m == nil || write == nil && !w.cfg.others:
		w.bad = fmt.Errorf("%w: a nil map or writer", ErrInvalidArgument)
	case w.cfg.others && !w.cfg.behind:
		w.bad = fmt.Errorf("%w: only what is written behind can be written by others", ErrInvalidArgument)
	case w.h == nil:
		w.bad = fmt.Errorf("%w: %T cannot be written behind or through", ErrInvalidArgument, m)
	case w.h.Bad != nil:
		w.bad = w.h.Bad
	case w.cfg.behind:
		w.bad = w.behindOn()
		w.drain.lock = lock.NewFenced(w.h.Hub.Engine, keys.MapDrain(w.h.Key))
		w.drain.news, w.drain.line, w.drain.closing = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	}
	return w
}

// behindOn refuses what a change in one step would pass by.
func (w *Map[K, V]) behindOn() error {
	if w.in.Whole {
		return nil
	}
	return fmt.Errorf("%w: %T cannot be written behind: a Map, a TTLMap or a Cache can", ErrInvalidArgument, w.m)
}

// Inside returns what packages nearcache and readthrough build on. It is for this module, see
// [rmap.Mapping].
func (w *Map[K, V]) Inside() mapstore.Inside[K, V, rmap.PutOption] {
	in := w.in
	in.Whole, in.Writes, in.Written, in.Add = false, true, nil, w.add
	if w.bad != nil {
		in.Base = mapstore.Base[K]{Bad: w.bad}
	}
	return in
}

// Name returns the name that the map was made with, before any mapping.
func (w *Map[K, V]) Name() string {
	if w.m == nil {
		return ""
	}
	return w.m.Name()
}

// usable checks what every operation needs, and sees to a queue that others may
// have left.
func (w *Map[K, V]) usable(op string) error {
	err := w.bad
	if err == nil && w.drain.closed.Load() {
		err = ErrClosed
	}
	if err != nil {
		if w.h != nil {
			err = w.h.Failed(op, err)
		}
		return err
	}
	if w.cfg.behind {
		w.look()
	}
	return nil
}

// Get returns the value of k, and whether there is one, as the map's Get does, with its cost and
// errors.
func (w *Map[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	if err = w.usable("get of"); err != nil {
		return v, false, err
	}
	return w.m.Get(ctx, k)
}

// GetMany returns the entries of those of the keys that are there, as the map's GetMany does, with
// its cost and errors.
func (w *Map[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	if err := w.usable("get many of"); err != nil {
		return nil, err
	}
	return w.m.GetMany(ctx, ks...)
}

// Has reports whether there is an entry of k, as the map's Has does, with its cost and errors.
func (w *Map[K, V]) Has(ctx context.Context, k K) (bool, error) {
	if err := w.usable("look for"); err != nil {
		return false, err
	}
	return w.m.Has(ctx, k)
}

// Len returns how many entries there are, as the map's Len does, with its cost and errors.
func (w *Map[K, V]) Len(ctx context.Context) (int64, error) {
	if err := w.usable("count"); err != nil {
		return 0, err
	}
	return w.m.Len(ctx)
}

// Put writes an entry, whether it exists or not, to the map and to the store.
//
// Cost: write-through, the lock of the entry, the call of write, and one script call; write-behind, one script call.
// Errors: write-through, those of the lock, of write and of the map's Put; write-behind, as the map's Put, and
// [ErrBacklog], see [WithBacklogWait]. Source: RMap.fastPut with a MapWriter.
func (w *Map[K, V]) Put(ctx context.Context, k K, v V, opts ...rmap.PutOption) error {
	_, _, err := w.change(ctx, "put", k, opts, blind, func(mapstore.Value) (V, rmap.Verdict, error) { return v, rmap.Store, nil })
	return err
}

// PutMany writes entries to the map and to the store. In write-through mode it writes one after
// the other, each as [Map.Put] does, or several by one call of write ([WithWriteMany]). In
// write-behind mode one script call takes up to 500. More than [WithMaxBacklog] are taken when
// nothing is queued. After an error some may have been written.
func (w *Map[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...rmap.PutOption) error {
	err := w.usable("put many into")
	if err == nil && w.cfg.many > 0 && !w.cfg.behind {
		changes := make([]Change[K, V], 0, len(entries))
		for k, v := range entries {
			changes = append(changes, Change[K, V]{Key: k, Value: v})
		}
		_, err = w.throughMany(ctx, "put many into", changes, opts)
		return err
	}
	if err != nil || !w.cfg.behind {
		for k, v := range entries {
			if err == nil {
				err = w.Put(ctx, k, v, opts...)
			}
		}
		return err
	}
	l, err := w.in.Lifetime(opts)
	var pairs []string
	if err == nil {
		pairs, err = w.h.Pairs(ctx, entries)
	}
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = "=" + pairs[i]
	}
	_, err = w.queueAll(ctx, pairs, l, err)
	return w.h.Failed("put many into", err)
}

// queueAll queues changes of whatever is there. As many as there may never be queued
// are taken where nothing is.
func (w *Map[K, V]) queueAll(ctx context.Context, pairs []string, l mapstore.Lifetime, err error) (count int64, _ error) {
	most, larger := w.cfg.backlog, len(pairs)/2 > w.cfg.backlog
	for err == nil && len(pairs) > 0 {
		some := pairs[:min(mapstore.CutPairs(pairs), 2*mapstore.MostAtOnce)]
		pairs = pairs[len(some):]
		if larger && most == w.cfg.backlog {
			most = len(some) / 2 // so that only these are queued then
		}
		var q mapstore.Queued
		q, err = w.queue(ctx, most, mapstore.Queuing{Pairs: some, Lives: l, Seen: mapstore.Whatever})
		count += q.Count
		if larger {
			most = math.MaxInt32 // the rest belongs to them
		}
	}
	return count, err
}

// Swap writes an entry to the map and to the store, and returns the value that it had in the map.
//
// Cost: as [Map.Put], and one command that reads the entry. In write-behind mode the script call is
// repeated if others write meanwhile. Errors: as [Map.Put], and [ErrDecode] about what was there:
// then it has been written.
func (w *Map[K, V]) Swap(ctx context.Context, k K, v V, opts ...rmap.PutOption) (old V, had bool, err error) {
	was, _, err := w.change(ctx, "swap", k, opts, reads, func(mapstore.Value) (V, rmap.Verdict, error) { return v, rmap.Store, nil })
	return w.was(k, was, err)
}

// was returns what was there before a change.
func (w *Map[K, V]) was(k K, was mapstore.Value, err error) (v V, had bool, _ error) {
	if err != nil {
		return v, false, err
	}
	key, _ := w.h.Codecs.Key(k)
	v, had, err = w.h.Decode(key, was)
	return v, had, w.h.FailedAt("read", key, err)
}

// Remove removes entries from the map and from the store, and returns how many there were in the
// map. Removals of keys that are not in the map are written to the store, too. In write-through
// mode they are written one by one, unless [WithWriteMany] says otherwise.
//
// Cost: write-through, as [Map.Swap] for each entry; write-behind, one script call for each 500.
// Errors: as [Map.Put]; after an error some may have been removed.
func (w *Map[K, V]) Remove(ctx context.Context, ks ...K) (n int64, err error) {
	if err = w.usable("remove from"); err != nil {
		return 0, err
	}
	if !w.cfg.behind && w.cfg.many > 0 {
		changes := make([]Change[K, V], len(ks))
		for i, k := range ks {
			changes[i] = Change[K, V]{Key: k, Removed: true}
		}
		return w.throughMany(ctx, "remove from", changes, nil)
	}
	if !w.cfg.behind {
		for _, k := range ks {
			was, _, err := w.change(ctx, "remove", k, nil, reads, func(mapstore.Value) (v V, _ rmap.Verdict, _ error) { return v, rmap.Delete, nil })
			if err != nil {
				return n, err
			}
			if was.There {
				n++
			}
		}
		return n, nil
	}
	texts, err := w.h.KeyTexts(ctx, ks)
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, "")
	}
	n, err = w.queueAll(ctx, pairs, mapstore.Lifetime{}, err)
	return n, w.h.Failed("remove from", err)
}

// clearPage is how many entries Clear removes at a time.
const clearPage = 500

// Clear removes all entries from the map and from the store, as [Map.Remove]
// does: it walks the map. What others write meanwhile may stay.
func (w *Map[K, V]) Clear(ctx context.Context) error {
	if err := w.usable("clear"); err != nil {
		return err
	}
	var ks []K
	for k, err := range w.m.Keys(ctx) {
		if err != nil {
			return err
		}
		ks = append(ks, k)
	}
	for some := range slices.Chunk(ks, clearPage) {
		if _, err := w.Remove(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// PutIfAbsent writes an entry to the map and to the store if there is none in the map, and returns
// what is there now and whether it was written.
//
// Cost: as [Map.Swap]; where there is an entry nothing is written. Errors: as [Map.Put], and
// [ErrDecode].
func (w *Map[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...rmap.PutOption) (now V, stored bool, err error) {
	was, stored, err := w.change(ctx, "put if absent", k, opts, reads, func(old mapstore.Value) (V, rmap.Verdict, error) {
		if old.There {
			return v, rmap.Keep, nil
		}
		return v, rmap.Store, nil
	})
	if stored && err == nil {
		return v, true, nil
	}
	now, _, err = w.was(k, was, err)
	return now, false, err
}

// Replace writes an entry to the map and to the store if there is one in the map, and reports
// whether there was.
//
// Cost: as [Map.Swap]; where there is no entry nothing is written. Errors: as [Map.Put].
func (w *Map[K, V]) Replace(ctx context.Context, k K, v V, opts ...rmap.PutOption) (bool, error) {
	_, did, err := w.change(ctx, "replace", k, opts, replaces, func(old mapstore.Value) (V, rmap.Verdict, error) {
		if !old.There {
			return v, rmap.Keep, nil
		}
		return v, rmap.Store, nil
	})
	return did, err
}

// Take removes an entry from the map and from the store and returns it, and whether there was one
// in the map. It never waits for an entry: without one it changes nothing.
//
// Cost: as [Map.Swap]. Errors: as [Map.Put], and [ErrDecode] about what was there: then it has been
// removed.
func (w *Map[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	was, _, err := w.change(ctx, "take", k, nil, reads, func(old mapstore.Value) (none V, _ rmap.Verdict, _ error) {
		if !old.There {
			return none, rmap.Keep, nil
		}
		return none, rmap.Delete, nil
	})
	return w.was(k, was, err)
}

// CompareAndSwap writes an entry to the map and to the store if what is there in the map has the
// bytes of old, and reports whether it has.
//
// Cost: as [Map.Swap]. Errors: as [Map.Put].
func (w *Map[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...rmap.PutOption) (bool, error) {
	return w.compare(ctx, "compare and swap", k, old, v, rmap.Store, opts)
}

// CompareAndRemove removes an entry from the map and from the store if what is there in the map has
// the bytes of old, and reports whether it has.
//
// Cost: as [Map.Swap]. Errors: as [Map.Put].
func (w *Map[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	var none V
	return w.compare(ctx, "compare and remove", k, old, none, rmap.Delete, nil)
}

func (w *Map[K, V]) compare(ctx context.Context, op string, k K, old, v V, then rmap.Verdict, opts []rmap.PutOption) (bool, error) {
	_, did, err := w.change(ctx, op, k, opts, replaces, func(there mapstore.Value) (V, rmap.Verdict, error) {
		text, err := w.h.Codecs.Value(old)
		if err != nil || !there.There || there.Text != text {
			return v, rmap.Keep, err
		}
		return v, then, nil
	})
	return did, err
}

// Compute changes an entry of the map and of the store by a function of its value in the map; see
// [rmap.Map.Compute]. In write-through mode f is called once, under the lock of the entry. In
// write-behind mode f is called again if others have written meanwhile.
//
// Cost: as [Map.Swap]. Errors: f's; [ErrDecode]; as [Map.Put].
func (w *Map[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, rmap.Verdict, error), opts ...rmap.PutOption) (v V, there bool, err error) {
	if f == nil {
		if err = w.usable("compute in"); err == nil {
			err = w.h.Failed("compute in", fmt.Errorf("%w: nil function", ErrInvalidArgument))
		}
		return v, false, err
	}
	_, _, err = w.change(ctx, "compute", k, opts, replaces, func(old mapstore.Value) (V, rmap.Verdict, error) {
		key, err := w.h.Codecs.Key(k)
		if err != nil {
			return v, rmap.Keep, err
		}
		was, had, err := w.h.Decode(key, old)
		if err != nil {
			return v, rmap.Keep, err
		}
		now, verdict, err := f(was, had)
		switch {
		case err != nil:
		case verdict == rmap.Store:
			v, there = now, true
		case verdict == rmap.Delete:
			var none V
			if v, there = none, false; !had {
				verdict = rmap.Keep
			}
		case verdict == rmap.Keep:
			v, there = was, had
		default:
			err = fmt.Errorf("%w: verdict %d is none of Keep, Store, Delete", ErrInvalidArgument, verdict)
		}
		return now, verdict, err
	})
	if err != nil {
		var none V
		return none, false, err
	}
	return v, there, nil
}

// All walks the entries, as the map's All does, with its cost and errors.
func (w *Map[K, V]) All(ctx context.Context, opts ...rmap.ScanOption) iter.Seq2[rmap.Entry[K, V], error] {
	if err := w.usable("walk"); err != nil {
		return func(yield func(rmap.Entry[K, V], error) bool) { yield(rmap.Entry[K, V]{}, err) }
	}
	return w.m.All(ctx, opts...)
}

// Keys walks the keys, as the map's Keys does, with its cost and errors.
func (w *Map[K, V]) Keys(ctx context.Context, opts ...rmap.ScanOption) iter.Seq2[K, error] {
	if err := w.usable("walk"); err != nil {
		return func(yield func(K, error) bool) { var none K; yield(none, err) }
	}
	return w.m.Keys(ctx, opts...)
}

// Lock returns the lock of the entry of k, as the map's Lock is. A change under the
// context of a hold of it is made under that.
func (w *Map[K, V]) Lock(k K) *lock.Lock {
	if w.m == nil {
		panic("writethrough: Lock of a Map of a nil map")
	}
	return w.m.Lock(k)
}

func (w *Map[K, V]) add(context.Context, K, V, []rmap.PutOption) (sum V, err error) {
	if err = w.usable("add to"); err == nil {
		err = w.h.Failed("add to", fmt.Errorf("%w: what is added by the server does not go to the store: use Compute", ErrInvalidArgument))
	}
	return sum, err
}

var _ rmap.Mapping[string, int] = (*Map[string, int])(nil)
