package rmap

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

func increment(old int, _ bool) (int, Verdict, error) { return old + 1, Store, nil }

// fresh is a map of this test, and its client.
func fresh(t *testing.T, opts ...MapOption) (*Map[string, int], *locking.Engine) {
	t.Helper()
	raw := redistest.Shared(t).Client(t)
	e := maptest.EngineOn(t, raw)
	return New[string, int](e, maptest.Named(t, raw), opts...), e
}

// behind is how many wait behind the turn of an entry.
func behind(m *Map[string, int], e mapstore.Entry) int {
	waiting, _ := m.m.Hub.Turns.Look(e)
	return waiting
}

func TestNoComputeIsLost(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]MapOption{
		"plain": nil, "with ids": {WithRequestIDs()}, "with the entry's lock": {WithEntryLock()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t).Client(t)
			key := maptest.Named(t, raw)
			rounds := redistest.Count(t, 30, 3000)
			var all sync.WaitGroup
			for range 3 {
				m := New[string, int](maptest.EngineOn(t, raw), key, opts...)
				for range 8 {
					all.Go(func() {
						for range rounds {
							_, _, err := m.Compute(t.Context(), "k", increment)
							assert.NoError(t, err)
						}
					})
				}
			}
			all.Wait()
			n, _, err := New[string, int](maptest.EngineOn(t, raw), key).Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, 24*rounds, n)
		})
	}
}

// A function sees what those before it have made, and its caller gets what it
// made itself.
func TestComputesGoOutTogetherInTheirOrder(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	release, began := make(chan struct{}), make(chan struct{})
	go func() { // ends with the release
		_, _, err := m.Compute(t.Context(), "k", func(int, bool) (int, Verdict, error) {
			close(began)
			<-release
			return 100, Store, nil
		})
		assert.NoError(t, err)
	}()
	<-began
	type result struct{ n, i int }
	results := make(chan result, 3)
	for i, f := range []func(int, bool) (int, Verdict, error){
		increment,
		func(int, bool) (int, Verdict, error) { return 0, Store, errors.New("mine alone") },
		increment,
	} {
		go func() { // ends with the release
			n, _, err := m.Compute(t.Context(), "k", f)
			assert.Equal(t, i == 1, err != nil, "%v", err)
			results <- result{n, i}
		}()
		// Each is in the queue before the next.
		e := m.m.EntryOf("k")
		require.Eventually(t, func() bool { return behind(m, e) == i+1 }, maptest.Soon, time.Millisecond)
	}
	close(release)
	got := map[int]int{}
	for range 3 {
		r := <-results
		got[r.i] = r.n
	}
	require.Equal(t, map[int]int{0: 101, 1: 0, 2: 102}, got)
}

func TestAPanicIsItsCallersAlone(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	require.PanicsWithError(t, "", func() {
		defer func() {
			r := recover()
			err, _ := r.(error)
			require.ErrorIs(t, err, assert.AnError)
			require.ErrorContains(t, err, "compute_test.go", "the stack is that of the function")
			panic(errors.New(""))
		}()
		_, _, _ = m.Compute(t.Context(), "k", func(int, bool) (int, Verdict, error) { panic(assert.AnError) })
	})
	n, _, err := m.Compute(t.Context(), "k", increment)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// TestAFunctionThatEndsItsGoroutineEndsItsCallers, and those beside it in the
// turn do not notice.
func TestAFunctionThatEndsItsGoroutineEndsItsCallers(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]MapOption{"plain": nil, "with the entry's lock": {WithEntryLock()}} {
		for wait, ctx := range map[string]context.Context{"for ever": context.Background(), "at most": t.Context()} {
			t.Run(name+", "+wait, func(t *testing.T) {
				t.Parallel()
				m, _ := fresh(t, opts...)
				release, began := make(chan struct{}), make(chan struct{})
				go func() { // ends with the release
					_, _, err := m.Compute(t.Context(), "k", func(old int, _ bool) (int, Verdict, error) {
						close(began)
						<-release
						return old + 1, Store, nil
					})
					assert.NoError(t, err)
				}()
				<-began
				e := m.m.EntryOf("k")
				var all sync.WaitGroup
				var mu sync.Mutex
				returned, ended, calls := 0, 0, 0
				for i := range 6 {
					all.Go(func() {
						came := false
						defer func() {
							mu.Lock()
							defer mu.Unlock()
							if ended++; came {
								returned++
							}
						}()
						_, _, err := m.Compute(ctx, "k", func(old int, _ bool) (int, Verdict, error) {
							if i%3 == 1 {
								calls++ // one turn
								runtime.Goexit()
							}
							return old + 1, Store, nil
						})
						came = true
						assert.NoError(t, err)
					})
					require.Eventually(t, func() bool { return behind(m, e) == i+1 }, maptest.Soon, time.Millisecond)
				}
				close(release)
				all.Wait()
				require.Equal(t, []int{6, 4, 2}, []int{ended, returned, calls})
				n, _, err := m.Get(t.Context(), "k")
				require.NoError(t, err)
				require.Equal(t, 5, n)
				n, _, err = m.Compute(t.Context(), "k", increment)
				require.NoError(t, err)
				require.Equal(t, 6, n)
			})
		}
	}
}

func TestWhoLeavesBeforeTheTurnIsNotCounted(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t)
	release, began := make(chan struct{}), make(chan struct{})
	done := make(chan error, 2)
	slow, leave := context.WithCancel(t.Context())
	go func() { // ends with the context
		_, _, err := m.Compute(slow, "k", func(old int, _ bool) (int, Verdict, error) {
			close(began)
			<-release
			return old + 1, Store, nil
		})
		done <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the context
		_, _, err := m.Compute(ctx, "k", func(int, bool) (int, Verdict, error) {
			t.Error("it was called")
			return 0, Keep, nil
		})
		done <- err
	}()
	e := m.m.EntryOf("k")
	require.Eventually(t, func() bool { return behind(m, e) == 1 }, maptest.Soon, time.Millisecond)
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	leave()
	err = <-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrOutcomeUnknown, "its function was called")
	close(release)
	n, _, err := m.Compute(t.Context(), "k", increment)
	require.NoError(t, err)
	require.Equal(t, 2, n, "and it was done")
}

// A hold of the entry's lock computes under it, also while others wait for it.
func TestComputeUnderAHoldOfTheEntry(t *testing.T) {
	t.Parallel()
	m, _ := fresh(t, WithEntryLock())
	hold, err := m.Lock("k").Lock(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for range 2 {
		go func() { // ends when the lock is free, or with the context
			_, _, err := m.Compute(ctx, "k", increment)
			done <- err
		}()
	}
	n, _, err := m.Compute(hold.Context(t.Context()), "k", increment)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, hold.Unlock(t.Context()))
	for range 2 {
		require.NoError(t, <-done)
	}
	hold, err = m.Lock("k").Lock(t.Context())
	require.NoError(t, err)
	go func() { // ends with the context
		_, _, err := m.Compute(ctx, "k", increment)
		done <- err
	}()
	e := m.m.EntryOf("k")
	require.Eventually(t, func() bool { _, flying := m.m.Hub.Turns.Look(e); return flying == 1 }, maptest.Soon, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, hold.Unlock(t.Context()))
	n, _, err = m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 3, n)
}
