package rmap

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Verdict is what a function of Compute wants done.
type Verdict int

const (
	// Keep changes nothing.
	Keep Verdict = iota
	// Store writes the value that the function returned.
	Store
	// Delete removes the entry.
	Delete
)

// Compute changes an entry by a function of its value, in one step: f gets the value and whether
// there is one, and its [Verdict] says what becomes of it. Compute returns the value that the
// entry has afterwards. If f returns an error, Compute changes nothing and returns that error. A
// new entry has the times of opts, or else of the handle. A changed entry of a [Cache] has the
// times that Replace would leave it.
//
// Computes of one process on one entry queue. All that wait are applied to one read and written
// by one write. f is called again if another client has written meanwhile, perhaps on another
// goroutine than that of its caller, while other callers wait. It should be short, change
// nothing else, and not use the same entry. A panic of f continues in its caller. If f ends its
// goroutine, as FailNow of a test does, that of its caller ends. If ctx ends before f was
// called, f is never called. If ctx ends later, Compute returns [ErrOutcomeUnknown].
//
// If the write fails, its error is the error of all functions that saw what it did
// not write, also of those that returned an error of their own or panicked.
//
// Writes of others never get lost, except those that Java's compute overwrites:
// see [WithEntryLock].
//
// Cost: HGET and one script call, for all that wait; of a Cache two script calls. Errors: f's; [ErrDecode]; as Put.
// Source: RMap.compute, by another protocol.
func (c *common[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	l, err := c.m.lifetime(opts)
	var key string
	if err == nil {
		key, err = c.m.EncodeKey(ctx, k)
	}
	if err == nil && f == nil {
		err = fmt.Errorf("%w: nil function", ErrInvalidArgument)
	}
	if err != nil {
		return v, false, c.m.FailedAt("compute", key, err)
	}
	var result V
	at := c.m.EntryOf(key)
	at.Entries = l
	one := &mapstore.Change{Context: ctx, At: c.m.Hub.At(at, c.m.Store)}
	one.Apply = func(old mapstore.Value) (now mapstore.Value, writes bool, err error) {
		now, writes, result, err = c.m.apply(key, old, f)
		return now, writes, err
	}
	if c.m.Config.EntryLock && c.m.Carries(ctx, key) { // it does not wait for the Computes that wait for that lock
		c.m.Hub.Turns.Take(ctx, at, one)
		err = one.Outcome()
	} else {
		err = c.m.Hub.Turns.Do(ctx, at, one)
	}
	if err == nil {
		v, there = result, one.Now.There
	}
	return v, there, c.m.FailedAt("compute", key, err)
}

// apply calls f with values, and returns bytes.
func (m *handle[K, V]) apply(key string, old mapstore.Value, f func(V, bool) (V, Verdict, error)) (now mapstore.Value, writes bool, v V, err error) {
	was, had, err := m.Decode(key, old)
	if err != nil {
		return old, false, v, err
	}
	v, verdict, err := f(was, had)
	switch {
	case err != nil:
		return old, false, v, err
	case verdict == Keep:
		return old, false, was, nil
	case verdict == Delete:
		var none V
		return mapstore.Value{}, had, none, nil
	case verdict == Store:
		text, err := m.Codecs.Value(v)
		return mapstore.Value{Text: text, There: true}, true, v, err
	}
	return old, false, v, fmt.Errorf("%w: verdict %d is none of Keep, Store, Delete", ErrInvalidArgument, verdict)
}

// ComputeIfAbsent returns the value of k, and if there is none calls f and stores
// what that returns. It reports whether it was stored. f is called as the function of
// Compute is: for one of the callers in the process that find nothing, and again where
// the entry came and went meanwhile. An error of f stores nothing, and is returned.
//
// Cost: as Get; where there is nothing, as Compute in addition. Errors: as
// Compute. Source: RMap.computeIfAbsent, by another protocol.
func (c *common[K, V]) ComputeIfAbsent(ctx context.Context, k K, f func() (V, error), opts ...PutOption) (now V, stored bool, err error) {
	if f == nil {
		return now, false, c.m.Failed("compute if absent", fmt.Errorf("%w: nil function", ErrInvalidArgument))
	}
	if _, err = c.m.lifetime(opts); err != nil {
		return now, false, c.m.Failed("compute if absent", err)
	}
	now, there, err := c.Get(ctx, k)
	if err != nil || there {
		return now, false, err
	}
	made := false
	now, _, err = c.Compute(ctx, k, func(old V, had bool) (V, Verdict, error) {
		if made = !had; had {
			return old, Keep, nil
		}
		v, err := f()
		return v, Store, err
	}, opts...)
	return now, err == nil && made, err
}
