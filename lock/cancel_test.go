package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// promptly is the hard bound on how late a cancelled call may return, on a
// machine that has time for it. What is promised is 100 ms.
const promptly = 2500 * time.Millisecond

// hops is how many goroutines pass a cancelled call on until it returns: each
// may have to wait as long for the processor as one that only looks on.
const hops = 5

// lateness collects how long after its cancel each call returned, and how long
// it took at the most until somebody heard of it who only looks on.
type lateness struct {
	mu     sync.Mutex
	all    []time.Duration
	looker time.Duration
}

func (l *lateness) note(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

func (l *lateness) noteLooker(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looker = max(l.looker, d)
}

// check logs the distribution and holds it against the bound.
func (l *lateness) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.NotEmpty(t, l.all, "nothing was cancelled")
	slices.Sort(l.all)
	at := func(share float64) time.Duration { return l.all[int(share*float64(len(l.all)-1))] }
	t.Logf("%d cancelled, returned after: p50 %v, p99 %v, p99.9 %v, max %v; heard of after at most %v",
		len(l.all), at(0.5), at(0.99), at(0.999), at(1), l.looker)
	require.Less(t, at(1), promptly+hops*l.looker)
}

// awaitFree waits until nobody holds any of the locks: what a cancelled call
// won is given back in the background.
func awaitFree(t *testing.T, raw rueidis.Client, names ...string) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		n, err := raw.Do(context.Background(), raw.B().Exists().Key(names...).Build()).AsInt64()
		require.NoError(t, err)
		return n == 0
	}, patience/2, glance, "locks are left behind") // long before their leases end
}

// cancelSoon is a context that is cancelled after 0 to 4 ms, and when it was.
func cancelSoon(parent context.Context) (ctx context.Context, cancelled func() (time.Time, bool), stop func()) {
	ctx, cancel := context.WithCancel(parent)
	var mu sync.Mutex
	var at time.Time
	timer := time.AfterFunc(rand.N(4*time.Millisecond), func() {
		mu.Lock()
		defer mu.Unlock()
		at = time.Now()
		cancel()
	})
	cancelled = func() (time.Time, bool) {
		mu.Lock()
		defer mu.Unlock()
		return at, !at.IsZero()
	}
	return ctx, cancelled, func() { timer.Stop(); cancel() }
}

// storm cancels calls acquires, from 128 goroutines, and unlocks what it gets
// all the same.
func storm(t *testing.T, c *rueidisson.Client, calls int, name func(goroutine int) string) *lateness {
	t.Helper()
	const goroutines = 128
	late, failed := new(lateness), make(chan error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			l := c.Lock(name(g))
			for range calls / goroutines {
				if err := cancelOne(t.Context(), l, late); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	require.NoError(t, <-failed)
	return late
}

func cancelOne(parent context.Context, l *lock.Lock, late *lateness) error {
	ctx, cancelled, stop := cancelSoon(parent)
	defer stop()
	context.AfterFunc(ctx, func() {
		if at, was := cancelled(); was {
			late.noteLooker(time.Since(at))
		}
	})
	hold, err := l.Lock(ctx)
	now := time.Now()
	if err == nil {
		err = hold.Unlock(ctx)
		if errors.Is(err, lock.ErrDeferred) { // ctx had ended, and no answer came soon: it goes on, as awaitFree sees
			return nil
		}
		return err
	}
	at, was := cancelled()
	if !was || !errors.Is(err, context.Canceled) {
		return fmt.Errorf("not a cancel: %w", err)
	}
	late.note(now.Sub(at))
	return nil
}

func TestCancelledAcquiresLeaveNoLockBehind(t *testing.T) {
	t.Parallel()
	calls := redistest.Count(t, 3_200, 102_400)
	for _, of := range []struct {
		title string
		names int
		opts  []rueidisson.Option
	}{
		{"each goroutine its own lock", 128, nil},
		{"all of them one lock", 1, nil},
		{"all of them one lock without hand-over", 1, []rueidisson.Option{rueidisson.WithHandover(0, 0)}},
	} {
		t.Run(of.title, func(t *testing.T) {
			server := redistest.Shared(t)
			raw, c := server.Client(t), locktest.Open(t, server.Addr(), of.opts...)
			names := make([]string, of.names)
			for i := range names {
				names[i] = redistest.Name(t)
			}
			late := storm(t, c, calls, func(g int) string { return names[g%len(names)] })
			late.check(t)
			awaitFree(t, raw, names...)
			for _, name := range names {
				hold := mustLock(t, c.Lock(name)) // and its queue is in order
				mustUnlock(t, hold)
			}
			for _, name := range names {
				awaitListeners(t, raw, name, 0)
			}
		})
	}
}

func TestCancelledWaitersOfSeveralClientsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	var all sync.WaitGroup
	calls := redistest.Count(t, 2_560, 102_400)
	for range 3 {
		c := locktest.Open(t, server.Addr())
		all.Go(func() { storm(t, c, calls, func(int) string { return name }) })
	}
	all.Wait()
	awaitFree(t, raw, name)
	awaitListeners(t, raw, name, 0)
}

// The same while requests and replies take long enough that the grace for an
// answer runs out too.
func TestCancelledAcquiresOverASlowConnectionAreGivenBack(t *testing.T) {
	t.Parallel()
	for _, slow := range []struct {
		title             string
		requests, replies time.Duration
	}{
		{"late requests", 200 * time.Millisecond, 0},
		{"late replies", 0, 200 * time.Millisecond},
	} {
		t.Run(slow.title, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			raw, c := server.Client(t), tap(t, server.Addr())
			names := []string{redistest.Name(t), redistest.Name(t), redistest.Name(t)}
			c.proxy.Delay(slow.requests, slow.replies)
			late := storm(t, c.Client, redistest.Count(t, 128*10, 128*100), func(g int) string { return names[g%len(names)] })
			late.check(t)
			c.proxy.Delay(0, 0)
			awaitFree(t, raw, names...)
			for _, name := range names {
				mustUnlock(t, mustLock(t, c.Lock(name)))
			}
		})
	}
}

