package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// MaxValue is how many bytes the value of a leader may have.
const MaxValue = 64 << 10

// kind is the kind of its holds: a fair lock that is taken by another way would
// be a term of which nobody is told.
const kind = "election"

// Election is a handle on the election of one name. It holds nothing of any
// term, so it may be used by any number of goroutines, and any number of handles
// on one name are the same election.
type Election struct {
	p    *protocol
	line *fairlock.Lock
	ask  config
	bad  error // what every operation returns, if the name or an option cannot be used
}

// New returns a handle. Programs outside of this module call
// rueidisson.Client.Election.
func New(c Client, name string, opts ...Option) *Election {
	e := c.Engine()
	el := &Election{p: newProtocol(e, e.Map(name))}
	if el.line, el.bad = lockkit.FairFenced[fairlock.Lock](e, name, kind); el.bad == nil {
		el.bad = object.Apply(&el.ask, opts, Option.apply)
	}
	return el
}

// Name returns the name that the handle was made with, before any mapping.
func (el *Election) Name() string { return el.line.Name() }

// Campaign waits until this candidate is elected, and says so with value, of up to
// [MaxValue] bytes, which [Election.Observe] tells to all: an address, as a rule.
// Who campaigns first, in any process, leads first. ctx bounds the wait and
// nothing else: the term outlives it. It is renewed by the watchdog until
// [Term.Resign], unless [WithLease] fixes it. With [WithWait] it gives up:
// [lock.ErrNotAcquired].
//
// A candidate whose ctx ends leaves at once; a term that it had won in that
// moment goes on to the next. Once the observers are being told of it, Campaign
// waits up to 250 ms more for the answer, and returns the term if that comes. A server that does not answer, or that refuses for
// want of memory or disk, is waited for up to a watchdog timeout, and while the
// slot moves for as long as ctx lasts.
//
// Cost: those of [fairlock.Lock.Lock], and one script call when elected.
// Wire: as of the fair lock; string redisson_lock_token:{name}; hash
// rueidisson_term:{name}, and the token on the channel of that name.
// Errors: ctx's error and cause; [lock.ErrClosed]; [lock.ErrInvalidArgument], also for a
// value that is too long, and under the context of a term of this election, which
// would wait for itself; [lock.ErrNotReplicated]; [lock.ErrWrongKind] if the name is
// that of a lock; that the counter is no number names its key, and takes nothing;
// an error of Redis or of the network, wrapping [lock.ErrOutcomeUnknown]
// if the term may have begun (it is given back as soon as the server answers);
// [lock.ErrLost] if the answers take longer than the lease.
// Source: no object of Redisson's; the order is that of its fair lock.
func (el *Election) Campaign(ctx context.Context, value string) (*Term, error) {
	t, err := el.campaign(ctx, value)
	return t, el.failed("campaign", err)
}

func (el *Election) campaign(ctx context.Context, value string) (*Term, error) {
	if err := el.usable(ctx, value); err != nil {
		return nil, err
	}
	if of, _ := lockkit.Carried[lock.Hold](ctx, el.p.e, el.p.name, kind); of != "" {
		return nil, fmt.Errorf("%w: the context carries a term of it", lock.ErrInvalidArgument)
	}
	var opts []lock.LockOption
	if el.ask.lease > 0 {
		opts = append(opts, lock.WithLease(el.ask.lease))
	}
	var hold *lock.Hold
	var err error
	if el.ask.try {
		try := []lock.TryOption{lock.WithWait(el.ask.wait)}
		for _, o := range opts {
			try = append(try, o)
		}
		hold, err = el.line.TryLock(ctx, try...)
	} else {
		hold, err = el.line.Lock(ctx, opts...)
	}
	if err != nil {
		return nil, within(err)
	}
	t := &Term{of: el, hold: hold, value: value, taken: 1, version: 1, setting: make(chan struct{}, 1)}
	t.token, _ = hold.Fence() // zero, if it has been lost already: then it cannot begin
	t.owner = lockkit.Standing(hold).(*locking.Held).Owner()
	if err = t.begin(ctx); err == nil {
		return t, nil
	}
	// The term goes back. A caller that is on its way out is not kept for long.
	_, _, _ = send.Await(el.p.e.Sender, ctx, grace, func() (struct{}, error) {
		return struct{}{}, t.resign(ctx) // a failure is said again by its own cleanup task
	})
	return nil, err
}

// usable checks what every operation needs.
func (el *Election) usable(ctx context.Context, value string) error {
	err := object.Checked(ctx, el.bad)
	if err == nil && len(value) > MaxValue {
		err = fmt.Errorf("%w: a value of %d bytes is longer than %d", lock.ErrInvalidArgument, len(value), MaxValue)
	}
	return err
}

// failed names the operation and the election.
func (el *Election) failed(op string, err error) error { return object.Failed(op, "", el.Name(), err) }

// within returns an error of the lock without the lock's operation and name, which
// this election's take the place of.
func within(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// grace is how long a candidate that goes waits for what it gives back.
const grace = 50 * time.Millisecond
