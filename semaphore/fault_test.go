package semaphore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// faulty is a rig behind a proxy that loses replies.
func faulty(t *testing.T, change ...func(*core.Config)) (*rig, *redistest.Proxy) {
	t.Helper()
	r, proxy := enginetest.FaultyRig(t, change...)
	return &rig{New(r.E, redistest.Name(t)), r}, proxy
}

func (r *rig) sent(s *scripts.Script) redistest.Match {
	return enginetest.SentFor(s, r.of.key)
}

// TestALostReplyCountsOnce drops the reply to each script once: it is sent again
// and finds its answer.
func TestALostReplyCountsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script *scripts.Script
		do     func(ctx context.Context, r *rig) error
		left   int64
	}{
		"take": {takeScript, func(ctx context.Context, r *rig) error { return r.TryAcquire(ctx, 3) }, 7},
		"wait": {takeScript, func(ctx context.Context, r *rig) error { return r.Acquire(ctx, 3) }, 7},
		"give": {giveScript, func(ctx context.Context, r *rig) error { return r.Release(ctx, 3) }, 13},
		"set":  {alone[set], func(ctx context.Context, r *rig) error { return r.SetPermits(ctx, 4) }, 4},
		"add":  {alone[add], func(ctx context.Context, r *rig) error { return r.AddPermits(ctx, -4) }, 6},
		"drain": {alone[drain], func(ctx context.Context, r *rig) error {
			n, err := r.Drain(ctx)
			assert.EqualValues(r.T, 10, n)
			return err
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faulty(t)
			r.set(10)
			lost := proxy.DropReply(r.sent(c.script), 1)
			require.NoError(t, c.do(t.Context(), r))
			lost.Await(t)
			require.Equal(t, c.left, r.free())
		})
	}
}

func TestALostReplyToTheFirstOfTwoOrders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script *scripts.Script
		do     func(ctx context.Context, r *rig) (bool, error)
	}{
		"try set": {alone[trySet], func(ctx context.Context, r *rig) (bool, error) { return r.TrySetPermits(ctx, 4) }},
		"delete":  {alone[remove], func(ctx context.Context, r *rig) (bool, error) { return r.Delete(ctx) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faulty(t)
			if name == "delete" {
				r.set(10)
			}
			lost := proxy.DropReply(r.sent(c.script), 1)
			did, err := c.do(t.Context(), r)
			require.NoError(t, err)
			require.True(t, did, "it was this call")
			lost.Await(t)
			did, err = c.do(t.Context(), r)
			require.NoError(t, err)
			require.False(t, did)
		})
	}
}

// TestARefusalWhoseFirstSendComesLateTakesNothing: a sold-out sale writes
// nothing, so a send of which nobody heard might find permits later.
func TestARefusalWhoseFirstSendComesLateTakesNothing(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*scripts.Script{"take": takeScript, "wait": takeScript} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faulty(t)
			r.set(3)
			r.Ask("SET", r.of.key, "0")
			settled := proxy.Count(r.sent(settleScript))
			held := proxy.HoldRequest(r.sent(s))
			ctx, leave := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { // ends with ctx
				if name == "take" {
					done <- r.TryAcquire(ctx, 2)
				} else {
					done <- r.Acquire(ctx, 2)
				}
			}()
			proxy.AwaitCount(t, r.sent(settleScript), settled+1)
			require.Eventually(t, r.settledAll, soon, time.Millisecond)
			leave()
			require.Error(t, <-done)
			r.Ask("SET", r.of.key, "5")
			held.Release()
			r.awaitFree(5) // at once, but for a look that was under way behind it
		})
	}
}

// settledAll reports whether a lane of this client says that its request is
// settled.
func (r *rig) settledAll() bool {
	r.T.Helper()
	keys, err := r.Raw.Do(context.Background(), r.Raw.B().Keys().Pattern(r.of.lane+"*").Build()).AsStrSlice()
	require.NoError(r.T, err)
	for _, key := range keys {
		msg := r.Ask("GET", key)
		if text, _ := msg.ToString(); len(text) > 8 && text[len(text)-7:] == "settled" {
			return true
		}
	}
	return false
}

// TestASilentServerGivesBackWhatItTook: nobody knows what became of a take, or
// of a release, until the server answers again.
func TestASilentServerGivesBackWhatItTook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script *scripts.Script
		do     func(ctx context.Context, r *rig) error
		left   int64
	}{
		"take": {takeScript, func(ctx context.Context, r *rig) error { return r.TryAcquire(ctx, 3) }, 10},
		"drain": {alone[drain], func(ctx context.Context, r *rig) error {
			_, err := r.Drain(ctx)
			return err
		}, 10},
		"give": {giveScript, func(ctx context.Context, r *rig) error { return r.Release(ctx, 3) }, 13},
	} {
		for _, ran := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", that ran", false: ", that did not run"}[ran], func(t *testing.T) {
				t.Parallel()
				r, proxy := faulty(t, enginetest.ShortSends)
				r.set(10)
				restore := proxy.Silence(r.sent(c.script), ran)
				require.ErrorIs(t, c.do(t.Context(), r), ErrOutcomeUnknown)
				restore()
				if name != "give" || !ran {
					r.awaitFree(c.left)
				}
				require.Eventually(t, r.settledAll, soon, time.Millisecond)
				require.EqualValues(t, c.left, r.free())
				r.take(2) // and its flight goes on
				require.EqualValues(t, c.left-2, r.free())
			})
		}
	}
}