func TestACancelledAcquireDoesNotWaitForASilentServer(t *testing.T) {
	t.Parallel()
	for _, silent := range []struct {
		title string
		fall  func(*testing.T, tapped)
	}{
		{"nothing arrives", func(_ *testing.T, c tapped) { c.proxy.BlackHole() }},
		{"everything arrives and no reply comes", func(t *testing.T, c tapped) {
			c.proxy.DropReply(scriptNamed(t, "acquire"), 1<<20, redistest.Silent())
		}},
	} {
		t.Run(silent.title, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			raw, c := server.Client(t), tap(t, server.Addr())
			names := make([]string, 64)
			for i := range names {
				names[i] = redistest.Name(t)
			}
			silent.fall(t, c)
			late := new(lateness)
			var all sync.WaitGroup
			for _, name := range names {
				all.Go(func() {
					if err := cancelOne(t.Context(), c.Lock(name), late); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			all.Wait()
			late.check(t)
			c.proxy.Restore()
			awaitFree(t, raw, names...)
		})
	}
}

// What arrives only after the cancelled call has returned, and after it was
// given back, takes nothing.
func TestAnAcquireThatArrivesAfterItsCancelTakesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, c := server.Client(t), tap(t, server.Addr())
	name := redistest.Name(t)
	held := c.proxy.HoldRequest(redistest.All(scriptNamed(t, "acquire"), redistest.Arg(name)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := start(ctx, c.Lock(name))
	held.Await(t)
	cancel()
	r := await(t, waiting)
	require.ErrorIs(t, r.err, context.Canceled)
	c.proxy.CutAll() // the connection that the request is stuck on, as the client sees it
	c.seen.await(t, "script bury", 1)
	held.Release()
	require.False(t, exists(t, raw, name))
	mustUnlock(t, mustLock(t, c.Lock(name)))
}

// It does not run beside others, so that the goroutines are its own.
func TestACancelledWaitLeavesNoGoroutineAndNoSubscription(t *testing.T) {
	server := redistest.Start(t)
	raw, name := server.Client(t), redistest.Name(t)
	hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
	c := locktest.Open(t, server.Addr())
	cancelWait := func() {
		ctx, cancel := context.WithCancel(t.Context())
		waiting := startMany(ctx, c.Lock(name), 20)
		awaitListeners(t, raw, name, 1)
		cancel()
		for range 20 {
			require.ErrorIs(t, await(t, waiting).err, context.Canceled)
		}
		awaitListeners(t, raw, name, 0) // it lingers for a moment
	}
	cancelWait() // starts what stays
	before := goleak.IgnoreCurrent()
	for range 2 {
		cancelWait()
	}
	const pipe = "github.com/redis/rueidis.(*pipe)." // its pooled connections, which it opens when it likes
	leaked := func() error {
		return goleak.Find(before, goleak.IgnoreAnyFunction(pipe+"_backgroundRead"), goleak.IgnoreAnyFunction(pipe+"_backgroundWrite"))
	}
	require.Eventually(t, func() bool { return leaked() == nil }, soon, glance, "%v", leaked())
	mustUnlock(t, hold)
	require.False(t, exists(t, raw, name))
	require.Zero(t, listeners(t, raw, name))
	reply, err := raw.Do(t.Context(), raw.B().PubsubChannels().Pattern(keys.LockChannel(name)).Build()).AsStrSlice()
	require.NoError(t, err)
	require.Empty(t, reply)
}

var errTired = errors.New("tired of waiting")

func TestAnEndedWaitTellsTheContextsErrorAndItsCause(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	holder, other := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	mustLock(t, holder.Lock(name))
	ends := []struct {
		title string
		end   func(context.Context) (context.Context, context.CancelFunc)
		want  []error
	}{
		{"cancel", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		}, []error{context.Canceled}},
		{"cancel with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(20*time.Millisecond, func() { cancel(errTired) })
			return ctx, func() { cancel(nil) }
		}, []error{context.Canceled, errTired}},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		}, []error{context.DeadlineExceeded}},
		{"deadline with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 20*time.Millisecond, errTired)
		}, []error{context.DeadlineExceeded, errTired}},
		{"over before it began", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(errTired)
			return ctx, func() {}
		}, []error{context.Canceled, errTired}},
	}
	for _, c := range []struct {
		title  string
		client *rueidisson.Client
	}{{"as head", other}, {"in the local queue", holder}} {
		for _, of := range ends {
			t.Run(c.title+" "+of.title, func(t *testing.T) {
				t.Parallel()
				calls := []func(context.Context) (*lock.Hold, error){
					func(ctx context.Context) (*lock.Hold, error) { return c.client.Lock(name).Lock(ctx) },
					func(ctx context.Context) (*lock.Hold, error) {
						return c.client.Lock(name).TryLock(ctx, lock.WithWait(time.Hour))
					},
				}
				for _, call := range calls {
					ctx, cancel := of.end(t.Context())
					_, err := call(ctx)
					cancel()
					for _, want := range of.want {
						require.ErrorIs(t, err, want)
					}
					require.NotErrorIs(t, err, lock.ErrNotAcquired, "the caller gave up, not the wait")
					require.ErrorContains(t, err, name)
				}
			})
		}
	}
}

