package semaphore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// faultyPermits is a rig behind a proxy that loses replies.
func faultyPermits(t *testing.T, change ...func(*core.Config)) (*permitRig, *redistest.Proxy) {
	t.Helper()
	r, proxy := enginetest.FaultyRig(t, change...)
	return &permitRig{NewPermits(r.E, redistest.Name(t)), r}, proxy
}

func (r *permitRig) sent(s *scripts.Script) redistest.Match {
	return enginetest.SentFor(s, r.of.key)
}

// sentLeases is for scripts that know the leases only.
func (r *permitRig) sentLeases(s *scripts.Script) redistest.Match {
	return enginetest.SentFor(s, r.of.leases)
}

// TestALostReplyAboutPermitsCountsOnce drops the reply to each script once: it is
// sent again and finds its answer.
func TestALostReplyAboutPermitsCountsOnce(t *testing.T) {
	t.Parallel()
	renew := permitRenewal.Script
	for name, c := range map[string]struct {
		match      func(r *permitRig) redistest.Match
		do         func(ctx context.Context, r *permitRig, p *Permit) error
		free, held int64
	}{
		"acquire": {func(r *permitRig) redistest.Match { return r.sent(acquireScript) }, func(ctx context.Context, r *permitRig, _ *Permit) error {
			r.take()
			return nil
		}, 8, 2},
		"acquire and release": {func(r *permitRig) redistest.Match { return r.sent(acquireScript) }, func(ctx context.Context, r *permitRig, _ *Permit) error {
			r.give(r.take())
			return nil
		}, 9, 1},
		"release": {func(r *permitRig) redistest.Match { return r.sent(releaseScript) }, func(ctx context.Context, r *permitRig, p *Permit) error {
			return p.Release(ctx)
		}, 10, 0},
		"release by id": {func(r *permitRig) redistest.Match { return r.sent(exchangeScript) }, func(ctx context.Context, r *permitRig, p *Permit) error {
			return r.ReleaseID(ctx, p.ID())
		}, 10, 0},
		"extend": {func(r *permitRig) redistest.Match { return r.sentLeases(renew) }, func(ctx context.Context, r *permitRig, p *Permit) error {
			return p.Extend(ctx, time.Hour)
		}, 9, 1},
		"set": {func(r *permitRig) redistest.Match { return r.sent(alone[setHeld]) }, func(ctx context.Context, r *permitRig, _ *Permit) error {
			return r.SetPermits(ctx, 4)
		}, 3, 1},
		"add": {func(r *permitRig) redistest.Match { return r.sent(alone[addHeld]) }, func(ctx context.Context, r *permitRig, _ *Permit) error {
			return r.AddPermits(ctx, -4)
		}, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyPermits(t)
			p := r.set(10).take()
			lost := proxy.DropReply(c.match(r), 1)
			require.NoError(t, c.do(t.Context(), r, p))
			lost.Await(t)
			r.stands(c.free, c.held)
		})
	}
}

func TestALostReplyToADeleteOfPermitsSaysThatItWasThisCall(t *testing.T) {
	t.Parallel()
	r, proxy := faultyPermits(t)
	r.set(3)
	lost := proxy.DropReply(r.sent(alone[removeHeld]), 1)
	did, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, did)
	lost.Await(t)
	did, err = r.Delete(t.Context())
	require.NoError(t, err)
	require.False(t, did)
}

// TestALateSendTakesNoPermit: of an acquire that was refused, granted by a second
// send and given back, or whose caller gave up.
func TestALateSendTakesNoPermit(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"refused": true, "granted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyPermits(t, enginetest.ShortSends)
			r.set(1)
			if refused {
				r.Ask("SET", r.of.key, "0")
			}
			buried := proxy.Count(redistest.MatchScript(buryScript.Body()))
			held := proxy.HoldRequest(r.sent(acquireScript))
			if refused {
				r.refused()
			} else {
				r.give(r.take())
			}
			proxy.AwaitCount(t, redistest.MatchScript(buryScript.Body()), buried+1)
			require.Eventually(t, func() bool {
				msg := r.Ask("EXISTS", r.of.gone)
				n, _ := msg.AsInt64()
				return n == 1
			}, soon, time.Millisecond)
			r.Ask("SET", r.of.key, "1")
			held.Release()
			// One more acquire behind it, on the same server.
			r.give(r.take())
			r.awaitStands(1, 0)
		})
	}
}