// TestAReleaseThatIsRefusedForNowIsDoneLater: by a server that may not write.
func TestAReleaseThatIsRefusedForNowIsDoneLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), enginetest.ShortSends).set(5)
	r.take(2)
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "1")
	require.ErrorIs(t, r.Release(t.Context(), 2), ErrDeferred)
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "0")
	r.awaitFree(5)
}

// TestAFullServerTakesReleases and refuses who wants permits.
func TestAFullServerTakesReleases(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), enginetest.ShortSends).set(5)
	r.take(2)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	require.ErrorContains(t, r.TryAcquire(t.Context(), 1), "OOM")
	r.give(2)
	require.EqualValues(t, 5, r.free())
	did, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, did)
}

func TestAReleaseRunsToItsEndOnAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(5)
	r.take(2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, r.Release(ctx, 2))
	require.EqualValues(t, 5, r.free())
}

// TestALostMessage: the subscription is cut in the moment of the release, so that
// the waiter looks when it stands again, and need not wait for the cap.
func TestALostMessage(t *testing.T) {
	t.Parallel()
	r, proxy := faulty(t, enginetest.NoLooks)
	r.set(1)
	r.take(1)
	done := r.acquiring(t.Context(), 1)
	r.waiting(1)
	other := rigOn(t, r.Raw, r.of.key)
	proxy.BlackHole()
	other.give(1)
	proxy.CutAll()
	proxy.Restore()
	got(t, done)
}

// TestAMessageThatNeverCameCostsAtMostTheCap, for all who wait, of whom some give up
// meanwhile.
func TestAMessageThatNeverCameCostsAtMostTheCap(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 10*time.Second, func() time.Duration {
		longest := time.Duration(0)
		r := newRig(t).set(1)
		r.take(1)
		ctx, leave := context.WithCancel(t.Context())
		head := r.acquiring(ctx, 4)
		r.waiting(1)
		var all []<-chan error
		for i := range 3 {
			all = append(all, r.acquiring(t.Context(), 1))
			r.waiting(2 + i)
		}
		leave() // its heir wants fewer, and asks at once
		require.ErrorIs(t, redistest.Done(t, head), context.Canceled)
		r.waiting(3)
		r.Ask("SET", r.of.key, "3") // and nobody is told
		began := time.Now()
		for _, done := range all {
			got(t, done)
			longest = max(longest, time.Since(began))
		}
		return longest
	})
}

func TestAWaitOutlastsARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
	r := rigOn(t, server.Client(t), redistest.Name(t)).set(1)
	r.take(1)
	done := r.acquiring(t.Context(), 1)
	r.waiting(1)
	server.Restart()
	require.Eventually(t, func() bool { return r.Release(t.Context(), 1) == nil }, soon, 50*time.Millisecond)
	got(t, done)
}

// chaos is a client whose scripts lose replies, arrive late or twice.
type chaos struct {
	rueidis.Client
	on   atomic.Bool
	mu   sync.Mutex
	late []func()
}

var errCut = errors.New("the connection was cut")

func (c *chaos) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if words := cmd.Commands(); !c.on.Load() || words[0] != "EVALSHA" || rand.IntN(8) > 0 {
		return c.Client.Do(ctx, cmd)
	} else {
		words = append([]string(nil), words...)
		again := func() {
			c.Client.Do(context.Background(), c.Client.B().Arbitrary(words[0]).Args(words[1:3]...).Keys(words[3], words[4]).Args(words[5:]...).Build())
		}
		how := rand.IntN(3)
		if how > 0 {
			again()
		}
		if how < 2 {
			c.mu.Lock()
			c.late = append(c.late, again)
			c.mu.Unlock()
		}
	}
	return rueidis.NewErrorResult(errCut)
}

// deliver has late sends arrive, in any order.
func (c *chaos) deliver() {
	c.mu.Lock()
	late := c.late
	c.late = nil
	c.mu.Unlock()
	rand.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	for _, f := range late {
		f()
	}
}

// TestTheSumStays: whatever happens between clients and server, permits that are
// free and permits that are taken are as many as before.
func TestTheSumStays(t *testing.T) {
	t.Parallel()
	const total, workers = 30, 24
	rounds := redistest.Count(t, 40, 2_000)
	server := redistest.Shared(t)
	through := &chaos{Client: server.Client(t)}
	r := rigOn(t, through, redistest.Name(t)).set(total)
	r.Raw = server.Client(t)
	require.NoError(t, r.TryAcquire(t.Context(), 1)) // the scripts are known
	r.take(1)
	r.give(1)
	r.give(1)
	through.on.Store(true)
	var has atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range rounds {
				n := 1 + rand.Int64N(3)
				err := r.TryAcquire(context.Background(), n, WithWait(rand.N(2*time.Millisecond)))
				if rand.IntN(8) == 0 {
					through.deliver()
				}
				if err != nil {
					continue
				}
				has.Add(n)
				if rand.IntN(10) > 0 {
					_ = r.Release(context.Background(), n) // of unknown outcome, it goes on by itself
					has.Add(-n)
				}
			}
		})
	}
	all.Wait()
	through.on.Store(false)
	for range 2 { // an exchange whose caller has gone may still take permits, which it gives back
		through.deliver()
		r.awaitFree(total - has.Load())
	}
	require.NoError(t, locking.Close(context.Background(), r.E), "nothing is under way any more")
	through.deliver()
	require.EqualValues(t, total-has.Load(), r.free())
}
