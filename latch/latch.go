package latch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// most is the largest count of a latch.
const most = math.MaxInt32

// Latch is a handle on the latch of one name. It has no state. Any number of goroutines may use it,
// and all handles on one name are the same latch.
type Latch struct {
	h    *shared
	of   *names
	name string // as the caller wrote it
	bad  error  // what every operation returns, if the name cannot be used
}

// New returns a handle on the latch of that name. Programs call client.Latch(name), which returns
// the same. New is for packages that take a [Client] and do not import rueidisson.
func New(c Client, name string) *Latch {
	e := c.Engine()
	key := e.Map(name)
	h := e.Shared(sharedKey{}, func() any { return newShared(e) }).(*shared)
	return &Latch{h: h, of: newNames(e.ClientID, key), name: name, bad: object.CheckNameBy(e, key, keys.LatchOnCluster)}
}

// Name returns the name that the handle was made with, before any mapping.
func (l *Latch) Name() string { return l.name }

// TrySetCount arms the latch with n count downs, unless it is armed already, and reports whether it
// did. Parties that have counted down once may do so again. With [WithTTL] the latch opens
// automatically. There is no message then: waiters in Go wake up at that time, and waiters in Java
// at their timeouts.
//
// ctx ends the wait for the answer; the call may still take effect then.
//
// Cost: one script call.
// Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown]; ctx's; [ErrClosed]; those of Redis and of the
// network.
// Source: RCountDownLatch.trySetCount.
func (l *Latch) TrySetCount(ctx context.Context, n int64, opts ...SetOption) (bool, error) {
	c, err := object.Options(setConfig{}, opts, SetOption.applySet)
	if err == nil {
		err = l.usable(ctx)
	}
	if err == nil && (n < 1 || n > most) {
		err = fmt.Errorf("%w: count %d: from 1 to %d", ErrInvalidArgument, n, most)
	}
	var did int64
	if err == nil {
		did, err = l.ask(ctx, ask{of: l.of, kind: trySet, n: n, ttl: c.ttl})
	}
	return did == 1, l.failed("arm", err)
}

// CountDown counts down, and returns the rest of the count. At 0 the waiters pass. A count down of
// an open latch changes nothing. It completes also if ctx ends, and keeps the values of ctx.
//
// After [ErrOutcomeUnknown] the client continues until the count down is done, once, for up to 45
// s. After [ErrDeferred] it continues for as long as it lives: do not call again. CountDown returns
// ErrDeferred if the server refuses for the moment (a full one, a slot migration) or cannot be
// reached.
//
// A count down does not change a latch that was armed after it. If Redisson armed the latch, the
// time of the arming is unknown, and the client gives a deferred count down up after 45 s. After
// the server's clock was set back, it gives up a count down if it is unknown whether it belongs to
// this arming. If the caller still waits, it gets [ErrInvalidArgument], and the count down has not
// counted. The client logs the count downs that it gives up, and notifies the observer.
//
// With [WithRequestID] the caller may call again, also from another process, and the count down
// counts once. Then the client does not repeat it automatically.
//
// Cost: one script call, shared with other count downs of this process on the name.
// Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown]; [ErrDeferred]; [ErrClosed]; those of Redis and
// of the network.
// Source: RCountDownLatch.countDown.
func (l *Latch) CountDown(ctx context.Context, opts ...CountOption) (left int64, err error) {
	c, err := object.Options(countConfig{}, opts, CountOption.applyCount)
	switch {
	case err != nil:
	case c.request.ID == "":
		left, err = l.countDown(ctx, "")
	default:
		if err = object.Checked(ctx, l.bad); err == nil && !l.h.e.During(func() { left, err = l.h.countDownOnce(ctx, l.of, c.request) }) {
			err = ErrClosed
		}
	}
	return left, l.failed("count down", err)
}

// CountDownOnce counts down by one for a party, once for each arming of the latch. If the party has
// counted already, CountDownOnce only returns the count. So a party whose process was started again
// does not count for another one. Arm the latch by [Latch.TrySetCount]. After an arming by Java the
// parties do not count anew, unless the arming is detected by a count that is higher than possible.
//
// Cost, errors and the meaning of ErrOutcomeUnknown: as [Latch.CountDown]; an empty party returns
// [ErrInvalidArgument].
// Source: ours.
func (l *Latch) CountDownOnce(ctx context.Context, party string) (left int64, err error) {
	if party == "" {
		return 0, l.failed("count down", fmt.Errorf("%w: empty party", ErrInvalidArgument))
	}
	left, err = l.countDown(ctx, party)
	return left, l.failed("count down", err)
}

