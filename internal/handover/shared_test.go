package handover

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// line is a queue whose turn somebody has, and waiters behind it: r wants a
// shared hold, x one for itself alone.
func line(t *testing.T, kinds string) (*Queue[hold], []*Waiter[hold]) {
	t.Helper()
	q, waiters := taken(t, 0)
	for _, kind := range kinds {
		w := NewWaiter[hold](true)
		w.Shared = kind == 'r'
		require.False(t, q.Enter(w))
		waiters = append(waiters, w)
	}
	return q, waiters
}

// got is who has been given a hold.
func got(waiters []*Waiter[hold]) (who []int) {
	for i, w := range waiters {
		if turn, ok := came(w); ok && turn.Handed {
			who = append(who, i)
		}
	}
	return who
}

func TestASharedHoldGoesToAllConsecutiveSharedWaitersAtTheFront(t *testing.T) {
	t.Parallel()
	for kinds, want := range map[string][]int{
		"rrrxr": {0, 1, 2}, "xrr": nil, "rrr": {0, 1, 2}, "": nil,
	} {
		q, waiters := line(t, kinds)
		assert.Equal(t, len(want), q.Share(7), kinds)
		assert.Equal(t, want, got(waiters), kinds)
		assert.Equal(t, len(kinds)-len(want), q.Waiting(), kinds)
	}
}

func TestASharedWaiterThatDoesNotTakeHoldsEndsTheRow(t *testing.T) {
	t.Parallel()
	q, waiters := line(t, "rrr")
	waiters[1].Takes = false
	assert.Equal(t, 1, q.Share(7))
	assert.Equal(t, []int{0}, got(waiters))
}

func TestAHoldForOneIsNotHandedToOneThatShares(t *testing.T) {
	t.Parallel()
	q, waiters := line(t, "rx")
	assert.False(t, q.Hand(7))
	assert.Empty(t, got(waiters))
	q.Pass()
	turn, ok := came(waiters[0])
	assert.True(t, ok && !turn.Handed, "it is head, and asks for itself")
}

func TestTheTurnIsPassedWithTheLastPart(t *testing.T) {
	t.Parallel()
	q, waiters := line(t, "rrx")
	require.Equal(t, 2, q.Share(7))
	require.Equal(t, []int{0, 1}, got(waiters))
	for range 2 {
		q.Pass()
		_, ok := came(waiters[2])
		require.False(t, ok)
	}
	q.Pass()
	turn, ok := came(waiters[2])
	require.True(t, ok && !turn.Handed)
	q.Pass()
	assert.True(t, q.TryEnter(), "idle")
}

func TestANewcomerJoinsAnOpenHoldWhileNobodyIsQueued(t *testing.T) {
	t.Parallel()
	q, _ := line(t, "")
	_, ok := q.Join()
	require.False(t, ok, "not open yet")
	q.Share(7)
	for range 2 {
		h, ok := q.Join()
		require.True(t, ok)
		require.Equal(t, hold(7), h)
	}
	writer := NewWaiter[hold](true)
	require.False(t, q.Enter(writer))
	_, ok = q.Join()
	assert.False(t, ok, "it would overtake")
	_, came := q.Leave(writer)
	require.False(t, came)
	_, ok = q.Join()
	assert.True(t, ok)
	for range 4 {
		require.False(t, q.TryEnter())
		q.Pass()
	}
	_, ok = q.Join()
	assert.False(t, ok, "the hold has gone with its last part")
	assert.True(t, q.TryEnter())
}

func TestNextShowsTheWaitersInOrderAndHandToServesAnyOfThem(t *testing.T) {
	t.Parallel()
	q, waiters := line(t, "xxxx")
	for i, w := range waiters {
		w.Size = int64(i)
	}
	var sizes []int64
	q.Next(func(w *Waiter[hold]) bool {
		sizes = append(sizes, w.Size)
		return w.Size < 2
	})
	assert.Equal(t, []int64{0, 1, 2}, sizes)

	assert.True(t, q.HandTo(waiters[2], 7))
	assert.False(t, q.HandTo(waiters[2], 7), "once")
	assert.True(t, q.HandTo(waiters[0], 7))
	assert.Equal(t, []int{0, 2}, got(waiters))
	_, came1 := q.Leave(waiters[1])
	assert.False(t, came1)
	assert.False(t, q.HandTo(waiters[1], 7), "it has left")
	q.Pass() // they have holds and no part of the turn
	turn, ok := came(waiters[3])
	assert.True(t, ok && !turn.Handed)
}

// Whoever leaves may have been served in the same moment: then it has what it
// was given, and nothing is lost.
func TestHandToRacesWithLeave(t *testing.T) {
	t.Parallel()
	for range 2000 {
		q, waiters := line(t, "x")
		var given, kept bool
		var both sync.WaitGroup
		both.Go(func() { given = q.HandTo(waiters[0], 7) })
		both.Go(func() { _, kept = q.Leave(waiters[0]) })
		both.Wait()
		require.Equal(t, given, kept)
		require.Zero(t, q.Waiting())
	}
}

