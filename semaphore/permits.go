package semaphore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// PermitSemaphore is a handle on the semaphore of one name whose permits have ids
// and leases: those of a process that died come back when their leases end. It is
// Redisson's RPermitExpirableSemaphore, on the same keys. It holds nothing, so it
// may be used by any number of goroutines, and any number of handles on one name
// are the same semaphore.
type PermitSemaphore struct {
	i     *permitShared
	of    *permitNames
	plain *Semaphore // the same number, for what is ordered about it
}

// NewPermits returns a handle. Programs outside of this module call
// rueidisson.Client.PermitSemaphore.
func NewPermits(c Client, name string, opts ...Option) *PermitSemaphore {
	e := c.Engine()
	i, key := e.Shared(permitSharedKey{}, func() any { return newPermitShared(e) }).(*permitShared), e.Map(name)
	of := &permitNames{
		i, name, key, keys.PermitLeases(key), keys.Tombstones(key), keys.PermitLabels(key), keys.SemaphoreChannel(key),
	}
	return &PermitSemaphore{i, of, New(e, name, opts...)}
}

// Name returns the name that the handle was made with, before any mapping.
func (s *PermitSemaphore) Name() string { return s.of.name }

// Acquire waits until a permit is free and takes it. ctx bounds the wait, and
// nothing else: the permit lives on when ctx ends, until it is released or lost.
// It is renewed by the client, unless [WithLease] says how long it lasts. Permits
// that nobody has set yet are waited for.
//
// A waiter sleeps until permits are announced, until the first lease of those that
// are held ends, or for 5 s at most. Goroutines of one process queue in arrival
// order, and one of them talks to the server for all; processes take turns. A
// server that does not answer, or that refuses for want of memory or disk, is
// waited for up to a watchdog timeout, and while the slot moves for as long as ctx
// lasts.
//
// Cost: one script call if a permit is free, for all who wait at that moment; a
// release of this process may make it. A process that waits has one subscription
// per name, and makes one call per announcement.
// Wire: DECRBY name; ZADD {name}:timeout with the end of the lease by the server's
// clock in ms, and the id.
// Errors: ctx's error and cause; [ErrClosed]; [ErrInvalidArgument]; [ErrNotReplicated]; an
// error of Redis or of the network, wrapping [ErrOutcomeUnknown] if a permit may have
// been taken, which then goes back by itself.
// Source: RPermitExpirableSemaphore.acquire.
func (s *PermitSemaphore) Acquire(ctx context.Context, opts ...PermitOption) (*Permit, error) {
	return s.acquire(ctx, 1, opts)
}

// acquire returns the first of n permits.
func (s *PermitSemaphore) acquire(ctx context.Context, n int, opts []PermitOption) (*Permit, error) {
	c, err := object.Options(permitConfig{}, opts, PermitOption.applyPermit)
	if err == nil {
		err = s.countable(ctx, n)
	}
	var p *Permit
	c.n = n
	switch order := s.plain.order; {
	case err != nil:
	case order == nil:
		p, err = s.i.acquire(ctx, s.of, c.terms)
	default:
		err = order.acquire(ctx, s.trying(ctx, c.terms, &p), s.waiting(c.terms, &p))
	}
	return p, s.failed("acquire", err)
}

// countable checks what a call needs that is about n permits.
func (s *PermitSemaphore) countable(ctx context.Context, n int) error {
	if n < 1 || n > mostPerCall {
		return fmt.Errorf("%w: %d permits at once: from 1 to %d", ErrInvalidArgument, n, mostPerCall)
	}
	return s.plain.usable(ctx, 1)
}

// TryAcquire takes a permit if one is free now, or becomes free within [WithWait].
// It returns [ErrNotAcquired] if none is: that is the word of the server, at most 5 s
// old, and no exchange has failed since. A wait that ends without such an answer is
// context.DeadlineExceeded. If a goroutine of this client waits for
// one, that is the answer without asking the server: nobody of a process
// overtakes those who wait in it.
//
// Cost, wire and other errors: as [PermitSemaphore.Acquire]; [ErrNotSet], which
// wraps ErrNotAcquired. A refusal writes nothing, but may take in permits whose
// leases have ended. Source: RPermitExpirableSemaphore.tryAcquire.
func (s *PermitSemaphore) TryAcquire(ctx context.Context, opts ...TryPermitOption) (*Permit, error) {
	return s.tryAcquire(ctx, 1, opts)
}

// tryAcquire returns the first of n permits.
func (s *PermitSemaphore) tryAcquire(ctx context.Context, n int, opts []TryPermitOption) (*Permit, error) {
	c, err := object.Options(permitConfig{}, opts, TryPermitOption.applyTryPermit)
	if err == nil {
		err = s.countable(ctx, n)
	}
	c.n = n
	var p *Permit
	switch order := s.plain.order; {
	case err != nil:
	case c.wait > 0:
		within, cancel := context.WithTimeoutCause(ctx, c.wait, errWaitOver)
		defer cancel()
		if wait := s.waiting(c.terms, &p); order == nil {
			err = wait(within)
		} else {
			err = order.acquireWithin(ctx, within, c.wait, s.trying(within, c.terms, &p), wait)
		}
	case order != nil:
		err = order.try(ctx, s.trying(ctx, c.terms, &p))
	default:
		err = s.trying(ctx, c.terms, &p)()
	}
	return p, s.failed("try acquire", err)
}