func (l *Latch) countDown(ctx context.Context, party string) (left int64, err error) {
	if err := object.Checked(ctx, l.bad); err != nil {
		return 0, err
	}
	got, err := l.h.table.Do(context.Background(), l.of.key, ask{of: l.of, kind: down, party: party})
	if err == nil {
		err = got.err
	}
	return got.n, err
}

// Count returns the rest of the count: 0 if the latch is open, also if it was never armed. ctx
// bounds the round trip.
//
// Cost: one script call, which reads, and deletes parties that remain after an opening by Java.
// Errors: ctx's; [ErrInvalidArgument]; [ErrClosed]; those of Redis and of the network.
// Source: RCountDownLatch.getCount.
func (l *Latch) Count(ctx context.Context) (int64, error) {
	err := l.usable(ctx)
	var now state
	if err == nil {
		now, err = send.Reading(l.h.e.Sender, ctx, func() (state, error) { return l.h.state(ctx, l.of) })
	}
	return now.count, l.failed("look at", err)
}

// Await waits until the latch is open. It returns at once if the rest of the count is 0, or if the
// latch was never armed. ctx bounds the wait. If this library opened the latch, a waiter passes
// also if the latch is armed again at once, however late the message comes. A waiter can miss an
// opening by Java that is followed at once by an arming.
//
// A waiter sleeps until the opening is announced, or for 5 s at most. If the server does not
// answer, or refuses for the moment, Await waits for up to a watchdog timeout. During a slot
// migration it waits for as long as ctx lasts.
//
// Cost: one script call, that of [Latch.Count], for all waiters of a process that begin at that
// moment; one for all of a process when the latch opens. A process that waits has one subscription
// per name.
// Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; those of Redis and of the
// network.
// Source: RCountDownLatch.await.
func (l *Latch) Await(ctx context.Context) error {
	err := l.usable(ctx)
	if err == nil && !l.h.e.During(func() { err = await(ctx, &l.h.places, l.of.key, "") }) {
		err = ErrClosed
	}
	return l.failed("await", err)
}

// Delete deletes the latch, and reports whether it was armed. Waiters pass, in Go and in Java.
//
// Cost and errors: as [Latch.TrySetCount].
// Source: RCountDownLatch.delete, which releases no waiter.
func (l *Latch) Delete(ctx context.Context) (bool, error) {
	err := l.usable(ctx)
	var did int64
	if err == nil {
		did, err = l.ask(ctx, ask{of: l.of, kind: remove})
	}
	return did == 1, l.failed("delete", err)
}

// ask makes a call of its own. ctx bounds the wait for its answer.
func (l *Latch) ask(ctx context.Context, a ask) (int64, error) {
	got, err := send.Writing(l.h.e.Sender, ctx, func() (answer, error) {
		return l.h.table.Do(context.Background(), a.of.key, a)
	})
	return got.n, errors.Join(err, got.err)
}

// usable checks what every operation needs that ctx may end.
func (l *Latch) usable(ctx context.Context) error { return object.Usable(ctx, l.h.e, l.bad) }

// failed adds the operation and the latch to err, and the key if the error is about the key. It
// notifies the observer.
func (l *Latch) failed(op string, err error) error {
	l.h.e.Outcome(label, l.of.key, op, err)
	return object.Failed(op, "latch", l.name, object.Typed(l.of.key, err))
}

// state is the result of a look.
type state struct {
	count  int64
	opened int64 // when it opened last, µs of the server's clock; 0: unknown
	armed  int64 // when it was armed; 0: unknown
	left   int64 // ms until it expires; below 0: it does not
}

func (h *shared) state(ctx context.Context, of *names) (state, error) {
	got, err := h.e.Run(ctx, lookScript, []string{of.key, of.parties, of.opened, of.armed}, nil)
	if err != nil {
		return state{}, err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return state{}, err
	case len(said) != 4:
		return state{}, fmt.Errorf("look.lua said %v", said)
	}
	return state{max(said[0], 0), said[1], said[2], said[3]}, nil
}

// latchProtocol waits until a latch is open.
type latchProtocol struct {
	h  *shared
	of *names
}

// label is the name of a latch for the observer.
const label = "latch"

func (o *latchProtocol) key() core.Key { return core.Key{Kind: label, Name: o.of.key} }

func (o *latchProtocol) channel() string { return o.of.channel }

// look ends the waits of waiters for which the latch is open, or has opened or expired since their
// first look, although it is armed again.
func (o *latchProtocol) look(ctx context.Context, _ *waiters) (verdict, time.Duration, error) {
	now, err := o.h.state(ctx, o.of)
	if err != nil {
		return nil, -1, err
	}
	return func(w *waiter) (over bool, err error) {
		if !w.looked {
			w.opened, w.armed = now.opened, now.armed
		}
		again := now.armed != 0 && now.armed != w.armed
		return now.count == 0 || now.opened > w.opened || again, nil
	}, left(now.left), nil
}
