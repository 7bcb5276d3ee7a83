package semaphore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// withoutHandOver has every release go to the server.
func withoutHandOver(c *engine.Config) { c.Handovers, c.HandoverTime = 0, 0 }

// forEver bounds hand-overs by their number only.
func forEver(c *engine.Config) { c.HandoverTime = time.Hour }

func TestThoseWhoWaitAreServedInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*engine.Config){"by the server": withoutHandOver, "by hand-over": forEver} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, change).set(1)
			r.take(1)
			var all []<-chan error
			for i := range 8 {
				all = append(all, r.acquiring(t.Context(), 1))
				r.waiting(i + 1)
			}
			for i, done := range all {
				r.give(1)
				got(t, done)
				for _, later := range all[i+1:] {
					require.Empty(t, later)
				}
			}
			require.Zero(t, r.free())
		})
	}
}

func TestALargeRequestIsNotStarvedByTheSmallOnesBehindIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, forEver).set(3)
	r.take(3)
	large := r.acquiring(t.Context(), 3)
	r.waiting(1)
	small := r.acquiring(t.Context(), 1)
	r.waiting(2)
	for range 2 {
		r.give(1)
		r.refused(1) // nobody of this process overtakes, whoever asks
		still(t, small)
	}
	require.EqualValues(t, 2, r.free())
	other := r.beside()
	other.take(1) // others do: the server knows no waiters
	other.give(1)
	r.give(1)
	got(t, large)
	still(t, small)
	r.give(1)
	got(t, small)
}

func TestPermitsGoOverWithoutACall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), forEver).set(3)
	r.take(3)
	two, three := r.acquiring(t.Context(), 1), make([]<-chan error, 0)
	r.waiting(1)
	for i := range 3 {
		three = append(three, r.acquiring(t.Context(), 1))
		r.waiting(i + 2)
	}
	before := server.ScriptCalls(t)
	r.give(1)
	got(t, two)
	r.give(1)
	got(t, three[0])
	r.give(1)
	got(t, three[1])
	require.Equal(t, before, server.ScriptCalls(t))
	require.Zero(t, r.free(), "on the server they stay taken")
	r.give(1)
	got(t, three[2])
	require.Equal(t, before, server.ScriptCalls(t))
	r.give(3)
	require.EqualValues(t, 3, r.free())
}

func TestHandOversAreBounded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), func(c *engine.Config) { c.Handovers, c.HandoverTime = 2, time.Hour }).set(1)
	r.take(1)
	var all []<-chan error
	for i := range 6 {
		all = append(all, r.acquiring(t.Context(), 1))
		r.waiting(i + 1)
	}
	before := server.ScriptCalls(t)
	for i := range 2 {
		r.give(1)
		got(t, all[i])
	}
	require.Equal(t, before, server.ScriptCalls(t))
	r.give(1)
	got(t, all[2])
	require.EqualValues(t, before+2, server.ScriptCalls(t), "a release and an acquire")
}

func TestOneMessageCostsOneCallHoweverManyWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).set(1)
	r.take(1)
	var all []<-chan error
	for i := range 50 {
		all = append(all, r.acquiring(t.Context(), int64(1+i/10)))
		r.waiting(i + 1)
	}
	other := r.beside()
	before := server.ScriptCalls(t)
	other.give(150)
	for _, done := range all {
		got(t, done)
	}
	require.LessOrEqual(t, server.ScriptCalls(t)-before, int64(1+1), "a release, and an acquire for all")
	require.Zero(t, r.free())
}

func TestMessagesOfNothingAreIgnored(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).set(1)
	r.take(1)
	done := r.acquiring(t.Context(), 1)
	r.waiting(1)
	before := server.ScriptCalls(t)
	for _, payload := range []string{"0", "-3", "x", ""} {
		r.do("PUBLISH", r.of.channel, payload)
	}
	still(t, done)
	require.Equal(t, before, server.ScriptCalls(t))
	r.do("SET", r.of.key, "1")
	r.do("PUBLISH", r.of.channel, "1")
	got(t, done)
}

func TestAWaiterThatLeavesTakesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, forEver).set(1)
	r.take(1)
	ctx, leave := context.WithCancel(t.Context())
	first := r.acquiring(ctx, 1)
	r.waiting(1)
	second := r.acquiring(ctx, 1)
	r.waiting(2)
	third := r.acquiring(t.Context(), 1)
	r.waiting(3)
	leave()
	require.ErrorIs(t, <-first, context.Canceled)
	require.ErrorIs(t, <-second, context.Canceled)
	r.give(1)
	got(t, third)
	r.give(1)
	require.EqualValues(t, 1, r.free())
}