// trying returns what asks once for permits, of which *p is the first.
func (s *PermitSemaphore) trying(ctx context.Context, t terms, p **Permit) func() error {
	return func() (err error) {
		*p, err = s.i.try(ctx, s.of, t)
		return err
	}
}

// waiting returns what waits for permits, of which *p is the first.
func (s *PermitSemaphore) waiting(t terms, p **Permit) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		*p, err = s.i.acquire(ctx, s.of, t)
		return err
	}
}

// Do acquires a permit, runs fn under the permit's context, and releases it, also if fn
// panics. It returns the errors of fn and of the release, joined: an [ErrLost] beside
// fn's success means that the work may have overlapped with that of the next holder.
//
// Cost and errors: as [PermitSemaphore.Acquire] and [Permit.Release], and those of fn.
// Source: ours.
func (s *PermitSemaphore) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...PermitOption) (err error) {
	p, err := s.Acquire(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Release(ctx)) }()
	return fn(p.Context(ctx))
}

// ReleaseID gives the permit of that id back, whoever acquired it, here or in
// another process, Go or Java. Its holder is told at its next renewal. It runs to
// its end also if ctx ends, whose values it keeps.
//
// Cost and wire: as [Permit.Release]. Errors: [ErrLost] if there is no such
// permit, or its lease has ended; [ErrNotSet], which comes with ErrLost;
// [ErrInvalidArgument] for what is no id; [ErrOutcomeUnknown] if no answer came, when the client
// goes on for up to 45 s; [ErrDeferred] if the server refused or was not reached, when
// the client goes on for as long as it lives; [ErrClosed]; Redis' and the network's.
// Source: RPermitExpirableSemaphore.release, tryRelease.
func (s *PermitSemaphore) ReleaseID(ctx context.Context, id string) error {
	err := s.plain.checked(ctx, 1)
	if err == nil {
		err = parseID(id)
	}
	if err == nil && !s.i.e.During(func() { err = s.i.releaseID(s.of, id) }) {
		err = ErrClosed
	}
	return s.failed("release permit of", err)
}

func (i *permitShared) releaseID(of *permitNames, id string) error {
	r := i.places.Get(of.key)
	defer i.places.Put(of.key, r)
	request := i.e.Request(keys.Lane(of.key, i.e.ClientID)+":"+id, 0)
	got, err := i.table.Do(context.Background(), of.key, permitAsk{of: of, gives: raw(id), judged: true, from: r})
	err = errors.Join(err, got.err)
	switch {
	case errors.Is(err, errNotSet):
		return fmt.Errorf("%w: %w", ErrLost, err)
	case err != nil && !send.Permanent(err):
		work := core.Work{Kind: permitLabel, Name: of.key, Op: "release", Amount: 1}
		return i.e.SeeThrough(request, work, err, func(ctx context.Context, _ send.Request) error {
			return of.giveBackAll(ctx, raw(id))
		})
	case err != nil:
		return err
	}
	r.gave(got.woken)
	if got.gave[0] == 0 && !got.Replayed {
		return fmt.Errorf("%w: %w", ErrLost, watchdog.ErrGone)
	}
	return nil
}

// SetPermits sets how many permits there are, those that are held included. If
// more are held, none is granted until enough have come back, such as with 0. A time to
// live stays. Waiters are told.
//
// ctx ends the wait for the answer; the call may still take effect then.
// Cost: one script call. Wire: INCRBY or SET name; the number of free permits on
// redisson_sc:{name} if it grew. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown]; ctx's;
// [ErrClosed]; Redis' and the network's.
// Source: RPermitExpirableSemaphore.setPermits.
func (s *PermitSemaphore) SetPermits(ctx context.Context, n int64) error {
	err := s.plain.settable(ctx, n)
	if err == nil {
		_, err = s.plain.ask(ctx, ask{of: s.plain.of, kind: setHeld, n: n, held: s.of.leases})
	}
	return s.failed("set permits of", err)
}

// TrySetPermits sets how many permits there are, those that are held included,
// unless they are set already, and reports whether it did. With [WithTTL] the semaphore goes by itself, with the
// permits that are held.
//
// Cost and errors: as [PermitSemaphore.SetPermits]. Wire: SET name n, n on
// redisson_sc:{name}. Source: RPermitExpirableSemaphore.trySetPermits.
func (s *PermitSemaphore) TrySetPermits(ctx context.Context, n int64, opts ...SetOption) (bool, error) {
	c, err := resolveSet(opts)
	if err == nil {
		err = s.plain.settable(ctx, n)
	}
	var did int64
	if err == nil {
		did, err = s.plain.ask(ctx, ask{of: s.plain.of, kind: trySetHeld, n: n, ttl: c.ttl, held: s.of.leases})
	}
	return did == 1, s.failed("try set permits of", err)
}

