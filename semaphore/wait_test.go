package semaphore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// withoutHandOver has every release go to the server.
func withoutHandOver(c *core.Config) { c.Handovers, c.HandoverTime = 0, 0 }

// forEver bounds hand-overs by their number only.
func forEver(c *core.Config) { c.HandoverTime = time.Hour }

func TestThoseWhoWaitAreServedInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Config){"by the server": withoutHandOver, "by hand-over": forEver} {
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
		redistest.Waits(t, small)
	}
	require.EqualValues(t, 2, r.free())
	other := r.beside()
	other.take(1) // others do: the server knows no waiters
	other.give(1)
	r.give(1)
	got(t, large)
	redistest.Waits(t, small)
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

// known has the server know the scripts, so that each call is one.
func (r *rig) known() *rig {
	r.T.Helper()
	for _, s := range []*scripts.Script{takeScript, giveScript, moveScript} {
		r.Ask("SCRIPT", "LOAD", s.Body())
	}
	return r
}

func TestHandOversAreBounded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), func(c *core.Config) { c.Handovers, c.HandoverTime = 2, time.Hour }).known().set(1)
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

// TestEachPermitThatTheServerGrantsMayBeHandedOverAsOften: a crowd with many permits
// asks no more often than one with a single one.
func TestEachPermitThatTheServerGrantsMayBeHandedOverAsOften(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), func(c *core.Config) { c.Handovers, c.HandoverTime = 2, time.Hour }).known().set(3)
	r.take(3)
	var all []<-chan error
	for i := range 10 {
		all = append(all, r.acquiring(t.Context(), 1))
		r.waiting(i + 1)
	}
	r.Ask("INCRBY", r.of.key, "3")
	r.Ask("PUBLISH", r.of.channel, "3")
	for i := range 3 {
		got(t, all[i])
	}
	before := server.ScriptCalls(t)
	for i := range 6 {
		r.give(1)
		got(t, all[3+i])
	}
	require.Equal(t, before, server.ScriptCalls(t))
	r.give(1)
	got(t, all[9])
	require.EqualValues(t, before+2, server.ScriptCalls(t))
}

// TestWhatACrowdWasGrantedCountsNoMoreWhenNobodyWaits.
func TestWhatACrowdWasGrantedCountsNoMoreWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), func(c *core.Config) { c.Handovers, c.HandoverTime = 2, time.Hour }).known().set(3)
	r.take(3)
	crowd := func(n int) (all []<-chan error) {
		for i := range n {
			all = append(all, r.acquiring(t.Context(), 1))
			r.waiting(i + 1)
		}
		return all
	}
	p := r.h.places.Get(r.of.key) // as who gives permits back does
	defer r.h.places.Put(r.of.key, p)
	first := crowd(3)
	r.Ask("INCRBY", r.of.key, "3")
	r.Ask("PUBLISH", r.of.channel, "3")
	for _, done := range first {
		got(t, done)
	}
	r.waiting(0)
	require.Same(t, p, r.h.places.Get(r.of.key))
	r.h.places.Put(r.of.key, p)
	second := crowd(3)
	before := server.ScriptCalls(t)
	for i := range 2 {
		r.give(1)
		got(t, second[i])
	}
	require.Equal(t, before, server.ScriptCalls(t))
	r.give(1)
	got(t, second[2])
	require.EqualValues(t, before+2, server.ScriptCalls(t), "a release and an acquire")
}

