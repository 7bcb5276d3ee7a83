package send

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

func TestRequestsOfAFlightShareALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
		first, second, other := s.Request("lane:{a}", 2), s.Request("lane:{a}", 2), s.Request("lane:{a}", 0)
		require.Equal(t, "lane:{a}:2", first.Lane)
		require.Equal(t, first.Lane, second.Lane)
		require.Equal(t, "lane:{a}:0", other.Lane)
		require.Less(t, first.Number, second.Number)
		require.Less(t, second.Number, other.Number)
	})
}

func TestAFlightGoesOnUnderAFreshLaneUntilItsRequestIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
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
		first := s.Request("l", 1)
		s.Settle(first, "fake", settle)
		second := s.Request("l", 1)
		require.NotEqual(t, first.Lane, second.Lane)
		require.Equal(t, second.Lane, s.Request("l", 1).Lane, "it stays there")
		require.Equal(t, "l:0", s.Request("l", 0).Lane, "others are not concerned")
		s.Settle(second, "fake", settle)
		third := s.Request("l", 1)
		require.NotContains(t, []string{first.Lane, second.Lane}, third.Lane)
		synctest.Wait()
		mu.Lock()
		silent = false
		mu.Unlock()
		time.Sleep(10 * time.Second)
		mu.Lock()
		require.ElementsMatch(t, []Request{first, second}, settled)
		mu.Unlock()
		require.Equal(t, first.Lane, s.Request("l", 1).Lane)
		require.Zero(t, s.lanes.few.Load())
		s.Settle(third, "fake", settle) // an exchange that began before
		require.Equal(t, first.Lane, s.Request("l", 1).Lane)
	})
}

// What cannot be settled is forgotten when the server has forgotten the request.
func TestNothingIsSettledThatTheServerHasForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t)
		var last atomic.Int64 // ns after it began
		began := time.Now()
		r := s.Request("l", 1)
		s.Settle(r, "fake", func(context.Context, Request) error {
			last.Store(int64(time.Since(began)))
			return errors.New("silence")
		})
		time.Sleep(2 * RequestMemory)
		require.LessOrEqual(t, time.Duration(last.Load()), RequestMemory-2*s.SendTimeout())
		require.Greater(t, time.Duration(last.Load()), RequestMemory/2)
		require.Zero(t, s.lanes.few.Load())
		require.Equal(t, r.Lane, s.Request("l", 1).Lane)
	})
}

// A request that a later one has overtaken is sent once more, as another, and the
// first never runs.
func TestARequestThatWasOvertakenIsAnotherOne(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	e, raw, lane := at(t, server.Addr()), server.Client(t), redistest.Name(t)
	var sent []Request
	overtaken := func(times int) ([]int64, error) {
		sent = nil
		return e.Numbered(lane, 0, lane, func(r Request) ([]int64, error) {
			if sent = append(sent, r); len(sent) <= times {
				return []int64{-1}, nil
			}
			return []int64{7}, nil
		})
	}
	for times := range 2 {
		n, err := Only(overtaken(times))
		require.NoError(t, err)
		require.EqualValues(t, 7, n)
		require.Len(t, sent, 1+times)
	}
	require.NotEqual(t, sent[0].Lane, sent[1].Lane)
	require.NotEqual(t, sent[0].Number, sent[1].Number)
	require.Eventually(t, func() bool {
		text, _ := raw.Do(context.Background(), raw.B().Get().Key(sent[0].Lane).Build()).ToString()
		return text == sent[0].Number+" 0 void"
	}, redistest.Soon, time.Millisecond)
	_, err := overtaken(3)
	require.ErrorIs(t, err, ErrOvertaken)
	require.Len(t, sent, 2)

	_, err = Only(nil, nil)
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	_, err = Only([]int64{1}, context.Canceled)
	require.ErrorIs(t, err, context.Canceled)
	failed := errors.New("as it is")
	_, err = e.Numbered(lane, 0, lane, func(Request) ([]int64, error) { return nil, failed })
	require.Equal(t, failed, err)
	require.True(t, strings.HasPrefix(sent[1].Lane, lane+":0."))
}

// TestAnOvertakenFlightStaysAway from its own lane for as long as the server knows the later request there, whatever else is
// sent meanwhile.
func TestAnOvertakenFlightStaysAway(t *testing.T) {
	t.Parallel()
	e := at(t, redistest.Shared(t).Addr())
	lane := redistest.Name(t)
	said, err := e.Numbered(lane, 0, lane, func(r Request) ([]int64, error) {
		if r.Lane == r.base {
			return []int64{-1}, nil
		}
		return []int64{1}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []int64{1}, said)
	for range 500 { // in which a task that settles the request would be done
		_, err := e.Run(t.Context(), scripts.NewCommand("EXISTS", scripts.Reads), []string{lane}, nil)
		require.NoError(t, err)
		r := e.Request(lane, 0)
		require.NotEqual(t, r.base, r.Lane)
	}
}