// AddPermits adds permits, or with a negative n takes so many away, also if they
// are held: none is granted then until enough have come back. If none are set, it
// sets them. A time to live stays.
//
// Cost and errors: as [PermitSemaphore.SetPermits]; ErrInvalidArgument also if there would
// be more than 2^31-1. Wire: INCRBY name n; the number of free permits on
// redisson_sc:{name} if it grew and is above 0.
// Source: RPermitExpirableSemaphore.addPermits, which ends a time to live.
func (s *PermitSemaphore) AddPermits(ctx context.Context, n int64) error {
	err := s.plain.usable(ctx, max(n, -n))
	if err == nil {
		var did int64
		if did, err = s.plain.ask(ctx, ask{of: s.plain.of, kind: addHeld, n: n, held: s.of.leases}); err == nil && did == 0 {
			err = fmt.Errorf("%w: there would be more than %d permits, or fewer than -%[2]d", ErrInvalidArgument, most)
		}
	}
	return s.failed("add permits to", err)
}

// Available returns how many permits are free, those whose leases have ended included:
// 0 also if none are set, or if there are fewer than are held.
//
// Cost: one script call, which only reads. Errors: ctx's; [ErrInvalidArgument];
// [ErrClosed]; Redis' and the network's.
// Source: RPermitExpirableSemaphore.availablePermits.
func (s *PermitSemaphore) Available(ctx context.Context) (int64, error) {
	n, err := s.plain.look(ctx, countScript, s.of.key, s.of.leases)
	return n, s.failed("look at", err)
}

// somePermits is about how many permits one call asks for.
const somePermits = 1000

// Permits goes through the permits that are held, in no order. One that is held
// all the while is shown once; one that comes or goes meanwhile may be.
//
// Cost: one script call for each thousand, which only reads. Errors: as
// [PermitSemaphore.Available]; after an error there is no more.
// Source: ours; RPermitExpirableSemaphore has acquiredPermits and getLeaseTime.
func (s *PermitSemaphore) Permits(ctx context.Context) iter.Seq2[PermitInfo, error] {
	return func(yield func(PermitInfo, error) bool) {
		seen := make(map[string]struct{})
		for cursor := "0"; ; {
			some, next, err := s.some(ctx, cursor)
			if err != nil {
				yield(PermitInfo{}, s.failed("list permits of", err))
				return
			}
			for _, one := range some {
				if _, again := seen[one.ID]; again {
					continue
				}
				seen[one.ID] = struct{}{}
				if !yield(one, nil) {
					return
				}
			}
			if cursor = next; cursor == "0" {
				return
			}
		}
	}
}

// some makes one call of Permits.
func (s *PermitSemaphore) some(ctx context.Context, cursor string) (some []PermitInfo, next string, err error) {
	if err := s.plain.usable(ctx, 1); err != nil {
		return nil, "", err
	}
	said, err := send.Reading(s.i.e.Sender, ctx, func() ([]string, error) {
		got, err := s.i.e.Run(ctx, listScript, []string{s.of.leases, s.of.labels}, []string{cursor, strconv.Itoa(somePermits)})
		if err != nil {
			return nil, err
		}
		return got.AsStrSlice()
	})
	if err != nil {
		return nil, "", err
	}
	now, err := strconv.ParseFloat(said[1], 64)
	for n := 2; n+2 < len(said) && err == nil; n += 3 {
		var ends float64
		if ends, err = strconv.ParseFloat(said[n+1], 64); ends <= now {
			continue
		}
		remaining := time.Duration(min((ends-now)*float64(time.Millisecond), float64(core.LongestLease)))
		if ends >= never {
			remaining = -1
		}
		own := strings.HasPrefix(said[n], s.i.client)
		some = append(some, PermitInfo{ID: text(said[n]), Remaining: remaining, Own: own, Label: said[n+2]})
	}
	return some, said[0], err
}

// never is the score of a permit that has no end.
const never = 922337203685477

// Delete forgets the semaphore and the permits that are held, whose holders are
// told at their next renewals, and reports whether there was one. Who waits goes
// on waiting, until permits are set anew.
//
// Cost and errors: as [PermitSemaphore.SetPermits]. Wire: DEL name
// {name}:timeout. Source: RPermitExpirableSemaphore.delete.
func (s *PermitSemaphore) Delete(ctx context.Context) (bool, error) {
	err := s.plain.usable(ctx, 1)
	var did int64
	if err == nil {
		did, err = s.plain.ask(ctx, ask{of: s.plain.of, kind: removeHeld, held: s.of.leases, labels: s.of.labels})
	}
	return did == 1, s.failed("delete", err)
}

// failed names the operation and the semaphore, and the key where that is the
// trouble. It tells the observer.
func (s *PermitSemaphore) failed(op string, err error) error {
	s.i.e.Outcome(permitLabel, s.of.key, op, err)
	if err == nil {
		return nil
	}
	var reply *rueidis.RedisError
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "WRONGTYPE") && !strings.Contains(reply.Error(), s.of.leases) {
		err = fmt.Errorf("key %q: %w", s.of.key, err)
	}
	return fmt.Errorf("%s permit semaphore %q: %w", op, s.of.name, err)
}
