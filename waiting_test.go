package rueidisson_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/redlock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/semaphore"
	"github.com/rueidisson/rueidisson/stream"
)

// process is the clients of a process: more than one, for what needs several.
type process [3]*rueidisson.Client

// waitable is an object that a caller waits for: what makes it busy, and a wait of
// at most that long; without an end, of as long as ctx lasts.
type waitable struct {
	hold    func(t *testing.T, p process, name string)
	wait    func(ctx context.Context, p process, name string, atMost time.Duration) error
	refused error // what a wait of at most so long says when it is over; nil: there is none
	sleeps  bool  // who waits asks once and then nobody: it is the asking that an outage meets
	once    bool  // what is asked is not sent again: an outage is a server that nobody can connect to
}

func waiterProcess(t *testing.T, addr string, opts ...rueidisson.Option) (p process) {
	t.Helper()
	for i := range p {
		p[i] = waiterClient(t, addr, opts...)
	}
	return p
}

// waiterClient closes in the end, whatever the holds.
func waiterClient(t *testing.T, addr string, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := redistest.Patient(func() (*rueidisson.Client, error) {
		return rueidisson.New(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true}, opts...)
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_ = c.Close(ctx) // of holds that are left to their leases
	})
	return c
}

// waitingFor waits for a locker.
func waitingFor(of func(p process, name string) lock.Locker) func(context.Context, process, string, time.Duration) error {
	return func(ctx context.Context, p process, name string, atMost time.Duration) error {
		if atMost == 0 {
			_, err := of(p, name).Lock(ctx)
			return err
		}
		_, err := of(p, name).TryLock(ctx, lock.WithWait(atMost))
		return err
	}
}

func holding(of func(p process, name string) lock.Locker) func(*testing.T, process, string) {
	return func(t *testing.T, p process, name string) {
		t.Helper()
		_, err := of(p, name).Lock(t.Context())
		require.NoError(t, err)
	}
}

func lockable(of func(p process, name string) lock.Locker) waitable {
	return waitable{hold: holding(of), wait: waitingFor(of), refused: lock.ErrNotAcquired}
}

// awaited is a waitable whose waits end with their contexts.
func awaited(hold func(ctx context.Context, p process, name string) error, wait func(ctx context.Context, p process, name string) error) waitable {
	return waitable{
		hold: func(t *testing.T, p process, name string) {
			t.Helper()
			require.NoError(t, hold(t.Context(), p, name))
		},
		wait: func(ctx context.Context, p process, name string, _ time.Duration) error { return wait(ctx, p, name) },
	}
}

// taking is an empty queue.
func taking(take func(ctx context.Context, p process, name string) error) waitable {
	return awaited(func(context.Context, process, string) error { return nil }, take)
}

