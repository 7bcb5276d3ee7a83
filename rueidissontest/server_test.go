package rueidissontest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rueidissontest"
	"github.com/rueidisson/rueidisson/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClientsOfOneServerExcludeEachOther(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	inside, most, entered := 0, 0, 0
	var all sync.WaitGroup
	for range 3 {
		c := s.NewClient(t)
		for range 4 {
			all.Go(func() {
				for range 10 {
					assert.NoError(t, lock.Do(t.Context(), c.Lock("hot"), func(context.Context) error {
						inside++
						most = max(most, inside)
						entered++
						inside--
						return nil
					}))
				}
			})
		}
	}
	all.Wait()
	assert.Equal(t, 1, most)
	assert.Equal(t, 120, entered)
}

func TestServersAreStrangers(t *testing.T) {
	t.Parallel()
	a, b := rueidissontest.NewClient(t), rueidissontest.NewClient(t)
	for _, c := range []*rueidisson.Client{a, b} {
		hold, err := c.Lock("same").TryLock(t.Context())
		require.NoError(t, err)
		defer hold.Unlock(t.Context())
	}
}

func TestAFixedLeaseEndsForItsHolderBeforeTheServerLetsGo(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	holder, next := s.NewClient(t), s.NewClient(t)
	for range 20 {
		var hold *lock.Hold
		require.Eventually(t, func() (won bool) { // where answers take longer than that, it is an error
			var err error
			hold, err = holder.Lock("k").Lock(t.Context(), lock.WithLease(15*time.Millisecond))
			return err == nil
		}, time.Minute, time.Millisecond)
		taken, err := next.Lock("k").Lock(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, hold.Err(), lock.ErrLost, "somebody else has it already")
		require.NoError(t, taken.Unlock(t.Context()))
		require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	}
}

func TestTheWatchdogKeepsAHoldOnTheMachinesClock(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	const timeout = 3 * time.Second
	renewals := make(renewals, 100)
	holder := s.NewClient(t, rueidisson.WithWatchdogTimeout(timeout), rueidisson.WithObserver(renewals))
	hold, err := holder.Lock("k").Lock(t.Context())
	require.NoError(t, err)
	for good := 0; good < 4; { // for longer than the lease
		select {
		case err := <-renewals:
			if err == nil {
				good++
			}
		case <-hold.Lost():
			t.Fatal("lost")
		}
	}
	require.NoError(t, hold.Err())
	_, err = s.NewClient(t).Lock("k").TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, hold.Unlock(t.Context()))
}

// renewals is an observer that passes on what became of each renewal.
type renewals chan error

func (r renewals) Renewed(_ int, _ time.Duration, err error)                     { r <- err }
func (renewals) WaitStarted(context.Context, string, string)                     {}
func (renewals) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (renewals) Acquired(context.Context, string, string, bool)                  {}
func (renewals) Released(context.Context, string, string, bool)                  {}
func (renewals) Lost(string, string, error)                                      {}
func (renewals) ScriptRan(context.Context, string, time.Duration, int, error)    {}

func TestForwardWakesThoseWhoWait(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders", "{tag}:orders", "a{tag}b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
			crashed, next := s.NewClient(t), s.NewClient(t)
			_, err := crashed.Lock(name).Lock(t.Context(), lock.WithLease(time.Hour))
			require.NoError(t, err)
			got := make(chan error, 1)
			go func() {
				// Less than the 5 s after which a waiter looks by itself.
				hold, err := next.Lock(name).TryLock(t.Context(), lock.WithWait(4*time.Second))
				if err == nil {
					err = hold.Unlock(t.Context())
				}
				got <- err
			}()
			require.Eventually(t, func() bool {
				n, err := crashed.Lock(name).Waiting(t.Context())
				return err == nil && n == 1
			}, 3*time.Second, time.Millisecond) // before the waiter gives up
			s.Forward(time.Hour)
			require.NoError(t, <-got)
		})
	}
}