// Readers come, share, join and leave, writers come between: at no moment has
// anybody a turn beside a writer's, and in the end the queue is idle.
func TestPartsOfATurnRaceWithLeaving(t *testing.T) {
	t.Parallel()
	var q Queue[*atomic.Int32]
	var inside atomic.Int32 // readers count 1, a writer 1000
	enter := func(weight, most int32) {
		if now := inside.Add(weight); now > most {
			t.Errorf("%d are inside", now)
		}
		inside.Add(-weight)
	}
	head := func(shared bool) {
		if shared {
			q.Share(&inside)
			enter(1, 999)
		} else {
			enter(1000, 1000)
		}
		q.Pass()
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			w := NewWaiter[*atomic.Int32](true)
			for i := range 4000 {
				w.Shared = g%4 != 0
				if w.Shared {
					if _, ok := q.Join(); ok {
						enter(1, 999)
						q.Pass()
						continue
					}
				}
				if q.Enter(w) {
					head(w.Shared)
					continue
				}
				if (g+i)%5 == 0 { // leaves at once
					if turn, came := q.Leave(w); came && turn.Handed && w.Shared {
						q.Pass()
					} else if came {
						head(w.Shared)
					}
					continue
				}
				if turn := <-w.Turn(); turn.Handed {
					enter(1, 999)
					q.Pass()
				} else {
					head(w.Shared)
				}
			}
		})
	}
	all.Wait()
	assert.Zero(t, inside.Load())
	assert.Zero(t, q.Waiting())
	assert.True(t, q.TryEnter(), "idle")
}

// Those who share go before all others, in their order, and whoever let them go
// comes next.
func TestYieldLetsThoseGoFirstWhoShare(t *testing.T) {
	t.Parallel()
	q, waiters := line(t, "xrxr")
	me := NewWaiter[hold](true)
	require.True(t, q.Sharers())
	require.True(t, q.Yield(me))
	turn, ok := came(waiters[1])
	require.True(t, ok && !turn.Handed, "it is head")
	require.Equal(t, 4, q.Waiting())
	require.Equal(t, 1, q.Share(7))
	require.Equal(t, []int{3}, got(waiters))
	_, joined := q.Join()
	require.False(t, joined, "a newcomer overtakes nobody")
	require.False(t, q.Lead())
	q.Pass()
	q.Pass()
	for _, w := range []*Waiter[hold]{me, waiters[0], waiters[2]} {
		_, ok := came(w)
		require.True(t, ok)
		q.Pass()
	}
	require.True(t, q.TryEnter(), "nobody has it")
}

func TestYieldToNobodyChangesNothing(t *testing.T) {
	t.Parallel()
	q, waiters := line(t, "xx")
	require.False(t, q.Sharers())
	require.False(t, q.Yield(NewWaiter[hold](true)))
	require.Equal(t, 2, q.Waiting())
	q.Pass()
	_, ok := came(waiters[0])
	require.True(t, ok)
}

// TestHeldTellsHoldersFromOneThatAsks has parts of a turn of shared holds end.
func TestHeldTellsHoldersFromOneThatAsks(t *testing.T) {
	t.Parallel()
	var q Queue[int]
	require.False(t, q.Held())
	require.True(t, q.TryEnter())
	require.False(t, q.Held(), "it asks")
	q.Share(1)
	q.Settle()
	require.True(t, q.Held())
	require.True(t, q.Lead())
	require.True(t, q.Held(), "one asks beside the one that holds")
	q.Pass()
	require.False(t, q.Held())
	q.Share(2)
	q.Settle()
	require.True(t, q.Held())
	q.Pass()
	require.False(t, q.Held())
}

// TestOldestSharerIsTheFirstOfThoseWhoShare, whoever is before it.
func TestOldestSharerIsTheFirstOfThoseWhoShare(t *testing.T) {
	t.Parallel()
	var q Queue[int]
	require.True(t, q.TryEnter())
	var sharers []*Waiter[int]
	for i, shared := range []bool{false, true, false, true} {
		_, some := q.OldestSharer()
		require.Equal(t, i > 1, some)
		w := NewWaiter[int](true)
		w.Shared, w.Since = shared, time.Duration(i)
		require.False(t, q.Enter(w))
		if shared {
			sharers = append(sharers, w)
		}
	}
	since, some := q.OldestSharer()
	require.True(t, some)
	require.Equal(t, time.Duration(1), since)
	_, came := q.Leave(sharers[0])
	require.False(t, came)
	since, _ = q.OldestSharer()
	require.Equal(t, time.Duration(3), since)
}
