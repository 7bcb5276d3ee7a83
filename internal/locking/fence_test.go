package locking

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// fencing returns a fake whose holds have tokens, from 42 on.
func fencing(t *testing.T, change ...func(*core.Config)) *fakeServer {
	s := newFake(t, change...)
	s.set(func() { s.fence = 41 })
	return s
}

func TestAFenceIsShownToTheSeatThatHasTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fencing(t)
		first := s.take(t)
		require.EqualValues(t, 42, first.Fence(first.seat))
		next := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		require.NoError(t, first.Release(t.Context()))
		o := <-next
		require.Same(t, first.Held, o.held.Held, "it was handed over")
		require.Zero(t, first.Fence(first.seat), "the turn is over")
		require.EqualValues(t, 43, o.held.Fence(o.held.seat), "with a token of its own")
		require.NoError(t, o.held.Release(t.Context()))
		again := s.take(t)
		require.EqualValues(t, 44, again.Fence(again.seat))
		require.NoError(t, again.Release(t.Context()))
		s.mustBeFree(t)
	})
}

// Of those who wait, all but a few get the lock by hand-over, each with a token
// that is higher than any before.
func TestTokensRiseAlongChains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fencing(t, func(c *core.Config) { c.Handovers = 100 })
		s.set(func() { s.requests, s.replies = time.Millisecond, time.Millisecond })
		const holds = 300
		waiting := []<-chan outcome{s.acquire(t.Context(), Ask{})}
		for range holds - 1 {
			synctest.Wait()
			waiting = append(waiting, s.acquire(t.Context(), Ask{}))
		}
		last := int64(41)
		for _, w := range waiting {
			o := <-w
			require.NoError(t, o.err)
			number := o.held.Fence(o.held.seat)
			require.Greater(t, number, last)
			last = number
			time.Sleep(100 * time.Microsecond)
			require.NoError(t, o.held.Release(t.Context()))
		}
		releases, _ := s.said()
		require.LessOrEqual(t, releases, 4, "at least a hundred hold it in turn")
		require.LessOrEqual(t, len(s.reserves), 2*releases, "a chain asks seldom")
		require.LessOrEqual(t, s.fence, int64(41+2*holds), "and not for many more than it uses")
		s.mustBeFree(t)
	})
}

func TestWhoFindsNoTokenIsNotHandedTheLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fencing(t)
		first := s.take(t)
		s.set(func() { s.down = errUnused })
		next := s.acquire(t.Context(), Ask{})
		synctest.Wait() // it has asked for a token, and was refused
		s.set(func() { s.down = nil })
		require.NoError(t, first.Release(t.Context()))
		o := <-next
		require.NoError(t, o.err)
		require.NotSame(t, first.Held, o.held.Held)
		require.EqualValues(t, 43, o.held.Fence(o.held.seat))
		require.NoError(t, o.held.Release(t.Context()))
		releases, _ := s.said()
		require.Equal(t, 2, releases)
	})
}

func TestAHoldOfAnotherKindIsNotHandedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		first := s.take(t) // a plain one, without a token
		seat, done := new(seated), make(chan *Held, 1)
		go func() {
			held, err := s.e.Acquire(context.Background(), otherKind{s, "fenced"}, Ask{}, seat)
			if err == nil {
				done <- held
			}
		}()
		synctest.Wait()
		require.NoError(t, first.Release(t.Context()))
		held := <-done
		require.NotSame(t, first.Held, held)
		require.NoError(t, held.Release(t.Context(), seat))
		s.mustBeFree(t)
	})
}

func TestAFixedHoldAsksForNoOthersTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fencing(t)
		o := <-s.acquire(t.Context(), Ask{Lease: time.Minute})
		require.NoError(t, o.err)
		next := s.acquire(t.Context(), Ask{})
		synctest.Wait()
		require.Empty(t, s.reserves)
		require.NoError(t, o.held.Release(t.Context()))
		require.NoError(t, (<-next).held.Release(t.Context()))
	})
}

// On a machine that is busy, an answer takes as long as many hand-overs: a chain
// that had to ask on its way would end before it came.
func TestAChainBeginsWithAsManyTokensAsTheLastHadUseFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fencing(t, func(c *core.Config) { c.Handovers = 100 })
		s.set(func() { s.requests, s.replies = 10*time.Millisecond, 10*time.Millisecond })
		const goroutines, each = 10, 100
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for range each {
					o := <-s.acquire(context.Background(), Ask{})
					if !assert.NoError(t, o.err) {
						return
					}
					time.Sleep(100 * time.Microsecond)
					assert.NoError(t, o.held.Release(context.Background()))
				}
			})
		}
		all.Wait()
		releases, _ := s.said()
		require.LessOrEqual(t, releases, 2*goroutines*each/100, "the first ones learn")
		require.LessOrEqual(t, s.fence, int64(41+2*goroutines*each), "and few more numbers than are used")
		for range 3 { // nobody waits any more
			require.NoError(t, s.take(t).Release(t.Context()))
		}
		require.Equal(t, 0, s.asked[len(s.asked)-1].Block)
		s.mustBeFree(t)
	})
}

// Numbers that nobody will need would have the counter run ahead of the clock,
// which it falls back to when it is lost.
func TestAChainTakesNoMoreTokensThanItsTimeHasMicroseconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fencing(t, func(c *core.Config) { c.Handovers, c.HandoverTime = 1000, 20*time.Microsecond })
		first := s.take(t)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting []<-chan outcome
		for range 100 {
			waiting = append(waiting, s.acquire(ctx, Ask{}))
			synctest.Wait()
		}
		require.NotEmpty(t, s.reserves)
		require.LessOrEqual(t, s.fence, int64(42+20))
		time.Sleep(time.Millisecond) // its time is over, so the next one acquires for itself
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, (<-waiting[0]).held.Release(t.Context()))
		require.LessOrEqual(t, s.fence, int64(42+20+21+21))
		cancel()
		for _, w := range waiting[1:] {
			if o := <-w; o.err == nil {
				require.NoError(t, o.held.Release(context.Background()))
			}
		}
	})
}

func TestTokensOfTwoBlocks(t *testing.T) {
	t.Parallel()
	var of tokens
	of.add(4, 0)
	require.Zero(t, of.left())
	of.add(6, 2)
	of.add(11, 2)
	require.Equal(t, 4, of.left())
	var got []int64
	for of.left() > 0 {
		got = append(got, of.take())
	}
	require.Equal(t, []int64{5, 6, 10, 11}, got)
	of.add(20, 1)
	require.EqualValues(t, 20, of.take())
	require.Zero(t, of.left())
}