// TestASilentServerGivesBackPermits: nobody knows what became of an acquire, or of
// a release, until the server answers again.
func TestASilentServerGivesBackPermits(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"acquire", "release", "release by id"} {
		for _, ran := range []bool{true, false} {
			t.Run(op+map[bool]string{true: ", that ran", false: ", that did not run"}[ran], func(t *testing.T) {
				t.Parallel()
				r, proxy := faultyPermits(t, enginetest.ShortSends)
				p := r.set(2).take(WithLease(time.Hour))
				script, do, left := acquireScript, func() error { _, err := r.TryAcquire(t.Context(), WithLease(time.Hour)); return err }, int64(1)
				switch op {
				case "release":
					script, do, left = releaseScript, func() error { return p.Release(t.Context()) }, 2
				case "release by id":
					script, do, left = exchangeScript, func() error { return r.ReleaseID(t.Context(), p.ID()) }, 2
				}
				restore := proxy.Silence(r.sent(script), ran)
				require.ErrorIs(t, do(), ErrOutcomeUnknown)
				restore()
				r.awaitStands(left, 2-left)
			})
		}
	}
}

// TestAFullServerTakesPermitsBack and renews them, and refuses who wants one.
func TestAFullServerTakesPermitsBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t), enginetest.ShortSends).set(3)
	p, q, kept := r.take(WithLease(time.Minute)), r.take(), r.take(WithLease(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	waits := r.acquiring(ctx)
	r.waiting(1)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	require.NoError(t, p.Extend(t.Context(), time.Hour))
	r.give(p)
	cancel()
	<-waits
	require.NoError(t, r.ReleaseID(t.Context(), kept.ID()))
	_, err := r.TryAcquire(t.Context())
	require.ErrorContains(t, err, "OOM")
	r.give(q)
	did, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, did)
}

// TestAReleaseOfAPermitThatIsRefusedForNowIsDoneLater: by a server that may not
// write.
func TestAReleaseOfAPermitThatIsRefusedForNowIsDoneLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t), enginetest.ShortSends).set(4)
	p, q := r.take(WithLease(time.Hour)), r.take(WithLease(time.Hour))
	some, err := r.AcquireN(t.Context(), 2)
	require.NoError(t, err)
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "1")
	for name, release := range map[string]func() error{
		"release":       func() error { return p.Release(t.Context()) },
		"release by id": func() error { return r.ReleaseID(t.Context(), q.ID()) },
		"release some":  func() error { return r.ReleaseN(t.Context(), some...) },
	} {
		err := release()
		require.ErrorContains(t, err, "NOREPLICAS", name)
		require.ErrorIs(t, err, ErrDeferred, name)
		require.NotErrorIs(t, err, ErrOutcomeUnknown, name)
	}
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "0")
	r.awaitStands(4, 0)
}

// TestALostMessageAboutPermits: the subscription is cut in the moment of the
// release, so that the waiter looks when it stands again, and need not wait for the
// cap.
func TestALostMessageAboutPermits(t *testing.T) {
	t.Parallel()
	r, proxy := faultyPermits(t, enginetest.NoLooks)
	other := permitRigOn(t, r.Raw, r.of.key)
	p := other.set(1).take(WithLease(time.Hour))
	done := r.acquiring(t.Context())
	r.waiting(1)
	proxy.BlackHole()
	other.give(p)
	proxy.CutAll()
	proxy.Restore()
	gotPermit(t, done)
}

func TestAPermitWhoseMessageNeverCameCostsAtMostTheCap(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 10*time.Second, func() time.Duration {
		longest := time.Duration(0)
		r := newPermitRig(t)
		p := r.set(1).take(WithLease(time.Hour))
		var all []<-chan acquired
		for i := range 3 {
			all = append(all, r.acquiring(t.Context()))
			r.waiting(1 + i)
		}
		r.Ask("ZREM", r.of.leases, raw(p.ID())) // and nobody is told
		r.Ask("SET", r.of.key, "3")
		began := time.Now()
		for _, done := range all {
			gotPermit(t, done)
			longest = max(longest, time.Since(began))
		}
		return longest
	})
}

