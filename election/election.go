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

// kind is the kind of its holds. A fair lock that is acquired in another way would be a term that
// no observer gets.
const kind = "election"

// Election is a handle on the election of one name. It has no state of any term. Any number of
// goroutines may use it, and all handles on one name are the same election.
type Election struct {
	p    *protocol
	line *fairlock.Lock
	ask  config
	bad  error // what every operation returns, if the name or an option cannot be used
}

// New returns a handle on the election of that name. Programs call client.Election(name), which
// returns the same. New is for packages that take a [Client] and do not import rueidisson.
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

// Campaign waits until this candidate is elected, and then publishes value, which
// [Election.Observe] yields to all observers: an address, as a rule. value may have up to
// [MaxValue] bytes. The candidate that campaigns first, in any process, leads first. ctx bounds
// only the wait: the term outlives it. The watchdog renews the term until [Term.Resign], unless
// [WithLease] fixes it. With [WithWait] Campaign gives up after that time and returns
// [lock.ErrNotAcquired].
//
// A candidate whose ctx ends leaves at once; a term that it had won in that moment is passed to the
// next candidate. If the announcement has been sent already, Campaign waits up to 250 ms more for
// the answer, and returns the term if that comes. If the server does not answer, or refuses for
// want of memory or disk, Campaign waits for up to a watchdog timeout. During a slot migration it
// waits for as long as ctx lasts.
//
// Cost: as for [fairlock.Lock.Lock], and one script call when elected.
// Errors: ctx's error and cause; [lock.ErrClosed]; [lock.ErrInvalidArgument], also for a value that
// is too long, and under the context of a term of this election, which would wait for itself;
// [lock.ErrNotReplicated]; [lock.ErrWrongKind] if the name is the name of a lock; an error that
// names the counter's key if the counter is not a number, when nothing is acquired; an error of
// Redis or of the network, wrapping [lock.ErrOutcomeUnknown] if the term may have begun (it is
// released as soon as the server answers); [lock.ErrLost] if the answers take longer than the
// lease.
// Source: no object of Redisson; the order is that of its fair lock.
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
	t.token, _ = hold.Fence() // zero, if it has been lost already: then the term cannot begin
	t.owner = lockkit.Standing(hold).(*locking.Held).Owner()
	if err = t.begin(ctx); err == nil {
		return t, nil
	}
	// The term is released. A caller whose ctx has ended is not kept for long.
	_, _, _ = send.Await(el.p.e.Sender, ctx, grace, func() (struct{}, error) {
		return struct{}{}, t.resign(ctx) // its own cleanup task repeats a failed resign
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

// failed adds the operation and the election to err.
func (el *Election) failed(op string, err error) error { return object.Failed(op, "", el.Name(), err) }

// within returns an error of the lock without the lock's operation and name. The caller adds those
// of the election.
func within(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// grace is how long a candidate whose ctx has ended waits for the release.
const grace = 50 * time.Millisecond
