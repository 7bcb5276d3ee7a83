package bucket

import (
	"context"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
)

// Verdict is what a function of [Bucket.Update] wants done.
type Verdict int

const (
	// Keep changes nothing.
	Keep Verdict = iota
	// Store writes the value that the function returned.
	Store
	// Delete deletes the bucket.
	Delete
)

// Update changes the value by a function of it, in one step: f gets the value and whether
// there is one, and its [Verdict] says what becomes of it. Update returns the value that the
// bucket has afterwards. If f returns an error, Update changes nothing and returns that error. The bucket keeps its time
// to live unless [WithTTL] says otherwise, of the call or else of the handle.
//
// Updates of one process of one bucket queue. All that wait are applied to one read and written
// by one write. f is called again if another client has written meanwhile, perhaps on another
// goroutine than that of its caller, while other callers wait. It should be short, change
// nothing else, and not use the same bucket. A panic of f continues in its caller. If f ends its
// goroutine, as FailNow of a test does, that of its caller ends. If ctx ends before f was
// called, f is never called. If ctx ends later, Update returns [ErrOutcomeUnknown].
//
// If the write fails, its error is the error of all functions that saw what it did
// not write, also of those that returned an error of their own or panicked. Writes of others never get lost.
//
// Cost: GET and one script call, for all that wait. Errors: f's; [ErrDecode]; as Set. A key of another type is an error,
// and keeps what it has. Source: none; Redisson's compareAndSet in a loop does the same.
func (b *Bucket[T]) Update(ctx context.Context, f func(old T, had bool) (T, Verdict, error), opts ...SetOption) (v T, there bool, err error) {
	return update(ctx, b.b, place{key: b.b.Key}, b.lifetime, b, f, opts)
}

// typed writes and reads the values of a bucket.
type typed[T any] interface {
	encoded(v T) (string, error)
	decoded(got value) (v T, there bool, err error)
}

func (b *Bucket[T]) encoded(v T) (string, error)        { return b.encode(b.b.Engine, v) }
func (b *Bucket[T]) decoded(got value) (T, bool, error) { return b.decode(b.b.Object.Name, got) }

// update changes the value at a place by a function of it. A handle has a lifetime.
func update[T any](ctx context.Context, b *base, at place, handle lifetime, as typed[T], f func(old T, had bool) (T, Verdict, error), opts []SetOption) (v T, there bool, err error) {
	if err = b.Usable(ctx); err == nil && f == nil {
		err = fmt.Errorf("%w: nil function", ErrInvalidArgument)
	}
	var l lifetime
	if err == nil {
		l, err = handle.of(opts)
	}
	if err != nil {
		return v, false, b.Failed("update", err)
	}
	at.lifetime = lifetime{ttl: l.ttl, keep: l.keep || !l.given}
	var result T
	one := &turn.Change[value]{Context: ctx, At: site{b.h, at}}
	one.Apply = func(old value) (now value, writes bool, err error) {
		now, writes, result, err = apply(as, old, f)
		return now, writes, err
	}
	if err = b.h.updates.Do(ctx, at, one); err == nil {
		v, there = result, one.Now.there
	}
	return v, there, b.Failed("update", err)
}

// apply calls f with values, and returns bytes.
func apply[T any](as typed[T], old value, f func(T, bool) (T, Verdict, error)) (now value, writes bool, v T, err error) {
	was, had, err := as.decoded(old)
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
		var none T
		return value{}, had, none, nil
	case verdict == Store:
		text, err := as.encoded(v)
		return value{text, true}, true, v, err
	}
	return old, false, v, fmt.Errorf("%w: verdict %d is none of Keep, Store, Delete", ErrInvalidArgument, verdict)
}

// place is what Updates queue for: those that leave another time to live do not share a queue.
type place struct {
	key      string
	lifetime lifetime
	json     bool // it is a document
}

// site is where an Update reads and writes.
type site struct {
	h *hub
	place
}

// Read returns what the bucket has.
func (s site) Read(ctx context.Context) (value, error) {
	if s.json {
		v, err := documentOf(s.h.e.Run(ctx, s.h.answering(readDocument, s.key), []string{s.key}, []string{root}))
		if err == nil && v.there {
			s.h.sizes.Of(s.key).Saw(len(v.text), 1)
		}
		return v, err
	}
	return s.h.get(ctx, s.key)
}

// Change writes, or deletes, if the bucket still is old. A claim is a second key, for which it would wait while the slot
// moves: there it looks at none.
func (s site) Change(ctx context.Context, old, to value, c *turn.Claim) (there value, done bool, err error) {
	seen := flag(old.there)
	if c.Looks() {
		seen = "2"
	}
	script, args := changeScript, []string{seen, old.text, flag(to.there), to.text, s.lifetime.text(), "", "0"}
	if s.json {
		script, args[1] = documentChange, "["+old.text+"]"
		args = append(args, root, "0")
	}
	var got send.Answer
	claims := c != nil && s.claims()
	if claims {
		first := slices.Clone(args)
		first[5], first[6] = c.Token(), c.Millis()
		got, err = s.h.e.RunBriefly(ctx, s.h.answering(send.NoMigrationRetry(script), s.key), []string{s.key, s.Claim()}, first)
	}
	if !claims || send.Moving(err) {
		got, err = s.h.e.RunBriefly(ctx, s.h.answering(script, s.key), []string{s.key}, args)
	}
	if err == nil && got.IsInt64() { // whether it was done, or that another goes first; else it is what is there
		n, err := got.AsInt64()
		return value{}, c.May(n), err
	}
	if s.json {
		there, err = documentOf(got, err)
	} else {
		there, err = valueOf(got, err)
	}
	return there, false, err
}

// claims reports whether there is a claim. On a cluster there are names whose claim would be in another slot.
func (s site) claims() bool { return !s.h.e.Cluster() || keys.OnCluster(s.key) == nil }

// Claim returns the key of the claim.
func (s site) Claim() string { return keys.BucketClaim(s.key) }

// flag returns a truth for scripts.
func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}
