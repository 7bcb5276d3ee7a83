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

// most is what a latch can be armed with.
const most = math.MaxInt32

// Latch is a handle on the latch of one name. It holds nothing, so it may be
// used by any number of goroutines, and any number of handles on one name are the
// same latch.
type Latch struct {
	h    *shared
	of   *names
	name string // as the caller wrote it
	bad  error  // what every operation returns, if the name cannot be used
}

// New returns a handle. Programs outside of this module call
// rueidisson.Client.Latch.
func New(c Client, name string) *Latch {
	e := c.Engine()
	key := e.Map(name)
	h := e.Shared(sharedKey{}, func() any { return newShared(e) }).(*shared)
	return &Latch{h: h, of: newNames(e.ClientID, key), name: name, bad: object.CheckNameBy(e, key, keys.LatchOnCluster)}
}

// Name returns the name that the handle was made with, before any mapping.
func (l *Latch) Name() string { return l.name }

// TrySetCount arms the latch with n count downs, unless it is armed already, and
// reports whether it did. Parties that have counted down once may do so again. With
// [WithTTL] the latch opens by itself. Nobody is told then: those who wait in Go
// wake up at that time, and those in Java at their timeouts.
//
// ctx ends the wait for the answer; the call may still take effect then.
// Cost: one script call. Wire: SET name n; 1 on the latch's channel; SET
// rueidisson_armed:{name}, DEL rueidisson_parties:{name}; string rueidisson_lane:{name}:<client>:<n> with 45 s
// to live. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown]; ctx's; [ErrClosed]; Redis' and the
// network's. Source: RCountDownLatch.trySetCount.
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

// CountDown counts down, and returns what is left. At 0 those who wait pass; one
// that finds the latch open changes nothing. It runs to its end also if ctx ends,
// whose values it keeps.
//
// After [ErrOutcomeUnknown] the client goes on until the count down is done, once, for up to
// 45 s. After [ErrDeferred], which is what a server brings that refuses for the moment
// (a full one, a slot that moves) or is not reached, it goes on for as long as it
// lives: do not call again. A latch that was armed since is left alone. Where Redisson armed
// the latch, nothing tells when, and the client gives a deferred count down up after 45 s.
// After the server's clock went back it gives up one of which nothing tells whether it is of this arming: that is an
// [ErrInvalidArgument] if the caller waits for it still, and it has not counted.
// What the client gives up at last it logs, and tells the observer.
//
// With [WithRequestID] the caller may call again, also from another process, and it
// counts once. The client does not go on by itself then.
//
// Cost: one script call, shared with other count downs of this process on the
// name.
// Wire: DECRBY name k; at 0 DEL name, 0 on the latch's channel, and when in
// rueidisson_opened:{name}, with 45 s to live; the lane of TrySetCount.
// Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown]; [ErrDeferred]; [ErrClosed]; Redis' and the
// network's. Source: RCountDownLatch.countDown.
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

// CountDownOnce is CountDown for a party, which counts once for each arming of
// the latch: if it has counted already, it only learns what is left. So a party
// whose process was started again does not count for another one. The latch is to
// be armed by [Latch.TrySetCount]: an arming by Java does not make the parties
// count anew, unless it is seen by a count that is above what it can be.
//
// Cost, errors and what an ErrOutcomeUnknown means: as [Latch.CountDown]; an empty
// party is an [ErrInvalidArgument]. Wire: also hash rueidisson_parties:{name}, which goes
// when the latch opens. Source: ours.
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

// Count returns what is left to count down: 0 if the latch is open, which is also
// what one that was never armed is.
//
// Cost: one script call, which reads, and clears away the parties that an opening
// by Java left. Errors: ctx's; [ErrInvalidArgument];
// [ErrClosed]; Redis' and the network's. Source: RCountDownLatch.getCount.
func (l *Latch) Count(ctx context.Context) (int64, error) {
	err := l.usable(ctx)
	var now state
	if err == nil {
		now, err = send.Reading(l.h.e.Sender, ctx, func() (state, error) { return l.h.state(ctx, l.of) })
	}
	return now.count, l.failed("look at", err)
}

// Await waits until the latch is open: at once, if nothing is left to count
// down, or it was never armed. ctx bounds the wait. Who waits passes also if the
// latch is armed again in the moment in which it opens, however late the message
// comes, if it was opened by this library; an opening by Java that is followed at
// once by an arming can be missed.
//
// A waiter sleeps until the opening is announced, or for 5 s at most. A server
// that does not answer, or that refuses for the moment, is waited for up to a
// watchdog timeout, and while the slot moves for as long as ctx lasts.
//
// Cost: one script call, that of [Latch.Count], for all of a process that begin to
// wait at that moment; one for all of a process when the latch opens. A process
// that waits has one subscription per name.
// Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the
// network's. Source: RCountDownLatch.await.
func (l *Latch) Await(ctx context.Context) error {
	err := l.usable(ctx)
	if err == nil && !l.h.e.During(func() { err = await(ctx, &l.h.places, l.of.key, "") }) {
		err = ErrClosed
	}
	return l.failed("await", err)
}

// Delete forgets the latch, and reports whether it was armed. Who waits passes,
// in Go and in Java.
//
// Cost and errors: as [Latch.TrySetCount]. Wire: DEL name; 1, then 0 on the
// latch's channel. Source: RCountDownLatch.delete, which releases nobody.
func (l *Latch) Delete(ctx context.Context) (bool, error) {
	err := l.usable(ctx)
	var did int64
	if err == nil {
		did, err = l.ask(ctx, ask{of: l.of, kind: remove})
	}
	return did == 1, l.failed("delete", err)
}

// ask makes a call that goes by itself. ctx bounds the wait for its answer.
func (l *Latch) ask(ctx context.Context, a ask) (int64, error) {
	got, err := send.Writing(l.h.e.Sender, ctx, func() (answer, error) {
		return l.h.table.Do(context.Background(), a.of.key, a)
	})
	return got.n, errors.Join(err, got.err)
}

// usable checks what every operation needs that ctx may end.
func (l *Latch) usable(ctx context.Context) error { return object.Usable(ctx, l.h.e, l.bad) }

// failed names the operation and the latch, and the key where that is the
// trouble. It tells the observer.
func (l *Latch) failed(op string, err error) error {
	l.h.e.Outcome(label, l.of.key, op, err)
	return object.Failed(op, "latch", l.name, object.Typed(l.of.key, err))
}

// state is what a look found.
type state struct {
	count  int64
	opened int64 // when it opened last, µs of the server's clock; 0: nobody remembers
	armed  int64 // when it was armed; 0: nobody knows
	left   int64 // ms until it opens by itself; below 0: it does not
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

// label is what the observer calls a latch.
const label = "latch"

func (o *latchProtocol) key() core.Key { return core.Key{Kind: label, Name: o.of.key} }

func (o *latchProtocol) channel() string { return o.of.channel }

// look lets those pass who see that nothing is left, or that the latch has opened or its
// time was over since their first look, though it is armed again.
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
