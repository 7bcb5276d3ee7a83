package semaphore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// most is how many permits there can be: Java reads them as 32 bits.
const most = math.MaxInt32

var errNotSet = errors.New("no permits are set")

var (
	errTooMany = fmt.Errorf("%w: there would be more than %d permits", ErrInvalidArgument, most)
	errTooLate = fmt.Errorf("%w: it came too late: the time when the permits were set is unknown, or the name held something else", ErrInvalidArgument)
)

// Semaphore is a handle on the semaphore of one name. It has no state of any acquisition. Any
// number of goroutines may use it, and all handles on one name are the same semaphore.
type Semaphore struct {
	h    *shared
	of   *names
	name string // as the caller wrote it
	bad  error  // what every operation returns, if the name or an option cannot be used

	order   *fleetQueue           // of the waiters of all processes; nil without WithFleetOrder
	refusal atomic.Pointer[error] // the refusal, kept for repeated calls
}

// New returns a handle on the semaphore of that name. Programs call client.Semaphore(name), which
// returns the same. New is for packages that take a [Client] and do not import rueidisson.
func New(c Client, name string, opts ...Option) *Semaphore {
	e := c.Engine()
	key := e.Map(name)
	given, err := object.Options(config{}, opts, Option.applySemaphore)
	s := &Semaphore{
		h:    e.Shared(sharedKey{}, func() any { return newShared(e) }).(*shared),
		of:   &names{key, keys.SemaphoreChannel(key), keys.Lane(key, e.ClientID), keys.SemaphoreSet(key)},
		name: name,
		bad:  cmp.Or(err, object.CheckName(e, key)),
	}
	if err == nil && given.ordered {
		line := keys.SemaphoreOrder(key)
		s.order = &fleetQueue{e, lockkit.FairOrder[fairlock.Lock](e, line), []string{line, keys.FairQueue(line)}}
	}
	return s
}

// Name returns the name that the handle was made with, before any mapping.
func (s *Semaphore) Name() string { return s.name }

// Acquire waits until n permits are free and takes them: all or none. ctx bounds only the wait. If
// the permits are not set yet, Acquire waits for that, too.
//
// A waiter sleeps until permits are announced, or for 5 s at most. Goroutines of one process queue
// in arrival order, whatever they ask for, and one of them talks to the server for all; processes
// take turns. If the server does not answer, or refuses for want of memory or disk, Acquire waits
// for up to a watchdog timeout. During a slot migration it waits for as long as ctx lasts.
//
// Cost: one script call if the permits are free, for all waiters of the process at that moment;
// none if a goroutine of this client hands them over. A process that waits has one subscription per
// name, and makes one call per announcement.
// Errors: ctx's error and cause; [ErrClosed]; [ErrInvalidArgument]; [ErrNotReplicated]; an error of
// Redis or of the network, wrapping [ErrOutcomeUnknown] if permits may have been taken, which the
// client then releases automatically.
// Source: RSemaphore.acquire.
func (s *Semaphore) Acquire(ctx context.Context, n int64) error {
	err := s.usable(ctx, n)
	switch {
	case err != nil:
	case s.order == nil:
		err = s.h.acquire(ctx, s.of, n)
	default:
		err = s.order.acquire(ctx, func() error { return s.try(ctx, n) }, func(ctx context.Context) error { return s.h.acquire(ctx, s.of, n) })
	}
	return s.failed("acquire", err)
}