func TestOneMessageCostsOneCallHoweverManyWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).known().set(1)
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
		r.Ask("PUBLISH", r.of.channel, payload)
	}
	redistest.Waits(t, done)
	require.Equal(t, before, server.ScriptCalls(t))
	r.Ask("SET", r.of.key, "1")
	r.Ask("PUBLISH", r.of.channel, "1")
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
	e, err := locking.New(t.Context(), server.Client(t), core.Config{ClientID: "285475da-9152-4c83-822a-67ee2f116a79", WatchdogTimeout: time.Minute})
	require.NoError(t, err)
	s := New(e, name)
	require.NoError(t, s.SetPermits(t.Context(), 2))
	require.NoError(t, s.TryAcquire(t.Context(), 2))
	var waits sync.WaitGroup
	for range 10 {
		waits.Go(func() { assert.ErrorIs(t, s.Acquire(t.Context(), 1), ErrClosed) })
	}
	require.Eventually(t, func() bool { return s.h.waiting.Load() == 10 }, soon, time.Millisecond)
	require.NoError(t, locking.Close(t.Context(), e))
	waits.Wait()
	require.ErrorIs(t, s.TryAcquire(t.Context(), 1), ErrClosed)
	require.ErrorIs(t, s.Release(t.Context(), 1), ErrClosed)
	require.ErrorIs(t, s.SetPermits(t.Context(), 1), ErrClosed)
}

// TestWhatIsGrantedWhileTheClientClosesGoesBack: nobody could release it any more.
func TestWhatIsGrantedWhileTheClientClosesGoesBack(t *testing.T) {
	t.Parallel()
	ending, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for name, c := range map[string]struct {
		ask     func(r *rig) error
		callers int
	}{
		"waits":                        {func(r *rig) error { return r.Acquire(context.Background(), 1) }, 10},
		"a wait alone":                 {func(r *rig) error { return r.Acquire(context.Background(), 1) }, 1},
		"a wait for a while":           {func(r *rig) error { return r.TryAcquire(context.Background(), 1, WithWait(soon)) }, 1},
		"tries":                        {func(r *rig) error { return r.TryAcquire(context.Background(), 1) }, 3},
		"a try alone":                  {func(r *rig) error { return r.TryAcquire(context.Background(), 1) }, 1},
		"a try with a context to heed": {func(r *rig) error { return r.TryAcquire(ending, 1) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faulty(t)
			r.set(10)
			r.take(1)
			r.give(1)
			held := proxy.HoldRequest(r.sent(takeScript))
			done, closed := make(chan error, c.callers), make(chan error, 1)
			for range c.callers {
				go func() { done <- c.ask(r) }() // ends when the client closes
			}
			held.Await(t)
			go func() { closed <- locking.Close(context.Background(), r.E) }() // ends with those
			<-r.E.Closing()
			held.Release()
			for range c.callers {
				require.ErrorIs(t, redistest.Done(t, done), ErrClosed)
			}
			require.NoError(t, redistest.Done(t, closed))
			require.EqualValues(t, 10, r.free())
		})
	}
}

// TestClosingWakesThoseBehindTheHead, whom a silent server does not answer.
func TestClosingWakesThoseBehindTheHead(t *testing.T) {
	t.Parallel()
	r, proxy := faulty(t)
	r.set(1)
	r.take(1)
	head := r.acquiring(t.Context(), 1)
	r.waiting(1)
	behind := make(chan error, 10)
	for range cap(behind) {
		go func() { behind <- r.Acquire(context.Background(), 1) }() // ends when the client closes
	}
	r.waiting(1 + cap(behind))
	held := proxy.HoldRequest(r.sent(takeScript))
	r.Ask("PUBLISH", r.of.channel, "1")
	held.Await(t)
	closed := make(chan error, 1)
	go func() { closed <- locking.Close(context.Background(), r.E) }() // ends with the head
	for range cap(behind) {
		require.ErrorIs(t, redistest.Done(t, behind), ErrClosed)
	}
	late := make(chan error, 1)
	go func() { late <- r.h.acquire(context.Background(), r.of, 1) }() // had found the client open
	require.ErrorIs(t, redistest.Done(t, late), ErrClosed)
	require.Empty(t, head, "its request is under way")
	held.Release()
	require.ErrorIs(t, redistest.Done(t, head), ErrClosed)
	require.NoError(t, redistest.Done(t, closed))
}

