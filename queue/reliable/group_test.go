package reliable

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestGroupHasAsManyUnderWayAsItsTermSays, begun in their order, also one that is tried again.
func TestGroupHasAsManyUnderWayAsItsTermSays(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithGroupInFlight(2))
		ctx := t.Context()
		require.NoError(t, r.SetTerms(ctx))
		for _, v := range []string{"1", "2", "3", "4"} {
			r.adds(v, WithGroup("g"))
		}
		r.adds("other", WithGroup("h"))
		first, second := r.gets("1"), r.gets("2")
		r.acks("other")
		r.isEmpty()
		require.NoError(t, first.Nack(ctx, errors.New("no"), WithDelay(time.Hour))) // it keeps its place
		r.isEmpty()
		require.NoError(t, second.Ack(ctx))
		third := r.gets("3")
		r.isEmpty()
		require.NoError(t, r.RunNow(ctx, first.ID))
		r.acks("1")
		r.acks("4")
		require.NoError(t, third.Ack(ctx))
		r.leaves()
	})
}

// TestFirstMessageOfAGroupKeepsItsPriority where several of a group may be under way, and no message had options before.
func TestFirstMessageOfAGroupKeepsItsPriority(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithGroupInFlight(2))
		require.NoError(t, r.SetTerms(t.Context()))
		r.adds("plain")
		r.adds("urgent", WithGroup("g"), WithPriority(3))
		r.acks("urgent")
		r.acks("plain")
		r.leaves()
	})
}

// TestGroupFollowsItsTerm when it is raised, and when it is lowered; a message that comes then does not pass those before it.
func TestGroupFollowsItsTerm(t *testing.T) {
	t.Parallel()
	for name, lower := range map[string]func(*rig) error{
		"set":   func(r *rig) error { return r.with(WithGroupInFlight(1)).SetTerms(r.t.Context()) },
		"reset": func(r *rig) error { return r.ResetTerms(r.t.Context()) },
	} {
		t.Run(name, func(t *testing.T) { followsItsTerm(t, lower) })
	}
}

func followsItsTerm(t *testing.T, lower func(*rig) error) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for _, v := range []string{"1", "2", "3", "4"} {
			r.adds(v, WithGroup("g"))
		}
		first := r.gets("1")
		r.isEmpty()
		require.NoError(t, r.with(WithGroupInFlight(3)).SetTerms(ctx))
		r.adds("5", WithGroup("g"))
		second, third := r.gets("2"), r.gets("3")
		r.isEmpty()
		require.NoError(t, lower(r))
		require.NoError(t, first.Ack(ctx))
		require.NoError(t, second.Ack(ctx))
		r.isEmpty()
		require.NoError(t, r.Cancel(ctx, third.ID))
		fourth := r.gets("4")
		r.isEmpty()
		require.ErrorIs(t, third.Ack(ctx), ErrLost)
		require.NoError(t, fourth.Ack(ctx))
		r.acks("5")
		r.leaves()
	})
}

// TestGroupFollowsARaisedTermInPortions: a script that had all of a long line follow would keep the server busy.
func TestGroupFollowsARaisedTermInPortions(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		_, err := r.AddAll(t.Context(), make([]string, 500), WithGroup("g"))
		require.NoError(t, err)
		require.NoError(t, r.with(WithGroupInFlight(1000)).SetTerms(t.Context()))
		ready := func() int64 {
			n, err := asInt(r.do("LLEN", r.part("ready")))
			require.NoError(t, err)
			return n
		}
		require.EqualValues(t, 1, ready())
		r.adds("", WithGroup("g"))
		require.EqualValues(t, 201, ready())
		r.acks("")
		require.EqualValues(t, 400, ready())
		last := int64(0)
		for left := 500; left > 0; {
			all, err := r.ReceiveN(t.Context(), min(left, 100))
			require.NoError(t, err)
			for _, m := range all {
				require.Greater(t, m.ID, last)
				last = m.ID
			}
			require.NoError(t, r.AckAll(t.Context(), all...))
			left -= len(all)
		}
		r.leaves()
	})
}

// TestGroupsOfSeveralAreBounded under consumers that handle them at the same time, with retries.
func TestGroupsOfSeveralAreBounded(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		n := redistest.Count(t, 30, 300)
		r = r.with(WithGroupInFlight(2))
		require.NoError(t, r.SetTerms(t.Context()))
		var mu sync.Mutex
		at, most, done := map[string]int{}, 0, map[string][]int64{}
		h := func(_ context.Context, m *Message[string]) error {
			mu.Lock()
			at[m.Value]++
			most = max(most, at[m.Value])
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			at[m.Value]--
			if m.Attempt == 1 && m.ID%7 == 0 {
				return RetryIn(errors.New("no"), time.Millisecond)
			}
			done[m.Value] = append(done[m.Value], m.ID)
			return nil
		}
		stops := []func() error{r.serves(h), r.other().serves(h)}
		for range n {
			for _, g := range []string{"a", "b", "c"} {
				r.adds(g, WithGroup(g))
			}
		}
		redistest.Eventually(t, func() bool { return r.counter("acked") == int64(3*n) }, soon, time.Millisecond)
		for _, stop := range stops {
			require.NoError(t, stop())
		}
		require.LessOrEqual(t, most, 2)
		for g, ids := range done {
			require.Len(t, ids, n, g)
		}
		r.leaves()
	})
}
