package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRequestsOfAFlightShareALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		first, second, other := s.e.Request("lane:{a}", 2), s.e.Request("lane:{a}", 2), s.e.Request("lane:{a}", 0)
		require.Equal(t, "lane:{a}:2", first.Lane)
		require.Equal(t, first.Lane, second.Lane)
		require.Equal(t, "lane:{a}:0", other.Lane)
		require.Less(t, first.Number, second.Number)
		require.Less(t, second.Number, other.Number)
	})
}

func TestAFlightGoesOnUnderAFreshLaneUntilItsRequestIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		var mu sync.Mutex
		var settled []Request
		silent := true
		settle := func(_ context.Context, r Request) error {
			mu.Lock()
			defer mu.Unlock()
			if silent {
				return errors.New("silence")
			}
			settled = append(settled, r)
			return nil
		}
		first := s.e.Request("l", 1)
		s.e.Settle(first, "fake", settle)
		second := s.e.Request("l", 1)
		require.NotEqual(t, first.Lane, second.Lane)
		require.Equal(t, second.Lane, s.e.Request("l", 1).Lane, "it stays there")
		require.Equal(t, "l:0", s.e.Request("l", 0).Lane, "others are not concerned")
		s.e.Settle(second, "fake", settle)
		third := s.e.Request("l", 1)
		require.NotContains(t, []string{first.Lane, second.Lane}, third.Lane)
		synctest.Wait()
		mu.Lock()
		silent = false
		mu.Unlock()
		time.Sleep(10 * time.Second)
		mu.Lock()
		require.ElementsMatch(t, []Request{first, second}, settled)
		mu.Unlock()
		require.Equal(t, first.Lane, s.e.Request("l", 1).Lane)
		require.Zero(t, s.e.lanes.few.Load())
		s.e.Settle(third, "fake", settle) // an exchange that began before
		require.Equal(t, first.Lane, s.e.Request("l", 1).Lane)
	})
}

// What cannot be settled is forgotten when the server has forgotten the request.
func TestNothingIsSettledThatTheServerHasForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		var last atomic.Int64 // ns after it began
		began := time.Now()
		r := s.e.Request("l", 1)
		s.e.Settle(r, "fake", func(context.Context, Request) error {
			last.Store(int64(time.Since(began)))
			return errors.New("silence")
		})
		time.Sleep(2 * RequestMemory)
		require.LessOrEqual(t, time.Duration(last.Load()), RequestMemory-2*s.e.sendTimeout())
		require.Greater(t, time.Duration(last.Load()), RequestMemory/2)
		require.Zero(t, s.e.lanes.few.Load())
		require.Equal(t, r.Lane, s.e.Request("l", 1).Lane)
	})
}