func TestWaitsEndWithTheClient(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	e, err := engine.New(t.Context(), server.Client(t), engine.Config{ClientID: "285475da-9152-4c83-822a-67ee2f116a79", WatchdogTimeout: time.Minute})
	require.NoError(t, err)
	s := New(e, name)
	require.NoError(t, s.SetPermits(t.Context(), 2))
	require.NoError(t, s.TryAcquire(t.Context(), 2))
	var waits sync.WaitGroup
	for range 10 {
		waits.Go(func() { assert.ErrorIs(t, s.Acquire(t.Context(), 1), ErrClosed) })
	}
	require.Eventually(t, func() bool { return s.h.waiting.Load() == 10 }, soon, time.Millisecond)
	require.NoError(t, e.Close(t.Context()))
	waits.Wait()
	require.ErrorIs(t, s.TryAcquire(t.Context(), 1), ErrClosed)
	require.ErrorIs(t, s.Release(t.Context(), 1), ErrClosed)
	require.ErrorIs(t, s.SetPermits(t.Context(), 1), ErrClosed)
}

// TestCancelledAcquiresLeaveNothingTaken: whoever leaves, and whatever its
// request was about to win, in the end every permit is there.
func TestCancelledAcquiresLeaveNothingTaken(t *testing.T) {
	t.Parallel()
	const permits, clients, each = 6, 4, 16
	acquires := redistest.Count(t, 8_000, 50_000) / clients / each
	server := redistest.Shared(t)
	name := redistest.Name(t)
	var rigs []*rig
	for range clients {
		rigs = append(rigs, rigOn(t, server.Client(t), name))
	}
	rigs[0].set(permits)
	var all sync.WaitGroup
	for _, r := range rigs {
		for range each {
			all.Go(func() {
				for range acquires {
					n := 1 + rand.Int64N(3)
					ctx, cancel := context.WithTimeout(context.Background(), rand.N(3*time.Millisecond))
					var err error
					if rand.IntN(4) == 0 {
						err = r.TryAcquire(ctx, n, WithWait(rand.N(2*time.Millisecond)))
					} else {
						err = r.Acquire(ctx, n)
					}
					cancel()
					if err == nil {
						assert.NoError(t, r.Release(ctx, n))
					} else {
						assert.True(t, errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotAcquired), "%v", err)
					}
				}
			})
		}
	}
	all.Wait()
	rigs[0].awaitFree(permits)
	for _, r := range rigs {
		r.waiting(0)
	}
}

func TestNothingOfANameStaysBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 1000 {
		s := New(r.e, redistest.Name(t))
		require.NoError(t, s.SetPermits(t.Context(), 1))
		require.NoError(t, s.Acquire(t.Context(), 1))
		require.NoError(t, s.Release(t.Context(), 1))
		_, err := s.Delete(t.Context())
		require.NoError(t, err)
	}
	require.Zero(t, r.h.places.Len())
}

// TestNeverMoreAreHeldThanThereAre: from the return of an acquire to the call of
// its release, over four clients, with hand-overs and without.
func TestNeverMoreAreHeldThanThereAre(t *testing.T) {
	t.Parallel()
	const there, clients, each = 5, 4, 8
	rounds := redistest.Count(t, 100, 5_000)
	for name, change := range map[string]func(*engine.Config){"by the server": withoutHandOver, "by hand-over": forEver} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, name := redistest.Shared(t), redistest.Name(t)
			var held, most atomic.Int64
			var all sync.WaitGroup
			first := rigOn(t, server.Client(t), name, change).set(there)
			for i := range clients {
				r := first
				if i > 0 {
					r = rigOn(t, server.Client(t), name, change)
				}
				for range each {
					all.Go(func() {
						for range rounds {
							n := 1 + rand.Int64N(3)
							if !assert.NoError(t, r.Acquire(context.Background(), n)) {
								return
							}
							now := held.Add(n)
							for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
							}
							held.Add(-n)
							assert.NoError(t, r.Release(context.Background(), n))
						}
					})
				}
			}
			all.Wait()
			require.LessOrEqual(t, most.Load(), int64(there))
			require.Greater(t, most.Load(), int64(1), "they were held at the same time")
			first.awaitFree(there)
		})
	}
}