// Permits that somebody has set without a word are found at the next look.
func TestForwardWakesThoseWhoWaitForPermits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders", "{tag}:orders", "a{tag}b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
			waiter := s.NewClient(t).Semaphore(name)
			require.NoError(t, waiter.SetPermits(t.Context(), 1))
			require.NoError(t, waiter.TryAcquire(t.Context(), 1))
			raw, err := rueidis.NewClient(s.ClientOption())
			require.NoError(t, err)
			defer raw.Close()
			got := make(chan error, 1)
			go func() { got <- waiter.TryAcquire(t.Context(), 2, semaphore.WithWait(4*time.Second)) }() // less than a waiter sleeps
			redistest.Eventually(t, func() bool {
				answer, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(keys.SemaphoreChannel(name)).Build()).ToArray()
				require.NoError(t, err)
				n, err := answer[1].AsInt64()
				return err == nil && n == 1
			}, 3*time.Second, time.Millisecond) // before the waiter gives up
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(name).Value("2").Build()).Error())
			s.Forward(time.Hour)
			require.NoError(t, <-got)
		})
	}
}

// A lease ends by the server's clock, of which a waiter sleeps by its own.
func TestForwardWakesThoseWhoWaitForTheEndOfALease(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders", "{tag}:orders"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
			waiter := s.NewClient(t).PermitSemaphore(name)
			require.NoError(t, waiter.SetPermits(t.Context(), 1))
			first, err := waiter.Acquire(t.Context(), semaphore.WithLease(time.Hour))
			require.NoError(t, err)
			raw, err := rueidis.NewClient(s.ClientOption())
			require.NoError(t, err)
			defer raw.Close()
			type acquired struct {
				permit *semaphore.Permit
				err    error
			}
			got := make(chan acquired, 1)
			go func() { // less than a waiter sleeps
				p, err := waiter.TryAcquire(t.Context(), semaphore.WithWait(4*time.Second))
				got <- acquired{p, err}
			}()
			require.Eventually(t, func() bool {
				answer, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(keys.SemaphoreChannel(name)).Build()).ToArray()
				if err != nil {
					return false
				}
				n, err := answer[1].AsInt64()
				return err == nil && n == 1
			}, 3*time.Second, time.Millisecond) // before the waiter gives up
			s.Forward(time.Hour)
			second := <-got
			require.NoError(t, second.err)
			require.NoError(t, second.permit.Release(t.Context()))
			_ = first.Release(t.Context()) // its own clock has not moved
		})
	}
}

// What opened a latch without a word is found at the next look.
func TestForwardWakesThoseWhoWaitAtALatch(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ready", "{tag}:ready"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
			waiter := s.NewClient(t).Latch(name)
			_, err := waiter.TrySetCount(t.Context(), 1)
			require.NoError(t, err)
			raw, err := rueidis.NewClient(s.ClientOption())
			require.NoError(t, err)
			defer raw.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than a waiter sleeps
			defer cancel()
			got := make(chan error, 1)
			go func() { got <- waiter.Await(ctx) }()
			require.Eventually(t, func() bool {
				answer, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(keys.LatchChannel(name)).Build()).ToArray()
				if err != nil {
					return false
				}
				n, err := answer[1].AsInt64()
				return err == nil && n == 1
			}, 3*time.Second, time.Millisecond) // before the waiter gives up
			require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(name).Build()).Error())
			s.Forward(time.Hour)
			require.NoError(t, <-got)
		})
	}
}

// A party that has died is seen when its lease ends, which others need not wait
// for.
func TestForwardWakesThoseWhoWaitAtABarrier(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	c := s.NewClient(t)
	raw, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	defer raw.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than a waiter sleeps
	defer cancel()
	got := make(chan error, 1)
	go func() { _, err := c.Barrier("phase", 3).Await(ctx); got <- err }()
	require.Eventually(t, func() bool {
		answer, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(keys.BarrierChannel("phase")).Build()).ToArray()
		if err != nil {
			return false
		}
		n, err := answer[1].AsInt64()
		return err == nil && n == 1
	}, 3*time.Second, time.Millisecond) // before the waiter gives up
	s.Forward(time.Minute)
	err = <-got
	require.ErrorIs(t, err, latch.ErrBroken)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

func TestUnlockTellsThatTheServerHasForgottenTheHold(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	hold, err := s.NewClient(t).Lock("k").Lock(t.Context())
	require.NoError(t, err)
	s.Forward(time.Minute)
	require.NoError(t, hold.Err(), "the client's own clock has not moved")
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}

