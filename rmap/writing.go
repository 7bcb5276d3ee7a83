package rmap

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
)

// Change is what becomes of one entry.
type Change[K comparable, V any] struct {
	Key     K
	Value   V    // what it is now; none if it was removed
	Removed bool // it is gone
}

// Writing is a map whose changes are written to a store, too: see [NewWriting].
// Any number of goroutines may use it.
type Writing[K comparable, V any] struct {
	m     Mapping[K, V]
	in    inside[K, V]
	h     *handle[K, V]
	write func(ctx context.Context, changes []Change[K, V]) error
	cfg   writingConfig
	bad   error
	drain drainer
}

// NewWriting returns a map on top of m whose changes are also written to a store,
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
// reached, so that a [Loading] brings what the store has; also if the lock was lost meanwhile.
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
// Only changes by a Writing are written to the store: changes of the map by others, Java too,
// are not, and neither are times to live. All operations that change an entry do so in both
// modes, and Clear removes entry by entry. [Add] returns [ErrInvalidArgument]: use Compute. A
// Writing need not be closed ([Writing.Close]): one that is dropped leaves no trace when its
// changes are written.
//
// With WithBehind m is a [Map], a [TTLMap] or a [Cache]: put what belongs on top of those, such
// as a [Loading], on top of the Writing. If m announces its
// writes, near caches are told in the step that changes the map and queues the change.
func NewWriting[K comparable, V any](m Mapping[K, V], write func(ctx context.Context, changes []Change[K, V]) error, opts ...WritingOption) *Writing[K, V] {
	w := &Writing[K, V]{m: m, write: write}
	w.cfg = writingConfig{batch: 100, delay: 100 * time.Millisecond, backlog: 1_000_000, dead: 10_000, timeout: 30 * time.Second}
	w.cfg, w.bad = object.Options(w.cfg, opts, WritingOption.applyWriting)
	if m != nil {
		w.in = m.inside()
		w.h = w.in.handle
	}
	switch {
	case w.bad != nil:
	case m == nil || write == nil && !w.cfg.others:
		w.bad = fmt.Errorf("%w: a nil map or writer", ErrInvalidArgument)
	case w.cfg.others && !w.cfg.behind:
		w.bad = fmt.Errorf("%w: only what is written behind can be written by others", ErrInvalidArgument)
	case w.h == nil:
		w.bad = fmt.Errorf("%w: %T cannot be written behind or through", ErrInvalidArgument, m)
	case w.h.bad != nil:
		w.bad = w.h.bad
	case w.cfg.behind:
		w.bad = w.behindOn()
		w.drain.lock = lock.NewFenced(w.h.h.e, keys.MapDrain(w.h.key))
		w.drain.news, w.drain.line = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	return w
}

// behindOn refuses what a change in one step would pass by.
func (w *Writing[K, V]) behindOn() error {
	if w.in.whole {
		return nil
	}
	return fmt.Errorf("%w: %T cannot be written behind: a Map, a TTLMap or a Cache can", ErrInvalidArgument, w.m)
}

func (w *Writing[K, V]) inside() inside[K, V] {
	in := w.in
	in.whole, in.writes, in.written, in.add = false, true, nil, w.add
	if w.bad != nil {
		in.base = base[K]{bad: w.bad}
	}
	return in
}

// Name returns the name that the map was made with, before any mapping.
func (w *Writing[K, V]) Name() string {
	if w.m == nil {
		return ""
	}
	return w.m.Name()
}

// usable checks what every operation needs, and sees to a queue that others may
// have left.
func (w *Writing[K, V]) usable(op string) error {
	err := w.bad
	if err == nil && w.drain.closed.Load() {
		err = ErrClosed
	}
	if err != nil {
		if w.h != nil {
			err = w.h.failed(op, err)
		}
		return err
	}
	if w.cfg.behind {
		w.look()
	}
	return nil
}

// Get returns the value of k, and whether there is one, as the map's Get does.
func (w *Writing[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	if err = w.usable("get of"); err != nil {
		return v, false, err
	}
	return w.m.Get(ctx, k)
}

// GetMany returns the entries of those of the keys that are there, as the map's
// GetMany does.
func (w *Writing[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	if err := w.usable("get many of"); err != nil {
		return nil, err
	}
	return w.m.GetMany(ctx, ks...)
}

// Has reports whether there is an entry of k, as the map's Has does.
func (w *Writing[K, V]) Has(ctx context.Context, k K) (bool, error) {
	if err := w.usable("look for"); err != nil {
		return false, err
	}
	return w.m.Has(ctx, k)
}

// Len returns how many entries there are, as the map's Len says.
func (w *Writing[K, V]) Len(ctx context.Context) (int64, error) {
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
func (w *Writing[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	_, _, err := w.change(ctx, "put", k, opts, blind, func(value) (V, Verdict, error) { return v, Store, nil })
	return err
}

// PutMany writes entries to the map and to the store. In write-through mode it writes one after
// the other, each as [Writing.Put] does, or several by one call of write ([WithWriteMany]). In
// write-behind mode one script call takes up to 500. More than [WithMaxBacklog] are taken when
// nothing is queued. After an error some may have been written.
func (w *Writing[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
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
	l, err := w.h.lifetime(opts)
	var pairs []string
	if err == nil {
		pairs, err = w.h.pairs(ctx, entries)
	}
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = "=" + pairs[i]
	}
	_, err = w.queueAll(ctx, pairs, l, err)
	return w.h.failed("put many into", err)
}

// queueAll queues changes of whatever is there. As many as there may never be queued
// are taken where nothing is.
func (w *Writing[K, V]) queueAll(ctx context.Context, pairs []string, l lifetime, err error) (count int64, _ error) {
	most, larger := w.cfg.backlog, len(pairs)/2 > w.cfg.backlog
	for err == nil && len(pairs) > 0 {
		some := pairs[:min(cutPairs(pairs), 2*mostAtOnce)]
		pairs = pairs[len(some):]
		if larger && most == w.cfg.backlog {
			most = len(some) / 2 // so that only these are queued then
		}
		var q queued
		q, err = w.queue(ctx, most, queuing{pairs: some, lives: l, seen: whatever})
		count += q.count
		if larger {
			most = math.MaxInt32 // the rest belongs to them
		}
	}
	return count, err
}

// Swap writes an entry to the map and to the store, and returns the value that it had in the
// map. In write-behind mode that may take several script calls if others write, too.
func (w *Writing[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	was, _, err := w.change(ctx, "swap", k, opts, reads, func(value) (V, Verdict, error) { return v, Store, nil })
	return w.was(k, was, err)
}

// was returns what was there before a change.
func (w *Writing[K, V]) was(k K, was value, err error) (v V, had bool, _ error) {
	if err != nil {
		return v, false, err
	}
	key, _ := w.h.codecs.Key(k)
	v, had, err = w.h.decode(key, was)
	return v, had, w.h.failedAt("read", key, err)
}

// Remove removes entries from the map and from the store, and returns how many
// there were in the map. Removals of keys that are not in the map are written to the store,
// too. In write-through mode they are written one by one, unless [WithWriteMany] says otherwise.
func (w *Writing[K, V]) Remove(ctx context.Context, ks ...K) (n int64, err error) {
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
			was, _, err := w.change(ctx, "remove", k, nil, reads, func(value) (v V, _ Verdict, _ error) { return v, Delete, nil })
			if err != nil {
				return n, err
			}
			if was.there {
				n++
			}
		}
		return n, nil
	}
	texts, err := w.h.keyTexts(ctx, ks)
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, "")
	}
	n, err = w.queueAll(ctx, pairs, lifetime{}, err)
	return n, w.h.failed("remove from", err)
}

// clearPage is how many entries Clear removes at a time.
const clearPage = 500

// Clear removes all entries from the map and from the store, as [Writing.Remove]
// does: it walks the map. What others write meanwhile may stay.
func (w *Writing[K, V]) Clear(ctx context.Context) error {
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

// PutIfAbsent writes an entry to the map and to the store if there is none in the
// map, and returns what is there now and whether it was written.
func (w *Writing[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	was, stored, err := w.change(ctx, "put if absent", k, opts, reads, func(old value) (V, Verdict, error) {
		if old.there {
			return v, Keep, nil
		}
		return v, Store, nil
	})
	if stored && err == nil {
		return v, true, nil
	}
	now, _, err = w.was(k, was, err)
	return now, false, err
}

// Replace writes an entry to the map and to the store if there is one in the map,
// and reports whether there was.
func (w *Writing[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	_, did, err := w.change(ctx, "replace", k, opts, replaces, func(old value) (V, Verdict, error) {
		if !old.there {
			return v, Keep, nil
		}
		return v, Store, nil
	})
	return did, err
}

// Take removes an entry from the map and from the store and returns it, and
// whether there was one in the map; if there was none nothing is done.
func (w *Writing[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	was, _, err := w.change(ctx, "take", k, nil, reads, func(old value) (none V, _ Verdict, _ error) {
		if !old.there {
			return none, Keep, nil
		}
		return none, Delete, nil
	})
	return w.was(k, was, err)
}

// CompareAndSwap writes an entry to the map and to the store if what is there in
// the map has the bytes of old, and reports whether it has.
func (w *Writing[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	return w.compare(ctx, "compare and swap", k, old, v, Store, opts)
}

// CompareAndRemove removes an entry from the map and from the store if what is
// there in the map has the bytes of old, and reports whether it has.
func (w *Writing[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	var none V
	return w.compare(ctx, "compare and remove", k, old, none, Delete, nil)
}

func (w *Writing[K, V]) compare(ctx context.Context, op string, k K, old, v V, then Verdict, opts []PutOption) (bool, error) {
	_, did, err := w.change(ctx, op, k, opts, replaces, func(there value) (V, Verdict, error) {
		text, err := w.h.codecs.Value(old)
		if err != nil || !there.there || there.text != text {
			return v, Keep, err
		}
		return v, then, nil
	})
	return did, err
}

// Compute changes an entry of the map and of the store by a function of its value in the map;
// see [Map.Compute]. In write-through mode f is called once, under the lock of the entry. In
// write-behind mode f is called again if others have written meanwhile.
func (w *Writing[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	if f == nil {
		if err = w.usable("compute in"); err == nil {
			err = w.h.failed("compute in", fmt.Errorf("%w: nil function", ErrInvalidArgument))
		}
		return v, false, err
	}
	_, _, err = w.change(ctx, "compute", k, opts, replaces, func(old value) (V, Verdict, error) {
		key, err := w.h.codecs.Key(k)
		if err != nil {
			return v, Keep, err
		}
		was, had, err := w.h.decode(key, old)
		if err != nil {
			return v, Keep, err
		}
		now, verdict, err := f(was, had)
		switch {
		case err != nil:
		case verdict == Store:
			v, there = now, true
		case verdict == Delete:
			var none V
			if v, there = none, false; !had {
				verdict = Keep
			}
		case verdict == Keep:
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

// All walks the entries, as the map's All does.
func (w *Writing[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	if err := w.usable("walk"); err != nil {
		return func(yield func(Entry[K, V], error) bool) { yield(Entry[K, V]{}, err) }
	}
	return w.m.All(ctx, opts...)
}

// Keys walks the keys, as the map's Keys does.
func (w *Writing[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	if err := w.usable("walk"); err != nil {
		return func(yield func(K, error) bool) { var none K; yield(none, err) }
	}
	return w.m.Keys(ctx, opts...)
}

// Lock returns the lock of the entry of k, as the map's Lock is. A change under the
// context of a hold of it is made under that.
func (w *Writing[K, V]) Lock(k K) *lock.Lock {
	if w.m == nil {
		panic("rmap: Lock of a Writing of a nil map")
	}
	return w.m.Lock(k)
}

func (w *Writing[K, V]) add(context.Context, K, V, []PutOption) (sum V, err error) {
	if err = w.usable("add to"); err == nil {
		err = w.h.failed("add to", fmt.Errorf("%w: what is added by the server does not go to the store: use Compute", ErrInvalidArgument))
	}
	return sum, err
}

var _ Mapping[string, int] = (*Writing[string, int])(nil)
