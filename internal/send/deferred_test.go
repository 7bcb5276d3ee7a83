package send

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// givenUp is an observer of what is given up.
type givenUp struct {
	mu  sync.Mutex
	all []core.GaveUp
}

func (o *givenUp) GaveUp(g core.GaveUp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, g)
}

func (o *givenUp) list() []core.GaveUp {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all
}

func deferring(t *testing.T) (*closer, *givenUp) {
	o := new(givenUp)
	return offline(t, func(c *core.Config) { c.Deferrals = o }), o
}

var threePermits = core.Work{Kind: "semaphore", Name: "reports", Op: "release", Amount: 3}

// errRefused is an error of which judge says that nothing was done.
var errRefused = fmt.Errorf("refused: %w", errUnmet)

func TestSeeThroughRepeatsARefusedRequestForAsLongAsTheClientLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := deferring(t)
		var runs atomic.Int64
		var served atomic.Bool
		done := make(chan struct{})
		r := s.Request("lane", 0)
		err := s.SeeThrough(r, threePermits, errRefused, func(_ context.Context, again Request) error {
			assert.Equal(t, r.Number, again.Number)
			if runs.Add(1); !served.Load() {
				return errRefused
			}
			close(done)
			return nil
		})
		require.ErrorIs(t, err, core.ErrDeferred)
		require.ErrorIs(t, err, errUnmet)
		require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
		require.NotEqual(t, r.Lane, s.Request("lane", 0).Lane, "a later number in the lane would hide the request")
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Greater(t, runs.Load(), int64(1000))
		require.Less(t, runs.Load(), int64(10_000), "the pauses grow")
		served.Store(true)
		<-done
		synctest.Wait()
		require.Equal(t, r.Lane, s.Request("lane", 0).Lane)
		require.Empty(t, o.list())
	})
}

func TestSeeThroughEndsARequestThatMayHaveRunWhenTheServerHasForgottenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := deferring(t)
		var last time.Time
		began, refusals := time.Now(), 100
		err := s.SeeThrough(s.Request("lane", 0), threePermits, errRefused, func(context.Context, Request) error {
			if refusals--; refusals > 0 {
				return errRefused
			}
			last = time.Now()
			return fmt.Errorf("%w: silence", core.ErrOutcomeUnknown)
		})
		require.ErrorIs(t, err, core.ErrDeferred)
		time.Sleep(time.Hour)
		all := o.list()
		require.Len(t, all, 1)
		require.Equal(t, threePermits, all[0].Work)
		require.ErrorIs(t, all[0].Err, core.ErrOutcomeUnknown)
		require.Greater(t, last.Sub(began), s.Remembered(), "it counts from the first send that may have arrived")
	})
}

func TestSeeThroughKeepsTheErrorOfARequestThatMayHaveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := deferring(t)
		lost := fmt.Errorf("%w: silence", core.ErrOutcomeUnknown)
		err := s.SeeThrough(s.Request("lane", 0), threePermits, lost, func(context.Context, Request) error { return lost })
		require.Equal(t, lost, err)
		time.Sleep(time.Hour)
		require.Len(t, o.list(), 1)
	})
}

func TestSeeThroughRefusesMoreThanABoundedNumberOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := deferring(t)
		var mu sync.Mutex
		refused, ran := true, map[int]bool{}
		put := func(i int) error {
			return s.SeeThrough(s.Request("lane", i), threePermits, errRefused, func(context.Context, Request) error {
				mu.Lock()
				defer mu.Unlock()
				if refused {
					return errRefused
				}
				ran[i] = true
				return nil
			})
		}
		for i := range mostLasting {
			require.ErrorIs(t, put(i), core.ErrDeferred)
		}
		time.Sleep(time.Second)
		require.Equal(t, errRefused, put(mostLasting), "its caller may call again")
		require.Len(t, o.list(), 1)
		mu.Lock()
		refused = false
		mu.Unlock()
		time.Sleep(2 * longBackoff)
		mu.Lock()
		require.Len(t, ran, mostLasting)
		require.False(t, ran[mostLasting])
		refused = true
		mu.Unlock()
		require.ErrorIs(t, put(mostLasting), core.ErrDeferred, "there is room again")
	})
}

func TestCloseNamesWhatItCouldNotDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := deferring(t)
		refuse := func(context.Context, Request) error { return errRefused }
		require.ErrorIs(t, s.SeeThrough(s.Request("lane", 0), threePermits, errRefused, refuse), core.ErrDeferred)
		time.Sleep(time.Second)
		err := s.Close(t.Context())
		require.ErrorContains(t, err, `semaphore "reports": release 3`)
		require.ErrorIs(t, err, errUnmet)
		require.NotErrorIs(t, err, core.ErrOutcomeUnknown, "it certainly was not done")
		require.Len(t, o.list(), 1)
		require.Equal(t, errRefused, s.SeeThrough(s.Request("lane", 0), threePermits, errRefused, refuse), "nothing goes on")
	})
}

func TestGoOnLeavesNothingBehindAClientThatHasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
		require.NoError(t, s.Close(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ended := false
		require.NoError(t, s.GoOn(ctx, func() error {
			time.Sleep(4 * Lateness)
			ended = true
			return nil
		}))
		require.True(t, ended)
	})
}
