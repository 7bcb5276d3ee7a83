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

// Term is the time of one leader: what [Election.Campaign] returns and
// [Term.Resign] ends. It belongs to whoever has it, not to a goroutine; all
// methods may be called from any goroutine.
type Term struct {
	of    *Election
	hold  *lock.Hold
	owner string
	token fence.Token

	setting chan struct{} // with one place: one value is told at a time

	mu      sync.Mutex
	value   string // the last one that the server has taken
	taken   int64  // its version
	version int64  // of the last one that was sent
}

// Context returns a child of parent for the leader's work. It ends with the term,
// with cause [lock.ErrLost], [lock.ErrReleased] or [lock.ErrClosed], always before
// a successor can be elected, also if this process was paused; and it carries the
// fencing token, see fence.FromContext. Of what it cannot keep out see
// [lock.Hold.Context]. It panics if parent is nil, as the context package does.
func (t *Term) Context(parent context.Context) context.Context { return t.hold.Context(parent) }

// Err returns nil while this candidate leads, and else why its term ended:
// [lock.ErrLost], [lock.ErrReleased] or [lock.ErrClosed]. It compares the clocks at
// each call, and asks nobody.
func (t *Term) Err() error { return t.hold.Err() }

// Lost returns a channel that is closed when the term ends without Resign; [Term.Err] then says why.
func (t *Term) Lost() <-chan struct{} { return t.hold.Lost() }

// Expiring returns a channel that is closed when renewals have failed for half of
// the lease; see [lock.Hold.Expiring].
func (t *Term) Expiring() <-chan struct{} { return t.hold.Expiring() }

// Deadline returns until when this candidate leads if no renewal gets through any
// more; see [lock.Hold.Deadline].
func (t *Term) Deadline() time.Time { return t.hold.Deadline() }

// Fence returns the fencing token of the term. Its number is higher than those of all
// terms before, and stays when the term has ended: what is written late must be
// refused for it.
func (t *Term) Fence() fence.Token { return t.token }

// Value returns what the leader says of itself: what Campaign or the last [Term.SetValue]
// without an error was given.
func (t *Term) Value() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value
}

// SetValue changes what the leader says of itself, and tells the observers. Calls
// take effect in their order, also if one arrives late; of several behind each
// other an observer may see the last one only.
//
// Cost: one script call. Wire: hash rueidisson_term:{name}, and the token on the
// channel of that name. Errors: [lock.ErrInvalidArgument] if value is longer than
// [MaxValue]; [lock.ErrLost], [lock.ErrReleased], [lock.ErrClosed] if the term has
// ended; ctx's, which bounds the round trip; those of Redis; with [lock.ErrOutcomeUnknown]
// the value may have changed, or may still do so until the next SetValue.
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
	t.version++ // whether it arrives or not, no other value has this one after that
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

// Resign ends the term: its contexts end with [lock.ErrReleased], the next
// candidate is elected, and the observers are told, also under a ctx that has ended.
// It returns at most 250 ms after ctx: what has no answer by then goes on, which is
// [lock.ErrDeferred]. Under a ctx without an end it takes a few seconds if the server is
// silent.
//
// Cost: two script calls, of which the successor waits for the first only.
// Wire: as of the fair lock; HDEL of what the term has written, but for its token,
// and a message on the channel rueidisson_term:{name}.
// Errors: [lock.ErrReleased] if it was called before; [lock.ErrLost] if the term
// had ended, so that the work may have overlapped with a successor's;
// [lock.ErrDeferred] if the server refused or did not answer (the client goes on
// resigning until the server takes it or the lease ends), with [lock.ErrOutcomeUnknown] if it
// may have been done;
// [lock.ErrClosed] if the client was closed before.
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
		// The observers of a silent server find out by themselves.
		_ = t.of.p.depart(ctx, t.owner)
		return nil
	})
}

// begin tells that the term has begun. As an acquire, it bears a server that is
// away for a moment; but not for longer than the lease. If the caller goes when it is
// being told, an answer that comes soon counts: the observers know of the leader then.
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

// lastWord is how long a caller that goes waits for the answer to what the
// observers may have been told.
const lastWord = 250 * time.Millisecond

// tell says who leads and with which value, for no longer than the caller is
// there, and patience more.
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
		p.e.Hurry(p.key()) // the renewal finds out, and ends the contexts
		return lock.ErrLost
	}
	return err
}

// refresh is how often a leader says again what it has said, for a server that
// has forgotten it.
const refresh = time.Minute

// due returns the leader's name among the work that is due later. It is in the slot of the
// election: what waits for its node delays nothing of another.
func (t *Term) due() core.Key { return core.Key{Kind: kind, Name: t.of.p.term + ":" + t.owner} }

// again says again what the server has taken last, under that version: a value
// that is on its way at this moment has a later one, and is not held up.
func (t *Term) again() time.Duration {
	if t.hold.Err() != nil {
		return -1
	}
	t.mu.Lock()
	version, value := t.taken, t.value
	t.mu.Unlock()
	_, _ = t.of.p.announce(context.Background(), t.owner, t.token.Number(), version, value) // else the next time
	return refresh
}