func TestTryLockWaitsForAsLongAsItWasTold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	holder, other := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	hold := mustLock(t, holder.Lock(name))
	for title, c := range map[string]*rueidisson.Client{"as head": other, "in the local queue": holder} {
		const wait = time.Second // an answer that comes much later is a fault
		began := time.Now()
		_, err := c.Lock(name).TryLock(t.Context(), lock.WithWait(wait))
		require.ErrorIs(t, err, lock.ErrNotAcquired, title)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "it is an answer, not a fault")
		require.GreaterOrEqual(t, time.Since(began), wait, title)
		_, err = c.Lock(name).TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrNotAcquired, title)
	}
	waiting := make(chan result, 2)
	for _, c := range []*rueidisson.Client{other, holder} {
		go func() { // ends with the lock
			h, err := c.Lock(name).TryLock(t.Context(), lock.WithWait(patience))
			if err == nil {
				err = h.Unlock(t.Context())
			}
			waiting <- result{err: err}
		}()
	}
	mustUnlock(t, hold)
	require.NoError(t, await(t, waiting).err)
	require.NoError(t, await(t, waiting).err)
}

func TestTryLockTakesAFreeLockHoweverShortTheWait(t *testing.T) {
	t.Parallel()
	c := tap(t, redistest.Shared(t).Addr())
	c.proxy.Delay(5*time.Millisecond, 5*time.Millisecond)
	for _, wait := range []time.Duration{0, time.Nanosecond, time.Millisecond} {
		redistest.Eventually(t, func() bool { // where the answer takes longer than the grace, it is a fault
			hold, err := c.Lock(redistest.Name(t)).TryLock(t.Context(), lock.WithWait(wait))
			if err != nil {
				assert.ErrorIs(t, err, context.DeadlineExceeded, "wait %v", wait)
				return false
			}
			return assert.NoError(t, hold.Unlock(t.Context()))
		}, patience, glance, "wait %v", wait)
	}
}

func TestTryLockInsideTheProcessAsksNobody(t *testing.T) {
	t.Parallel()
	c := tap(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	hold := mustLock(t, c.Lock(name))
	c.reset()
	_, err := c.Lock(name).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.Empty(t, sent(c.proxy))
	mustUnlock(t, hold)
}