// waitables is every object that a caller waits for.
var waitables = map[string]waitable{
	"lock":   lockable(func(p process, name string) lock.Locker { return p[0].Lock(name) }),
	"fenced": lockable(func(p process, name string) lock.Locker { return p[0].FencedLock(name) }),
	"fair":   lockable(func(p process, name string) lock.Locker { return p[0].FairLock(name) }),
	"write":  lockable(func(p process, name string) lock.Locker { return p[0].RWLock(name).Write() }),
	"read": {
		hold:    holding(func(p process, name string) lock.Locker { return p[0].RWLock(name).Write() }),
		wait:    waitingFor(func(p process, name string) lock.Locker { return p[0].RWLock(name).Read() }),
		refused: lock.ErrNotAcquired,
	},
	"group": lockable(func(p process, name string) lock.Locker { return p[0].LockGroup(name).Of("value") }),
	"multi": lockable(func(p process, name string) lock.Locker {
		return p[0].MultiLock(p[0].Lock(name+"-1"), p[0].Lock(name+"-2"))
	}),
	"red": lockable(func(p process, name string) lock.Locker {
		return redlock.New(p[0].Lock(name+"-1"), p[1].Lock(name+"-2"), p[2].Lock(name+"-3")).With(redlock.WithRestartGuard(0))
	}),
	"semaphore": {
		hold: func(t *testing.T, p process, name string) {
			t.Helper()
			require.NoError(t, p[0].Semaphore(name).SetPermits(t.Context(), 0))
		},
		wait: func(ctx context.Context, p process, name string, atMost time.Duration) error {
			if atMost == 0 {
				return p[0].Semaphore(name).Acquire(ctx, 1)
			}
			return p[0].Semaphore(name).TryAcquire(ctx, 1, semaphore.WithWait(atMost))
		},
		refused: semaphore.ErrNotAcquired,
	},
	"permits": {
		hold: func(t *testing.T, p process, name string) {
			t.Helper()
			s := p[0].PermitSemaphore(name)
			require.NoError(t, s.SetPermits(t.Context(), 1))
			_, err := s.Acquire(t.Context())
			require.NoError(t, err)
		},
		wait: func(ctx context.Context, p process, name string, atMost time.Duration) (err error) {
			if atMost == 0 {
				_, err = p[0].PermitSemaphore(name).Acquire(ctx)
			} else {
				_, err = p[0].PermitSemaphore(name).TryAcquire(ctx, semaphore.WithWait(atMost))
			}
			return err
		},
		refused: semaphore.ErrNotAcquired,
	},
	"latch": awaited(func(ctx context.Context, p process, name string) error {
		_, err := p[0].Latch(name).TrySetCount(ctx, 1)
		return err
	}, func(ctx context.Context, p process, name string) error { return p[0].Latch(name).Await(ctx) }),
	"barrier": taking(func(ctx context.Context, p process, name string) error {
		_, err := p[0].Barrier(name, 100).Await(ctx)
		return err
	}),
	"bounded queue": {
		hold: func(t *testing.T, p process, name string) {
			t.Helper()
			q := queue.NewBounded[string](p[0], name)
			_, err := q.TrySetCapacity(t.Context(), 1)
			require.NoError(t, err)
			_, err = q.Offer(t.Context(), "a")
			require.NoError(t, err)
		},
		wait: func(ctx context.Context, p process, name string, atMost time.Duration) (err error) {
			if atMost == 0 {
				_, err = queue.NewBounded[string](p[0], name).Offer(ctx, "b")
			} else {
				_, err = queue.NewBounded[string](p[0], name).TryOffer(ctx, "b", queue.WithWait(atMost))
			}
			return err
		},
		refused: queue.ErrFull, once: true,
	},
	"queue": taking(func(ctx context.Context, p process, name string) error {
		_, err := queue.New[string](p[0], name).Take(ctx)
		return err
	}),
	"priority queue": taking(func(ctx context.Context, p process, name string) error {
		_, err := queue.NewPriority[string](p[0], name).Take(ctx)
		return err
	}),
	"delayed queue": taking(func(ctx context.Context, p process, name string) error {
		_, err := queue.NewDelayed[string](p[0], name).Take(ctx)
		return err
	}),
	"reliable queue": taking(func(ctx context.Context, p process, name string) error {
		_, err := reliable.New[string](p[0], name).Receive(ctx)
		return err
	}),
	"job result": {
		hold: func(*testing.T, process, string) {},
		wait: func(ctx context.Context, p process, name string, _ time.Duration) error {
			q := reliable.New[string](p[0], name)
			id, err := q.Add(ctx, "job")
			if err == nil {
				_, err = q.Await(ctx, id)
			}
			return err
		},
		once: true,
	},
	"stream": awaited(func(ctx context.Context, p process, name string) error {
		_, err := stream.New[string, string](p[0], name).Group("g").Create(ctx, stream.FromStart)
		return err
	}, func(ctx context.Context, p process, name string) error {
		for _, err := range stream.New[string, string](p[0], name).Group("g").Consume(ctx, "c") {
			return err
		}
		return nil
	}),
	"limiter": {
		hold: func(t *testing.T, p process, name string) {
			t.Helper()
			require.NoError(t, p[0].RateLimiter(name).SetRate(t.Context(), ratelimiter.PerHour(1)))
			require.NoError(t, p[0].RateLimiter(name).Wait(t.Context()))
		},
		wait: func(ctx context.Context, p process, name string, _ time.Duration) error {
			return p[0].RateLimiter(name).Wait(ctx)
		},
		sleeps: true,
	},
	"loader": {
		hold: func(t *testing.T, p process, name string) {
			t.Helper()
			began := make(chan struct{})
			slow := readthrough.New(rmap.New[string, string](p[0], name), func(ctx context.Context, _ string) (string, bool, error) {
				close(began)
				<-ctx.Done()
				return "", false, ctx.Err()
			})
			ctx, cancel := context.WithCancel(context.Background())
			t.Cleanup(cancel)
			go func() { _, _, _ = slow.Get(ctx, "k") }() // ends with ctx
			<-began
		},
		wait: func(ctx context.Context, p process, name string, _ time.Duration) error {
			l := readthrough.New(rmap.New[string, string](p[0], name), func(context.Context, string) (string, bool, error) {
				return "", false, errors.New("another loads it")
			})
			_, _, err := l.Get(ctx, "k")
			return err
		},
	},
}