// TestAWaitEndsWithTheFirstLease: no message tells of the end of a lease.
func TestAWaitEndsWithTheFirstLease(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(2)
	began := time.Now()
	r.take(WithLease(time.Hour))
	r.take(WithLease(700 * time.Millisecond))
	p := gotPermit(t, r.acquiring(t.Context()))
	require.GreaterOrEqual(t, time.Since(began), 700*time.Millisecond)
	require.NoError(t, p.Err())
	r.stands(0, 2)
}

// TestAFractionalScoreIsReadAndNotWritten: somebody left one.
func TestAFractionalScoreIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(2)
	r.Ask("SET", r.of.key, "1")
	ends := time.Now().Add(2 * time.Second).UnixMilli() // the machine may be busy
	r.Ask("ZADD", r.of.leases, decimal(ends)+".5", "0123456789abcdef")
	p := r.take()
	require.NoError(t, p.Extend(t.Context(), time.Hour))
	require.Len(t, r.list(), 2)
	q := gotPermit(t, r.acquiring(t.Context()))
	require.NoError(t, q.Err())
	msg := r.Ask("ZRANGE", r.of.leases, "0", "-1", "WITHSCORES")
	for _, one := range must(msg.ToArray()) {
		for _, text := range must(one.ToArray())[1:] {
			require.NotContains(t, must(text.ToString()), ".5")
		}
	}
	r.stands(0, 2)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestDeadPermitsComeBackWhenTheyAreNeeded, all of them at once.
func TestDeadPermitsComeBackWhenTheyAreNeeded(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(5_000)
	r.Ask("SET", r.of.key, "0")
	for n := range 5 {
		add := []string{"ZADD", r.of.leases}
		for k := range 1_000 {
			add = append(add, "1000", string(slices.Concat([]byte("0123456789ab"), []byte{byte(n), byte(k), byte(k >> 8), 0})))
		}
		r.Ask(add...)
	}
	n, err := r.Available(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5_000, n)
	require.Empty(t, r.list(), "nobody holds them")
	p := r.take()
	r.stands(4_999, 1)
	r.give(p)
}

// TestReleasesAndAcquiresGoOutTogether: a release brings the next permit along.
func TestReleasesAndAcquiresGoOutTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t), forEver).set(1)
	p := r.take(WithLease(time.Hour))
	var all []<-chan acquired
	for n := range 6 {
		all = append(all, r.acquiring(t.Context(), WithLease(time.Hour)))
		r.waiting(n + 1)
	}
	before := server.ScriptCalls(t)
	for _, done := range all {
		r.give(p)
		p = gotPermit(t, done)
	}
	require.LessOrEqual(t, server.ScriptCalls(t), before+int64(len(all))+2, "but for one that looked in that moment")
	r.stands(0, 1)
}

// TestProcessesTakeTurnsAtPermits: two processes want one all the time.
func TestProcessesTakeTurnsAtPermits(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(1)
	var counts [2]atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for n, rig := range []*permitRig{r, r.beside()} {
		for range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					p, err := rig.Acquire(ctx)
					if err != nil {
						continue
					}
					counts[n].Add(1)
					assert.NoError(t, p.Release(ctx))
				}
			})
		}
	}
	require.Eventually(t, func() bool { return counts[0].Load() > 50 && counts[1].Load() > 50 }, soon, 10*time.Millisecond)
	cancel()
	all.Wait()
	r.awaitStands(1, 0)
}

func TestCloseNamesThePermitsThatAreHeld(t *testing.T) {
	t.Parallel()
	raw, name := redistest.Shared(t).Client(t), redistest.Name(t)
	cfg := core.Config{ClientID: "285475da-9152-4c83-822a-67ee2f116a79", WatchdogTimeout: 30 * time.Second}
	e, err := locking.New(t.Context(), raw, cfg)
	require.NoError(t, err)
	s := NewPermits(e, name)
	require.NoError(t, s.SetPermits(t.Context(), 2))
	p, err := s.Acquire(t.Context())
	require.NoError(t, err)
	q, err := s.Acquire(t.Context())
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() { _, err := s.Acquire(context.Background()); waits <- err }() // ends with the client
	require.Eventually(t, func() bool { return s.i.waiting.Load() == 1 }, soon, time.Millisecond)
	work := p.Context(t.Context())
	closed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { closed <- locking.Close(ctx, e) }() // ends with ctx
	<-work.Done()
	require.ErrorIs(t, context.Cause(work), ErrClosed)
	require.ErrorIs(t, <-waits, ErrClosed)
	<-p.Lost()
	require.ErrorIs(t, p.Err(), ErrClosed)
	require.NoError(t, p.Release(t.Context()), "while Close waits")
	cancel()
	err = <-closed
	require.ErrorContains(t, err, name)
	require.ErrorIs(t, q.Release(t.Context()), ErrClosed)
	_, err = s.TryAcquire(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, s.ReleaseID(t.Context(), p.ID()), ErrClosed)
	raw.Do(context.Background(), raw.B().Del().Key(name, s.of.leases).Build())
}

