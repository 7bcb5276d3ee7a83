package reliable

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// stateOf is where a message is.
func (r *rig) stateOf(id int64) State {
	r.t.Helper()
	info, err := r.Find(r.t.Context(), id)
	require.NoError(r.t, err)
	return info.State
}

// TestRescheduleMovesWhatWaits, wherever it does, and changes nothing else.
func TestRescheduleMovesWhatWaits(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		held, delayed := r.adds("held"), r.adds("delayed", WithDelay(time.Hour))
		m := r.gets("held")
		plain, urgent := r.adds("plain"), r.adds("urgent", WithPriority(3))
		first, second := r.adds("first", WithGroup("g")), r.adds("second", WithGroup("g"))
		third := r.adds("third", WithGroup("g"))
		dead := r.buriesLast()
		for _, id := range []int64{delayed, plain, urgent, second} {
			began := time.Now()
			require.NoError(t, r.Reschedule(t.Context(), id, WithDelay(2*time.Hour)))
			info, err := r.Find(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, Delayed, info.State)
			require.WithinDuration(t, began.Add(2*time.Hour), info.When, time.Minute)
		}
		require.ErrorIs(t, r.Reschedule(t.Context(), held, WithDelay(time.Hour)), ErrTaken)
		require.ErrorIs(t, r.Reschedule(t.Context(), dead, WithDelay(time.Hour)), ErrBuried)
		require.ErrorIs(t, r.Reschedule(t.Context(), 1, WithAt(time.Now())), ErrNotFound)
		require.ErrorIs(t, r.Reschedule(t.Context(), plain, nil), ErrInvalidArgument)
		require.ErrorIs(t, r.Reschedule(t.Context(), plain, WithDelay(-1)), ErrInvalidArgument)
		r.acks("first", "third") // the second has left its place
		r.isEmpty()
		require.ErrorIs(t, r.RunNow(t.Context(), first), ErrNotFound)
		for _, id := range []int64{plain, second, urgent, delayed} {
			require.NoError(t, r.RunNow(t.Context(), id))
			require.NoError(t, r.RunNow(t.Context(), id), "it is ready")
			require.Equal(t, Ready, r.stateOf(id))
		}
		r.acks("urgent", "plain", "second", "delayed")
		require.ErrorIs(t, r.RunNow(t.Context(), third), ErrNotFound)
		require.NoError(t, m.Ack(t.Context()))
		_, err := r.Purge(t.Context())
		require.NoError(t, err)
		r.leaves()
	})
}

// buriesLast adds a message that is taken before all others, and buries it.
func (r *rig) buriesLast() int64 { return r.buries("dead", WithPriority(255)) }

// TestRescheduleToAnEarlierTimeWakesWhoKeepsTheTime.
func TestRescheduleToAnEarlierTimeWakesAWaiter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, mostWait/2, func() time.Duration {
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			got := make(chan string, 2)
			r.other().waits(ctx, &all, got)
			later, now := r.adds("later", WithDelay(time.Hour)), r.adds("now", WithDelay(time.Hour))
			r.awaitIdle(1)
			began := time.Now()
			require.NoError(t, r.Reschedule(t.Context(), later, WithDelay(20*time.Millisecond)))
			require.Equal(t, "later", redistest.Done(t, got))
			r.awaitIdle(1)
			require.NoError(t, r.RunNow(t.Context(), now))
			require.Equal(t, "now", redistest.Done(t, got))
			return time.Since(began)
		})
	})
}

// TestSetPriorityMovesWhatIsReady, and counts later for what is not.
func TestSetPriorityMovesWhatIsReady(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		delayed := r.adds("delayed", WithDelay(time.Hour))
		r.adds("a")
		b, c := r.adds("b", WithGroup("g"), WithExpiry(time.Hour), WithAttempts(7)), r.adds("c", WithPriority(9))
		behind := r.adds("behind", WithGroup("g"))
		require.NoError(t, r.SetPriority(t.Context(), b, 3))
		require.NoError(t, r.SetPriority(t.Context(), c, 0))
		require.NoError(t, r.SetPriority(t.Context(), delayed, 5))
		require.NoError(t, r.SetPriority(t.Context(), behind, 200))
		require.ErrorIs(t, r.SetPriority(t.Context(), 1, 5), ErrNotFound)
		require.ErrorIs(t, r.SetPriority(t.Context(), b, 256), ErrInvalidArgument)
		info, err := r.Find(t.Context(), b)
		require.NoError(t, err)
		require.Equal(t, 3, info.Priority)
		require.Equal(t, "g", info.Group)
		require.Equal(t, 7, info.MaxAttempts)
		require.NoError(t, r.RunNow(t.Context(), delayed))
		r.acks("delayed", "b", "behind", "a", "c")
		r.leaves()
	})
}

// TestRedriveAllTriesAllThatAreDeadAgain but for those whose unique key another has.
func TestRedriveAllTriesAllThatAreDeadAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	r := rigOn(t, server.Client(t), WithMaxAttempts(1))
	const n = 2300
	_, err := r.AddAll(t.Context(), make([]string, n))
	require.NoError(t, err)
	stop := r.serves(func(context.Context, *Message[string]) error { return context.Canceled }, WithConcurrency(200))
	redistest.Eventually(t, func() bool { return r.counter("dead") == n }, soon, 10*time.Millisecond)
	require.NoError(t, stop())
	r.buries("unique", WithUnique("u"))
	r.adds("other", WithUnique("u"), WithDelay(time.Hour))
	redriven, err := r.RedriveAll(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, n, redriven)
	s, err := r.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, n, s.Ready)
	require.EqualValues(t, 1, s.Dead)
	redriven, err = r.RedriveAll(t.Context())
	require.NoError(t, err)
	require.Zero(t, redriven)
	_, err = r.Delete(t.Context())
	require.NoError(t, err)
}