// TestAnOutageIsToldToAllWhoWaitTogether: each would else begin a clock of its own
// when the one before it gives up.
func TestAnOutageIsToldToAllWhoWaitTogether(t *testing.T) {
	t.Parallel()
	const waiters, timeout = 5, 2 * time.Second
	redistest.AtOnce(t, waitables, func(t *testing.T, of waitable) {
		redistest.Within(t, 2*timeout, func() time.Duration { // one after the other they would take four times that
			longest := time.Duration(0)
			server := redistest.Shared(t)
			proxy := redistest.NewProxy(t, server.Addr())
			key := redistest.Name(t)
			of.hold(t, waiterProcess(t, server.Addr()), key)
			p := waiterProcess(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(timeout))
			if of.refused != nil {
				redistest.Eventually(t, func() bool { // a busy machine may take longer than the sends of so short a timeout
					return errors.Is(of.wait(t.Context(), p, key, 2*time.Second), of.refused)
				}, redistest.Soon, time.Millisecond, "the server is not heard to refuse")
			}
			if of.sleeps {
				proxy.BlackHole()
			}
			told := make(chan error, waiters)
			for range waiters {
				go func() { told <- of.wait(t.Context(), p, key, 0) }() // ends with the outage
			}
			time.Sleep(500 * time.Millisecond) // they wait by then, and it does not matter if one does not
			if of.once {
				proxy.Refuse()
				proxy.CutAll()
			} else {
				proxy.BlackHole()
			}
			require.Error(t, <-told)
			first := time.Now()
			for range waiters - 1 {
				require.Error(t, <-told)
			}
			longest = max(longest, time.Since(first))
			proxy.Restore()
			proxy.Accept()
			return longest
		})
	})
}

// TestAWaitOnASilentServerIsNoAnswer: nobody was told that it is held.
func TestAWaitOnASilentServerIsNoAnswer(t *testing.T) {
	t.Parallel()
	bounded := maps.Clone(waitables)
	maps.DeleteFunc(bounded, func(_ string, of waitable) bool { return of.refused == nil }) // their waits end with their contexts, which is no answer either
	redistest.AtOnce(t, bounded, func(t *testing.T, of waitable) {
		proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
		p, key := waiterProcess(t, proxy.Addr()), redistest.Name(t)
		proxy.BlackHole()
		told := make(chan error, 3)
		for range cap(told) {
			go func() { told <- of.wait(t.Context(), p, key, 500*time.Millisecond) }() // ends by its own bound
		}
		for range cap(told) {
			err := <-told
			require.Error(t, err)
			require.NotErrorIs(t, err, of.refused)
		}
		proxy.Restore()
	})
}

// TestAWaitThatItsContextEndsInAnOutageSaysSo: the error of each waiter of a process is ctx's, and says why the server was
// not reached.
func TestAWaitThatItsContextEndsInAnOutageSaysSo(t *testing.T) {
	t.Parallel()
	waits := maps.Clone(waitables)
	maps.DeleteFunc(waits, func(name string, of waitable) bool { return of.sleeps || name == "loader" }) // they do not wait for a server
	redistest.AtOnce(t, waits, func(t *testing.T, of waitable) {
		server := redistest.Shared(t)
		proxy := redistest.NewProxy(t, server.Addr())
		key := redistest.Name(t)
		of.hold(t, waiterProcess(t, server.Addr()), key)
		lasts := pace.Scale(20 * time.Second)
		p := waiterProcess(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(lasts*3/2)) // which a wait bears an outage for
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		told := make(chan error, 3)
		for range cap(told) {
			go func() {
				err := of.wait(ctx, p, key, 0) // ends with ctx
				for of.once && errors.Is(err, rueidisson.ErrOutcomeUnknown) {
					err = of.wait(ctx, p, key, 0) // the cut met a question that runs once
				}
				told <- err
			}()
		}
		time.Sleep(500 * time.Millisecond) // they wait by then, and it does not matter if one does not
		proxy.Refuse()
		proxy.CutAll()
		for range cap(told) {
			err := <-told
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorIs(t, err, rueidisson.ErrUnreached)
		}
		proxy.Accept()
	})
}