// TestNamesOfPermitsLeaveNothing behind in memory when they are idle.
func TestNamesOfPermitsLeaveNothing(t *testing.T) {
	r, name := newPermitRig(t), redistest.Name(t)
	redistest.NothingStays(t, func(i int) error {
		ctx, s := context.Background(), NewPermits(r.E, name+strconv.Itoa(i))
		set := s.SetPermits(ctx, 1)
		p, err := s.Acquire(ctx)
		if err != nil {
			return err
		}
		released := p.Release(ctx)
		_, gone := s.Delete(ctx)
		return errors.Join(set, released, gone)
	})
	require.Zero(t, r.i.places.Len())
}

// TestASilentServerEndsAPermitInTime: its context ends before another gets it.
func TestASilentServerEndsAPermitInTime(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]time.Duration{"renewed": 0, "fixed": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faultyPermits(t, func(c *core.Config) { c.WatchdogTimeout = 3 * time.Second })
			r.set(1)
			var opts []TryPermitOption
			if lease > 0 {
				opts = append(opts, WithLease(lease))
			}
			p := r.take(opts...)
			if lease == 0 {
				proxy.AwaitCount(t, r.sentLeases(permitRenewal.Script), 1)
			}
			work, warning := p.Context(t.Context()), p.Expiring()
			other := permitRigOn(t, r.Raw, r.of.key)
			done := other.acquiring(t.Context())
			other.waiting(1)
			proxy.BlackHole()
			q := gotPermit(t, done)
			require.ErrorIs(t, p.Err(), ErrLost)
			require.ErrorIs(t, p.Err(), watchdog.ErrRanOut)
			require.ErrorIs(t, work.Err(), context.Canceled)
			require.ErrorIs(t, context.Cause(work), ErrLost)
			<-p.Lost()
			if lease == 0 {
				<-warning
			}
			proxy.Restore()
			require.ErrorIs(t, p.Release(t.Context()), ErrLost)
			require.NoError(t, q.Err(), "it is another's")
			other.give(q)
			r.awaitStands(1, 0)
		})
	}
}

// TestAKilledServerEndsAPermit.
func TestAKilledServerEndsAPermit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t), func(c *core.Config) { c.WatchdogTimeout = 2 * time.Second }).set(1)
	p := r.take()
	server.Kill()
	<-p.Context(t.Context()).Done()
	require.ErrorIs(t, p.Err(), ErrLost)
	server.Restart() // which takes the release, so that Close leaves nothing behind
}

func TestAWaitForAPermitOutlastsARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
	r := permitRigOn(t, server.Client(t), redistest.Name(t)).set(1)
	p := r.take()
	done := r.acquiring(t.Context())
	r.waiting(1)
	server.Restart()
	require.NoError(t, p.Err())
	r.give(p)
	gotPermit(t, done)
}

// TestPermitsAreRenewed past their first lease.
func TestPermitsAreRenewed(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t, func(c *core.Config) { c.WatchdogTimeout = 5 * time.Second }).set(250)
	var all []*Permit
	for range 250 {
		all = append(all, r.take())
	}
	time.Sleep(11 * time.Second) // nobody is told of it: all it takes is time
	for _, p := range all {
		require.NoError(t, p.Err())
	}
	require.Len(t, r.list(), 250)
	gone := all[rand.IntN(len(all))]
	require.NoError(t, r.beside().ReleaseID(t.Context(), gone.ID()))
	<-gone.Lost()
	require.ErrorIs(t, gone.Err(), watchdog.ErrGone)
	require.ErrorIs(t, gone.Release(t.Context()), ErrLost)
	r.stands(1, 249)
}