// TestCancelledAcquiresLeaveNothingTaken: whoever leaves, and whatever its
// request was about to win, in the end every permit is there. Over four
// processes, which are there still.
func TestCancelledAcquiresLeaveNothingTaken(t *testing.T) {
	t.Parallel()
	const permits, processes = 6, 4
	acquires := redistest.Count(t, 8_000, 50_000)
	server := redistest.Shared(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).set(permits)
	var granted, ended int
	var children []*redistest.Child
	for range processes {
		children = append(children, redistest.StartChild(t, "hasty",
			"SEM_ADDR="+server.Addr(), "SEM_NAME="+r.of.key, "SEM_ACQUIRES="+strconv.Itoa(acquires/processes)))
	}
	for _, c := range children {
		line, ok := c.AwaitFor("", soon*time.Duration(1+acquires/8_000))
		require.True(t, ok, "it is not done")
		var had, left int
		_, err := fmt.Sscanf(line, "granted %d ended %d", &had, &left)
		require.NoError(t, err, line)
		granted, ended = granted+had, ended+left
	}
	r.awaitFree(permits)
	require.NotZero(t, granted)
	require.NotZero(t, ended)
}

// hasty is a process whose goroutines wait for permits, for a moment each.
func hasty(p *redistest.Parent) {
	const goroutines = 16
	acquires, _ := strconv.Atoi(os.Getenv("SEM_ACQUIRES"))
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("SEM_ADDR")}, DisableCache: true})
	if err != nil {
		p.Say("%v", err)
		return
	}
	e, err := locking.New(context.Background(), c, core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Handovers: 256, HandoverTime: 10 * time.Millisecond, Linger: time.Second,
	})
	if err != nil {
		p.Say("%v", err)
		return
	}
	s := New(e, os.Getenv("SEM_NAME"))
	var granted, ended atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range acquires / goroutines {
				n := 1 + rand.Int64N(3)
				switch err := acquireInHaste(s, n); {
				case err == nil:
					if err := s.Release(context.Background(), n); err != nil {
						p.Say("%v", err)
					}
					granted.Add(1)
				case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotAcquired):
					ended.Add(1)
				default:
					p.Say("%v", err)
				}
			}
		})
	}
	all.Wait()
	if n := s.h.waiting.Load(); n != 0 {
		p.Say("%d are counted as waiting", n)
	}
	p.Say("granted %d ended %d", granted.Load(), ended.Load())
	p.Hear() // until the test is done: nothing is given back by an end of the process
}

func acquireInHaste(s *Semaphore, n int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), rand.N(3*time.Millisecond))
	defer cancel()
	if rand.IntN(4) == 0 {
		return s.TryAcquire(ctx, n, WithWait(rand.N(2*time.Millisecond)))
	}
	return s.Acquire(ctx, n)
}

// Not parallel: what other tests hold would be counted.
func TestNothingOfANameStaysBehind(t *testing.T) {
	r, name := newRig(t), redistest.Name(t)
	redistest.NothingStays(t, func(i int) error {
		ctx, s := context.Background(), New(r.E, name+strconv.Itoa(i))
		err := errors.Join(s.SetPermits(ctx, 1), s.Acquire(ctx, 1), s.Release(ctx, 1))
		_, gone := s.Delete(ctx)
		return errors.Join(err, gone)
	})
	require.Zero(t, r.h.places.Len())
}

// TestNeverMoreAreHeldThanThereAre: from the return of an acquire to the call of
// its release, over four clients, with hand-overs and without.
func TestNeverMoreAreHeldThanThereAre(t *testing.T) {
	t.Parallel()
	const there, clients, each = 5, 4, 8
	rounds := redistest.Count(t, 100, 5_000)
	for name, change := range map[string]func(*core.Config){"by the server": withoutHandOver, "by hand-over": forEver} {
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