// TryAcquire takes n permits if they are free now, or become free within [WithWait]: all or none.
// Else it returns [ErrNotAcquired]. That is an answer of the server, at most 5 s old, and no
// exchange has failed since. A wait that ends without such an answer returns
// context.DeadlineExceeded. If a goroutine of this client waits for permits, TryAcquire refuses
// without a request to the server: a call does not overtake the waiters of its process.
//
// Calls of one process on one name that come while another is under way are sent together, and
// decided one by one in their order. A call whose caller leaves before the answer takes nothing.
//
// Cost, wire and other errors: as [Semaphore.Acquire]; [ErrNotSet], which wraps ErrNotAcquired. A
// refusal writes nothing. Source: RSemaphore.tryAcquire.
func (s *Semaphore) TryAcquire(ctx context.Context, n int64, opts ...TryOption) error {
	c, err := object.Options(tryConfig{}, opts, TryOption.applyTry)
	if err == nil {
		err = s.usable(ctx, n)
	}
	switch {
	case err != nil:
	case c.wait > 0:
		err = s.acquireWithin(ctx, n, c.wait)
	case s.order != nil:
		err = s.order.try(ctx, func() error { return s.try(ctx, n) })
	default:
		err = s.try(ctx, n)
	}
	if err == ErrNotAcquired {
		s.h.e.Outcome(label, s.of.key, "try acquire", err)
		if there := s.refusal.Load(); there != nil {
			return *there
		}
		refusal := s.named("try acquire", ErrNotAcquired)
		s.refusal.Store(&refusal)
		return refusal
	}
	return s.failed("try acquire", err)
}

// acquireWithin waits for n permits for at most d.
func (s *Semaphore) acquireWithin(ctx context.Context, n int64, d time.Duration) error {
	within, cancel := context.WithTimeoutCause(ctx, d, errWaitOver)
	defer cancel()
	wait := func(ctx context.Context) error { return s.h.acquire(ctx, s.of, n) }
	if s.order == nil {
		return wait(within)
	}
	return s.order.acquireWithin(ctx, within, d, func() error { return s.try(within, n) }, wait)
}

// try asks once, unless a goroutine of this process waits. Close waits for it.
func (s *Semaphore) try(ctx context.Context, n int64) error {
	h, of := s.h, s.of
	if !h.e.Begin() {
		return ErrClosed
	}
	defer h.e.Tasks.Done()
	if h.waiting.Load() > 0 {
		p := h.places.Get(of.key)
		starved := p.starved()
		h.places.Put(of.key, p)
		if starved {
			return ErrNotAcquired
		}
	}
	got, err := h.table.Do(ctx, of.key, ask{of: of, kind: take, n: n})
	switch {
	case err != nil:
		return err
	case errors.Is(got.err, errNotSet):
		return errTryNotSet
	case got.err != nil:
		return got.err
	case got.n == 0:
		return ErrNotAcquired
	}
	if err = h.keepUnlessClosed(of, n); err == nil && h.e.Observer != nil {
		h.e.Observer.Acquired(ctx, label, of.key, false)
	}
	return err
}

// Do acquires n permits, runs fn, and releases them, also if fn panics. It returns the errors of fn
// and of the release, joined. The context of fn is ctx: plain permits cannot be lost.
//
// Cost and errors: as [Semaphore.Acquire] and [Semaphore.Release], and those of fn.
// Source: ours.
func (s *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context) error) (err error) {
	if err = s.Acquire(ctx, n); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Release(ctx, n)) }()
	return fn(ctx)
}

// Release releases n permits. It does not check that they were acquired: permits have no owner, and
// a release without an acquire creates permits. It completes also if ctx ends, and keeps the values
// of ctx. If the next waiter is a goroutine of this client and waits for exactly n permits, it gets
// them, a bounded number of times (rueidisson.WithHandover).
//
// After [ErrOutcomeUnknown] the client continues until the release is done, once, for up to 45 s.
// After [ErrDeferred] it continues for as long as it lives: do not call again. Release returns
// ErrDeferred if the server refuses for the moment (a full one, a slot migration) or cannot be
// reached.
//
// A release does not change permits that were set after it. If Redisson set the permits, or the
// server's clock was set back since they were set, the time of the setting is unknown. Then the
// client gives a deferred release up after 45 s. If the name holds something else, it does so at
// once. The client logs the release that it gives up, and notifies the observer.
//
// With [WithRequestID] the caller may call again, also from another process, and the release counts
// once. Then the client does not repeat it automatically, and does not hand the permits to a
// goroutine without a call.
//
// Cost: one script call, shared with other calls of this process on the name; none if the permits
// are handed over.
// Errors: [ErrNotSet], and nothing is created; [ErrInvalidArgument] if there would be more than
// 2^31-1; [ErrOutcomeUnknown]; [ErrDeferred]; [ErrClosed]; those of Redis and of the network.
// Source: RSemaphore.release; releaseIfExists, since Redisson 4.0.
func (s *Semaphore) Release(ctx context.Context, n int64, opts ...ReleaseOption) error {
	c, err := object.Options(releaseConfig{}, opts, ReleaseOption.applyRelease)
	if err == nil {
		err = s.checked(ctx, n)
	}
	release := s.h.release
	if c.request.ID != "" {
		release = func(ctx context.Context, of *names, n int64) error { return s.h.releaseOnce(ctx, of, n, c.request) }
	}
	if err == nil && !s.h.e.During(func() { err = release(ctx, s.of, n) }) {
		err = ErrClosed
	}
	return s.failed("release", err)
}