func TestAManualClockStandsStill(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	holder, other := s.NewClient(t), s.NewClient(t)
	const lease = time.Second // where answers take longer than that, it is an error
	hold, err := holder.Lock("k").Lock(t.Context(), lock.WithLease(lease))
	require.NoError(t, err)
	<-hold.Lost()
	left, err := other.Lock("k").Remaining(t.Context())
	require.NoError(t, err)
	assert.Equal(t, lease, left)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	waited, err := other.Lock("k").TryLock(t.Context(), lock.WithWait(4*time.Second))
	require.NoError(t, err, "the unlock of a lost hold gives back what is left of it")
	require.NoError(t, waited.Unlock(t.Context()))
}

func TestForwardIsAddedToTheMachinesClock(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	crashed, next := s.NewClient(t), s.NewClient(t)
	_, err := crashed.Lock("k").Lock(t.Context(), lock.WithLease(time.Hour))
	require.NoError(t, err)
	s.Forward(time.Hour - 20*time.Millisecond)
	hold, err := next.Lock("k").TryLock(t.Context(), lock.WithWait(4*time.Second))
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestForwardRefusesToGoBack(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	assert.Panics(t, func() { s.Forward(-1) })
}

// fakeT collects what a test would be told.
type fakeT struct {
	testing.TB
	cleanups []func()
	logged   []string
	fatal    string
}

func (f *fakeT) Helper()                   {}
func (f *fakeT) Cleanup(g func())          { f.cleanups = append(f.cleanups, g) }
func (f *fakeT) Logf(s string, a ...any)   { f.logged = append(f.logged, fmt.Sprintf(s, a...)) }
func (f *fakeT) Fatalf(s string, a ...any) { f.fatal = fmt.Sprintf(s, a...); panic(f) }

func (f *fakeT) end() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	f.cleanups = nil
}

func TestWhatIsLeftHeldIsLogged(t *testing.T) {
	t.Parallel()
	f := &fakeT{}
	_, err := rueidissontest.NewClient(f).Lock("forgotten").Lock(t.Context())
	require.NoError(t, err)
	f.end()
	require.Len(t, f.logged, 1)
	assert.Contains(t, f.logged[0], `"forgotten"`)
}

func TestATestThatUnlocksEverythingHearsNothing(t *testing.T) {
	t.Parallel()
	f := &fakeT{}
	c := rueidissontest.NewClient(f)
	hold, err := c.Lock("k").Lock(t.Context())
	require.NoError(t, err)
	done := make(chan error)
	go func() { // unlocks when the client is closed
		<-hold.Context(context.Background()).Done()
		done <- hold.Unlock(context.Background())
	}()
	go f.end()
	require.NoError(t, <-done)
	require.ErrorIs(t, lockFails(t, c), rueidisson.ErrClosed)
	require.NoError(t, c.Close(t.Context())) // returns when the cleanup's Close has
	assert.Empty(t, f.logged)
}

func lockFails(t *testing.T, c *rueidisson.Client) error {
	_, err := c.Lock("k").Lock(t.Context())
	return err
}

func TestABadOptionFailsTheTest(t *testing.T) {
	t.Parallel()
	f := &fakeT{}
	defer f.end()
	assert.Panics(t, func() { rueidissontest.NewClient(f, rueidisson.WithWatchdogTimeout(1)) })
	assert.Contains(t, f.fatal, "watchdog timeout")
}

func TestTheOptionAndTheURLReachTheServer(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	assert.Equal(t, []string{s.Addr()}, s.ClientOption().InitAddress)
	plain, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	defer plain.Close()
	require.NoError(t, plain.Do(t.Context(), plain.B().Hset().Key("k").FieldValue().FieldValue("somebody", "1").Build()).Error())

	c, err := rueidisson.Open(s.URL())
	require.NoError(t, err)
	defer c.Close(t.Context())
	holder, err := c.Lock("k").Holder(t.Context())
	require.NoError(t, err)
	assert.Equal(t, lock.Holder{Owner: "somebody", Count: 1, Remaining: -1}, holder)
}

func TestWhatTheServerCannotDoIsAnErrorAndNotAWait(t *testing.T) {
	t.Parallel()
	c := rueidissontest.NewClient(t, rueidisson.WithReplicaAcks(1, 10*time.Millisecond))
	_, err := c.Lock("k").Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotReplicated)
	locked, err := c.Lock("k").Locked(t.Context())
	require.NoError(t, errors.Join(err))
	assert.False(t, locked, "the acquire was undone")
}
