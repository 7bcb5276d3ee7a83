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

// PermitSemaphore is a handle on the semaphore of one name whose permits have ids and leases: the
// permits of a process that died come back when their leases end. It is Redisson's
// RPermitExpirableSemaphore, on the same keys. It has no state of any acquisition. Any number of
// goroutines may use it, and all handles on one name are the same semaphore.
type PermitSemaphore struct {
	i     *permitShared
	of    *permitNames
	plain *Semaphore // the same number, for what is ordered about it
}

// NewPermits returns a handle on the permit semaphore of that name. Programs call
// client.PermitSemaphore(name), which returns the same. NewPermits is for packages that take a
// [Client] and do not import rueidisson.
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

// Acquire waits until a permit is free and takes it. ctx bounds only the wait: the permit stays
// valid after ctx ends, until it is released or lost. The client renews it, unless [WithLease]
// fixes its lease. If the permits are not set yet, Acquire waits for that, too.
//
// A waiter sleeps until permits are announced, until the first lease of the held permits ends, or
// for 5 s at most. Goroutines of one process queue in arrival order, and one of them talks to the
// server for all; processes take turns. If the server does not answer, or refuses for want of
// memory or disk, Acquire waits for up to a watchdog timeout. During a slot migration it waits for
// as long as ctx lasts.
//
// Cost: one script call if a permit is free, for all waiters of the process at that moment; a
// release of this process may make it. A process that waits has one subscription per name, and
// makes one call per announcement.
// Errors: ctx's error and cause; [ErrClosed]; [ErrInvalidArgument]; [ErrNotReplicated]; an error of
// Redis or of the network, wrapping [ErrOutcomeUnknown] if a permit may have been taken, which the
// client then releases automatically.
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

// countable checks what a call for n permits needs.
func (s *PermitSemaphore) countable(ctx context.Context, n int) error {
	if n < 1 || n > mostPerCall {
		return fmt.Errorf("%w: %d permits at once: from 1 to %d", ErrInvalidArgument, n, mostPerCall)
	}
	return s.plain.usable(ctx, 1)
}

// TryAcquire takes a permit if one is free now, or becomes free within [WithWait]. Else it returns
// [ErrNotAcquired]. That is an answer of the server, at most 5 s old, and no exchange has failed
// since. A wait that ends without such an answer returns context.DeadlineExceeded. If a goroutine
// of this client waits for a permit, TryAcquire refuses without a request to the server: a call
// does not overtake the waiters of its process.
//
// Cost, wire and other errors: as [PermitSemaphore.Acquire]; [ErrNotSet], which wraps
// ErrNotAcquired. A refusal takes nothing, but may free permits whose leases have ended. Source:
// RPermitExpirableSemaphore.tryAcquire.
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

// trying returns a function that asks once for permits and stores the first in *p.
func (s *PermitSemaphore) trying(ctx context.Context, t terms, p **Permit) func() error {
	return func() (err error) {
		*p, err = s.i.try(ctx, s.of, t)
		return err
	}
}

// waiting returns a function that waits for permits and stores the first in *p.
func (s *PermitSemaphore) waiting(t terms, p **Permit) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		*p, err = s.i.acquire(ctx, s.of, t)
		return err
	}
}

// Do acquires a permit, runs fn under the permit's context, and releases it, also if fn panics. It
// returns the errors of fn and of the release, joined. [ErrLost] after fn succeeded means that the
// work may have overlapped with the work of the next holder.
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

// ReleaseID releases the permit of that id, which any process may have acquired, Go or Java. Its
// holder learns it at its next renewal. ReleaseID completes also if ctx ends, and keeps the values
// of ctx.
//
// Cost and wire: as [Permit.Release].
// Errors: [ErrLost] if there is no such permit, or its lease has ended; [ErrNotSet], which comes
// with ErrLost; [ErrInvalidArgument] for a text that is not an id; [ErrOutcomeUnknown] if no answer
// came, when the client continues for up to 45 s; [ErrDeferred] if the server refused or could not
// be reached, when the client continues for as long as it lives; [ErrClosed]; those of Redis and of
// the network.
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

// SetPermits sets the number of permits, held ones included. If more are held, none is granted
// until enough have come back, such as with 0. It keeps a time to live. Waiters are notified.
//
// ctx ends the wait for the answer; the call may still take effect then.
//
// Cost: one script call.
// Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown]; ctx's; [ErrClosed]; those of Redis and of the
// network.
// Source: RPermitExpirableSemaphore.setPermits.
func (s *PermitSemaphore) SetPermits(ctx context.Context, n int64) error {
	err := s.plain.settable(ctx, n)
	if err == nil {
		_, err = s.plain.ask(ctx, ask{of: s.plain.of, kind: setHeld, n: n, held: s.of.leases})
	}
	return s.failed("set permits of", err)
}

// TrySetPermits sets the number of permits, held ones included, unless they are set already, and
// reports whether it did. With [WithTTL] the semaphore expires, with the permits that are held.
//
// Cost and errors: as [PermitSemaphore.SetPermits].
// Source: RPermitExpirableSemaphore.trySetPermits.
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

// AddPermits adds n permits. With a negative n it takes permits away, also held ones: none is
// granted then until enough have come back. If no permits are set, it sets them. It keeps a time to
// live.
//
// Cost and errors: as [PermitSemaphore.SetPermits]; ErrInvalidArgument also if there would be more
// than 2^31-1.
// Source: RPermitExpirableSemaphore.addPermits, which removes a time to live.
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

// Available returns the number of free permits, those whose leases have ended included: 0 also if
// none are set, or if there are fewer than are held. ctx bounds the round trip.
//
// Cost: one script call, which only reads.
// Errors: ctx's; [ErrInvalidArgument]; [ErrClosed]; those of Redis and of the network.
// Source: RPermitExpirableSemaphore.availablePermits.
func (s *PermitSemaphore) Available(ctx context.Context) (int64, error) {
	n, err := s.plain.look(ctx, countScript, s.of.key, s.of.leases)
	return n, s.failed("look at", err)
}

// somePermits is about how many permits one call asks for.
const somePermits = 1000

// Permits yields the held permits, in no order. A permit that is held during the whole loop is
// yielded once; one that is acquired or released meanwhile may be yielded. The loop ends with ctx.
//
// Cost: one script call for each thousand, which only reads.
// Errors: as [PermitSemaphore.Available]; an error is the last element.
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

// never is the score of a permit that never expires.
const never = 922337203685477

// Delete deletes the semaphore and the held permits, and reports whether there was one. Their
// holders learn it at their next renewals. Waiters keep waiting, until permits are set anew.
//
// Cost and errors: as [PermitSemaphore.SetPermits].
// Source: RPermitExpirableSemaphore.delete.
func (s *PermitSemaphore) Delete(ctx context.Context) (bool, error) {
	err := s.plain.usable(ctx, 1)
	var did int64
	if err == nil {
		did, err = s.plain.ask(ctx, ask{of: s.plain.of, kind: removeHeld, held: s.of.leases, labels: s.of.labels})
	}
	return did == 1, s.failed("delete", err)
}

// failed adds the operation and the semaphore to err, and the key if the error is about the key. It
// notifies the observer.
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