func (h *shared) release(ctx context.Context, of *names, n int64) error {
	p := h.places.Get(of.key)
	defer h.places.Put(of.key, p)
	handed := p.handOn(n)
	var err error
	if !handed {
		var got answer
		got, err = h.table.Do(context.Background(), of.key, ask{of: of, kind: give, n: n, from: p})
		err = errors.Join(err, got.err)
		p.gave(got.woken)
	}
	if err == nil && h.e.Observer != nil {
		h.e.Observer.Released(context.WithoutCancel(ctx), label, of.key, handed)
	}
	return err
}

// releaseOnce gives n permits, unless the server knows the request already. The client does not
// repeat it, because its caller does.
func (h *shared) releaseOnce(ctx context.Context, of *names, n int64, request send.CallerRequest) error {
	p := h.places.Get(of.key)
	defer h.places.Put(of.key, p)
	releasing := p.releasing(of.channel)
	got, err := h.e.Run(context.WithoutCancel(ctx), giveOnceScript, []string{of.key, keys.CallerRequest(of.key, request.ID)},
		[]string{decimal(n), decimal(core.Millis(request.Memory)), of.channel, h.e.Publish()})
	if err == nil && got.Nil {
		err = errNotSet
	}
	if err != nil {
		return err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return err
	case len(said) != 2:
		return fmt.Errorf("%w: give_once.lua said %v", ErrOutcomeUnknown, said)
	case said[1] == 0:
		return errTooMany
	case said[1] != n:
		return fmt.Errorf("%w: the request %q gave %d permits, not %d", ErrInvalidArgument, request.ID, said[1], n)
	}
	p.gave(releasing.done(int(said[0])))
	if h.e.Observer != nil {
		h.e.Observer.Released(context.WithoutCancel(ctx), label, of.key, false)
	}
	return nil
}

// SetPermits makes n permits free, whatever the number was: permits that are taken are not counted.
// A time to live is removed. Waiters are notified. With 0 the semaphore is closed until permits are
// added, set or released.
//
// ctx ends the wait for the answer; the call may still take effect then.
//
// Cost: one script call.
// Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown]; ctx's; [ErrClosed]; those of Redis and of the
// network.
// Source: ours; RSemaphore has trySetPermits and addPermits.
func (s *Semaphore) SetPermits(ctx context.Context, n int64) error {
	err := s.settable(ctx, n)
	if err == nil {
		_, err = s.ask(ctx, ask{of: s.of, kind: set, n: n})
	}
	return s.failed("set permits of", err)
}

// TrySetPermits sets the number of permits, unless they are set already, and reports whether it
// did. With [WithTTL] the semaphore expires automatically. With 0 it starts closed.
//
// Cost, wire and errors: as [Semaphore.SetPermits]. Source:
// RSemaphore.trySetPermits.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int64, opts ...SetOption) (bool, error) {
	c, err := resolveSet(opts)
	if err == nil {
		err = s.settable(ctx, n)
	}
	var did int64
	if err == nil {
		did, err = s.ask(ctx, ask{of: s.of, kind: trySet, n: n, ttl: c.ttl})
	}
	return did == 1, s.failed("try set permits of", err)
}

// AddPermits adds n permits. With a negative n it takes permits away, also taken ones: the number
// of free ones then is below 0 until enough are released, and nothing is granted meanwhile. Permits
// that this process hands over to itself stay in use until that ends, see rueidisson.WithHandover.
// If no permits are set, it sets them. It keeps a time to live.
//
// Cost and errors: as [Semaphore.SetPermits].
// Source: RSemaphore.addPermits, which removes a time to live.
func (s *Semaphore) AddPermits(ctx context.Context, n int64) error {
	err := s.usable(ctx, max(n, -n))
	if err == nil {
		var did int64
		if did, err = s.ask(ctx, ask{of: s.of, kind: add, n: n}); err == nil && did == 0 {
			err = fmt.Errorf("%w: there would be more than %d permits, or fewer than -%[2]d", ErrInvalidArgument, most)
		}
	}
	return s.failed("add permits to", err)
}

