package election

import (
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
	"github.com/rueidisson/rueidisson/lock"
)

// Term is the time of one leader. [Election.Campaign] returns it and [Term.Resign] ends it. It
// belongs to the code that has the value, not to a goroutine. All methods may be called from any
// goroutine.
type Term struct {
	of    *Election
	hold  *lock.Hold
	owner string
	token fence.Token

	setting chan struct{} // of capacity one: one value is sent at a time

	mu      sync.Mutex
	value   string // the last one that the server has accepted
	taken   int64  // its version
	version int64  // of the last one that was sent
}

// Context returns a child of parent for the leader's work. It ends with the term, with cause
// [lock.ErrLost], [lock.ErrReleased] or [lock.ErrClosed]. It always ends before a successor can be
// elected, also if this process was paused. It carries the fencing token, see fence.FromContext.
// For the work that it cannot stop in time see [lock.Hold.Context]. It panics if parent is nil, as
// the context package does.
func (t *Term) Context(parent context.Context) context.Context { return t.hold.Context(parent) }

// Err returns nil while this candidate leads. Else it returns why the term ended: [lock.ErrLost],
// [lock.ErrReleased] or [lock.ErrClosed]. It compares the clocks at each call, and does no I/O.
func (t *Term) Err() error { return t.hold.Err() }

// Lost returns a channel that is closed when the term ends without Resign; [Term.Err] then says why.
func (t *Term) Lost() <-chan struct{} { return t.hold.Lost() }

// Expiring returns a channel that is closed when renewals have failed for half of
// the lease; see [lock.Hold.Expiring].
func (t *Term) Expiring() <-chan struct{} { return t.hold.Expiring() }

// Deadline returns the time until which this candidate leads if no further renewal succeeds; see
// [lock.Hold.Deadline].
func (t *Term) Deadline() time.Time { return t.hold.Deadline() }

// Fence returns the fencing token of the term. Its number is higher than those of all terms before.
// Fence still returns it after the term has ended: late writes must be refused by that number.
func (t *Term) Fence() fence.Token { return t.token }

// Value returns the leader's value: that of Campaign or of the last [Term.SetValue] without an
// error.
func (t *Term) Value() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value
}

// SetValue changes the leader's value and publishes it to the observers. Calls take effect in their
// order, also if one arrives late. Of several in quick succession an observer may get only the last
// one. ctx bounds the round trip.
//
// Cost: one script call.
// Errors: [lock.ErrInvalidArgument] if value is longer than [MaxValue]; [lock.ErrLost],
// [lock.ErrReleased], [lock.ErrClosed] if the term has ended; ctx's; those of Redis;
// [lock.ErrOutcomeUnknown] if the value may have changed, or may still do so until the next
// SetValue.
func (t *Term) SetValue(ctx context.Context, value string) error {
	return t.of.failed("set value", t.setValue(ctx, value))
}

func (t *Term) setValue(ctx context.Context, value string) error {
	if err := t.of.usable(ctx, value); err != nil {
		return err
	}
	select {
	case t.setting <- struct{}{}:
		defer func() { <-t.setting }()
	case <-ctx.Done():
		return core.ContextError(ctx)
	}
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	t.mu.Lock()
	t.version++ // whether it arrives or not, no later value has the same version
	version := t.version
	t.mu.Unlock()
	if err := t.tell(ctx, 0, version, value); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.value, t.taken = value, version
	return nil
}

// Resign ends the term, also under a ctx that has ended: its contexts end with [lock.ErrReleased],
// the next candidate is elected, and the observers are notified. It returns at most 250 ms after
// ctx ends. If the server has not answered by then, the client continues and Resign returns
// [lock.ErrDeferred]. Under a ctx that never ends, it takes a few seconds if the server is silent.
//
// Cost: two script calls; the successor waits for the first only.
// Errors: [lock.ErrReleased] if Resign was called before; [lock.ErrLost] if the term had ended, so
// that the work may have overlapped with the work of a successor; [lock.ErrDeferred] if the server
// refused or did not answer (the client continues until the server accepts or the lease ends), with
// [lock.ErrOutcomeUnknown] if the term may have been ended; [lock.ErrClosed] if the client was
// closed before.
func (t *Term) Resign(ctx context.Context) error {
	return t.of.failed("resign", t.resign(ctx))
}

func (t *Term) resign(ctx context.Context) error {
	if err := object.CheckContext(ctx); err != nil {
		return err
	}
	e := t.of.p.e
	e.NotDue(t.due())
	return e.GoOn(ctx, func() error {
		ctx := context.WithoutCancel(ctx)
		if err := t.hold.Unlock(ctx); err != nil {
			return within(err)
		}
		// The observers of a silent server detect it without this message.
		_ = t.of.p.depart(ctx, t.owner)
		return nil
	})
}

// begin announces the term. As an acquire, it tolerates a server that is away for a moment, but not
// for longer than the lease. If ctx ends while the announcement is under way, an answer that comes
// soon counts: the observers know of the leader then.
func (t *Term) begin(ctx context.Context) error {
	e := t.of.p.e
	err := e.Watch(ctx, wait.Watch{Key: t.of.p.key(), Look: func(ctx context.Context) (time.Duration, bool, error) {
		err := t.tell(ctx, lastWord, 1, t.value)
		return 0, err == nil, err
	}})
	if err == nil {
		err = t.hold.Err()
	}
	if err == nil {
		e.Due(t.due(), refresh, t.again)
	}
	return err
}

// lastWord is how long a caller whose ctx has ended waits for the answer to an announcement that
// the observers may have got.
const lastWord = 250 * time.Millisecond

// tell announces the leader and its value. It stops when ctx ends and patience has passed.
func (t *Term) tell(ctx context.Context, patience time.Duration, version int64, value string) error {
	if err := t.hold.Err(); err != nil {
		return err
	}
	p := t.of.p
	stands, err, answered := send.Await(p.e.Sender, ctx, patience, func() (bool, error) {
		return p.announce(ctx, t.owner, t.token.Number(), version, value)
	})
	switch {
	case !answered:
		return core.Left(err)
	case err == nil && !stands:
		p.e.Hurry(p.key()) // the renewal detects the loss, and ends the contexts
		return lock.ErrLost
	}
	return err
}

// refresh is how often a leader repeats its announcement, for a server that has forgotten it.
const refresh = time.Minute

// due returns the leader's name among the work that is due later. It is in the slot of the
// election: a wait for its node delays no other work.
func (t *Term) due() core.Key { return core.Key{Kind: kind, Name: t.of.p.term + ":" + t.owner} }

// again repeats the value that the server has accepted last, under its version. A value that is on
// its way at this moment has a later version, and is not held up.
func (t *Term) again() time.Duration {
	if t.hold.Err() != nil {
		return -1
	}
	t.mu.Lock()
	version, value := t.taken, t.value
	t.mu.Unlock()
	_, _ = t.of.p.announce(context.Background(), t.owner, t.token.Number(), version, value) // a failed call is repeated the next time
	return refresh
}