// Drain takes all free permits, and returns their number. If its caller leaves before the answer,
// or the reply is lost, they go back.
//
// Cost: one script call.
// Errors: as [Semaphore.SetPermits].
// Source: RSemaphore.drainPermits, which removes a time to live.
func (s *Semaphore) Drain(ctx context.Context) (int64, error) {
	err := s.usable(ctx, 1)
	var got answer
	if err == nil {
		if got, err = s.h.table.Do(ctx, s.of.key, ask{of: s.of, kind: drain}); err == nil {
			err = got.err
		}
	}
	return got.n, s.failed("drain", err)
}

// Available returns the number of free permits: 0 also if none are set, or if they were reduced by
// more than are free. ctx bounds the round trip.
//
// Cost: one script call, which only reads.
// Errors: ctx's; [ErrInvalidArgument]; [ErrClosed]; those of Redis and of the network.
// Source: RSemaphore.availablePermits.
func (s *Semaphore) Available(ctx context.Context) (int64, error) {
	n, err := s.look(ctx, lookScript, s.of.key)
	return n, s.failed("look at", err)
}

// look returns the number of free permits, by a script that only reads.
func (s *Semaphore) look(ctx context.Context, script *scripts.Script, on ...string) (int64, error) {
	if err := s.usable(ctx, 1); err != nil {
		return 0, err
	}
	n, err := send.Reading(s.h.e.Sender, ctx, func() (int64, error) {
		got, err := s.h.e.Run(ctx, script, on, nil)
		if err != nil || got.Nil {
			return 0, err
		}
		return got.AsInt64()
	})
	return max(n, 0), err
}

// Delete deletes the semaphore, and reports whether there was one. Waiters keep waiting, until
// permits are set anew.
//
// Cost and errors: as [Semaphore.SetPermits].
// Source: RSemaphore.delete.
func (s *Semaphore) Delete(ctx context.Context) (bool, error) {
	err := s.usable(ctx, 1)
	var did int64
	if err == nil {
		did, err = s.ask(ctx, ask{of: s.of, kind: remove})
	}
	return did == 1, s.failed("delete", err)
}

// ask makes a call of its own. ctx bounds the wait for its answer.
func (s *Semaphore) ask(ctx context.Context, a ask) (int64, error) {
	got, err := send.Writing(s.h.e.Sender, ctx, func() (answer, error) {
		return s.h.table.Do(context.Background(), a.of.key, a)
	})
	return got.n, errors.Join(err, got.err)
}

// usable checks what every operation needs that ctx may end.
func (s *Semaphore) usable(ctx context.Context, n int64) error {
	return object.Usable(ctx, s.h.e, s.checked(ctx, n))
}

// settable checks what a call that sets n permits needs.
func (s *Semaphore) settable(ctx context.Context, n int64) error {
	if n < 0 || n > most {
		return fmt.Errorf("%w: %d permits: from 0 to %d", ErrInvalidArgument, n, most)
	}
	return s.usable(ctx, 1)
}

// checked returns the error of a call for which nothing is sent.
func (s *Semaphore) checked(ctx context.Context, n int64) error {
	err := object.Checked(ctx, s.bad)
	if err == nil && (n < 1 || n > most) {
		err = fmt.Errorf("%w: %d permits: from 1 to %d", ErrInvalidArgument, n, most)
	}
	return err
}

// failed adds the operation to err, and notifies the observer.
func (s *Semaphore) failed(op string, err error) error {
	s.h.e.Outcome(label, s.of.key, op, err)
	return s.named(op, err)
}

// named adds the operation and the semaphore to err, and the key if the error is about the key.
func (s *Semaphore) named(op string, err error) error {
	return object.Failed(op, "semaphore", s.name, object.Typed(s.of.key, err))
}
