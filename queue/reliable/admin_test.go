package reliable

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// buries adds a message and buries it, however many attempts it has.
func (r *rig) buries(v string, opts ...AddOption) int64 {
	r.t.Helper()
	id := r.adds(v, opts...)
	require.NoError(r.t, r.gets(v).d.settle(r.t.Context(), outcome(Discard(errors.New("broken")))))
	return id
}

func TestTheDeadAreListedAndTriedAgainAndPurged(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		before := time.Now().Add(-time.Second)
		a, b := r.buries("a", WithUnique("u"), WithHeader("k", "v")), r.buries("b", WithPriority(7), WithGroup("g"))
		c := r.adds("c", WithUnique("u")) // the dead have no part in what is unique
		var infos []Info
		for info, err := range r.Messages(t.Context(), Dead) {
			require.NoError(t, err)
			infos = append(infos, info)
		}
		require.Len(t, infos, 2)
		require.Equal(t, a, infos[0].ID)
		require.Equal(t, map[string]string{"k": "v"}, infos[0].Header)
		require.Equal(t, "u", infos[0].Unique)
		require.Equal(t, "broken", infos[1].Cause)
		require.Equal(t, 7, infos[1].Priority)
		require.Equal(t, "g", infos[1].Group)
		require.True(t, infos[1].When.After(before))
		n, err := r.Redrive(t.Context(), a, b, c, 12345)
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "another has the unique key of the first")
		m := r.gets("b")
		require.Equal(t, 2, m.Attempt, "a number is nobody else's")
		twice := r.with(WithMaxAttempts(2))
		require.NoError(t, m.Nack(t.Context(), errors.New("again"), WithDelay(0)))
		m = twice.gets("b")
		require.Equal(t, 3, m.Attempt)
		require.NoError(t, m.Nack(t.Context(), errors.New("again")))
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, s.Dead)
		n, err = r.Purge(t.Context(), b, c)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		n, err = r.Purge(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		r.acks("c")
		r.leaves()
	})
}

func TestTheDeadAreFew(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		few := r.with(WithDeadLimit(3, time.Hour), WithMaxAttempts(1))
		for i := range 10 {
			r.adds(strconv.Itoa(i), WithPriority(1))
			require.NoError(t, few.gets(strconv.Itoa(i)).Nack(t.Context(), nil))
		}
		var left []string
		for info, err := range r.Messages(t.Context(), Dead) {
			require.NoError(t, err)
			left = append(left, string(info.Body))
		}
		require.Equal(t, []string{"7", "8", "9"}, left)
		time.Sleep(20 * time.Millisecond)
		old := r.with(WithDeadLimit(3, 10*time.Millisecond), WithMaxAttempts(1))
		require.NoError(t, old.SetTerms(t.Context()))
		r.adds("last")
		require.NoError(t, old.gets("last").Nack(t.Context(), nil))
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, s.Dead)
		_, err = r.Purge(t.Context())
		require.NoError(t, err)
		r.leaves()
	})
}

func TestMessagesInEachState(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		dead := r.buries("dead")
		running := r.adds("running", WithGroup("g"))
		m := r.gets("running")
		behind := r.adds("behind", WithGroup("g"))
		delayed := r.adds("delayed", WithDelay(time.Hour))
		ready, first := r.adds("ready"), r.adds("first", WithPriority(9))
		want := map[State][]int64{Dead: {dead}, Running: {running}, Behind: {behind}, Delayed: {delayed}, Ready: {first, ready}}
		for state, ids := range want {
			var got []int64
			for info, err := range r.Messages(t.Context(), state) {
				require.NoError(t, err)
				got = append(got, info.ID)
				require.Equal(t, state, info.State)
				found, err := r.Find(t.Context(), info.ID)
				require.NoError(t, err)
				require.Equal(t, info.State, found.State)
			}
			require.Equal(t, ids, got, state)
		}
		s, err := r.Stats(t.Context())
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), s.Oldest, 10*time.Second)
		s.Oldest = time.Time{}
		require.Equal(t, Stats{
			Ready: 2, Delayed: 1, Running: 1, Behind: 1, Dead: 1, Added: 6, Buried: 1,
		}, s)
		_, err = r.Find(t.Context(), 1)
		require.ErrorIs(t, err, ErrNotFound)
		for _, err := range r.Messages(t.Context(), "lost") {
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		require.NoError(t, m.Ack(t.Context()))
		there, err := r.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, there)
		there, err = r.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, there)
		require.Greater(t, r.adds("a"), first, "a number is given once")
	})
}

func TestManyMessagesAreListedByPages(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	values := make([]string, 257)
	_, err := r.AddAll(t.Context(), values[:7], WithPriority(1))
	require.NoError(t, err)
	_, err = r.AddAll(t.Context(), values[7:])
	require.NoError(t, err)
	seen := map[int64]bool{}
	for info, err := range r.Messages(t.Context(), Ready) {
		require.NoError(t, err)
		seen[info.ID] = true
	}
	require.Len(t, seen, 257)
}

func TestRemoveIsCertain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		a, b := r.adds("a", WithGroup("g"), WithUnique("u")), r.adds("b", WithGroup("g"))
		late, some, last := r.adds("late", WithDelay(time.Hour)), r.adds("some", WithPriority(3)), r.adds("last")
		for _, id := range []int64{a, late, some} {
			require.NoError(t, r.Remove(t.Context(), id))
			require.ErrorIs(t, r.Remove(t.Context(), id), ErrNotFound)
		}
		m := r.gets("last")
		require.Equal(t, last, m.ID)
		require.ErrorIs(t, r.Remove(t.Context(), last), ErrTaken)
		require.NoError(t, m.Release(t.Context()))
		require.ErrorIs(t, r.Remove(t.Context(), last), ErrTaken, "somebody had it")
		r.acks("last", "b") // the group went on
		require.ErrorIs(t, r.Remove(t.Context(), b), ErrNotFound)
		r.leaves()
		require.EqualValues(t, 3, r.counter("removed"))
	})
}

func TestCancelTakesAMessageFromWhoHasIt(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, 5*time.Second, func() time.Duration {
			causes := make(chan error, 2)
			stop := r.serves(func(ctx context.Context, m *Message[string]) error {
				if m.Value == "runs" {
					<-ctx.Done()
					causes <- context.Cause(ctx)
				}
				return nil
			}, WithConcurrency(1), WithPrefetch(0))
			id := r.adds("runs", WithGroup("g"))
			redistest.Eventually(t, func() bool { i, err := r.Find(t.Context(), id); return err == nil && i.State == Running }, soon, time.Millisecond)
			time.Sleep(50 * time.Millisecond)
			waits := r.adds("waits", WithGroup("g"))
			require.NoError(t, r.other().Cancel(t.Context(), waits))
			began := time.Now()
			require.NoError(t, r.other().Cancel(t.Context(), id))
			cause := redistest.Done(t, causes)
			require.ErrorIs(t, cause, ErrCancelled)
			require.ErrorIs(t, cause, ErrLost)
			took := time.Since(began)
			require.ErrorIs(t, r.Cancel(t.Context(), id), ErrNotFound)
			r.adds("next", WithGroup("g"))
			redistest.Eventually(t, func() bool { return r.counter("acked") == 1 }, soon, time.Millisecond)
			require.NoError(t, stop())
			r.leaves()
			return took
		})
	})
}

// TestACancelThatNobodyHeard is seen at the next renewal.
func TestACancelThatNobodyHeard(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithLease(600 * time.Millisecond))
		r.adds("a")
		m := r.gets("a")
		ctx := m.Context(t.Context())
		r.do("ZREM", r.part("lease"), m.d.member)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
		require.ErrorIs(t, m.Ack(t.Context()), ErrLost)
	})
}

func TestNothingIsTakenWhileAQueueIsPaused(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		redistest.Within(t, mostWait/2, func() time.Duration {
			longest := time.Duration(0)
			r.adds("held")
			m := r.gets("held")
			require.NoError(t, r.Pause(t.Context(), 0))
			got := make(chan string, 10)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			r.other().waits(ctx, &all, got)
			r.awaitIdle(1)
			r.adds("a")
			require.NoError(t, m.Ack(t.Context()))
			r.isEmpty()
			s, err := r.Stats(t.Context())
			require.NoError(t, err)
			require.True(t, s.Paused)
			require.Zero(t, s.PausedFor)
			require.Empty(t, got)
			require.NoError(t, r.Resume(t.Context()))
			began := time.Now()
			require.Equal(t, "a", redistest.Done(t, got))
			longest = max(longest, time.Since(began))
			require.NoError(t, r.Pause(t.Context(), 300*time.Millisecond))
			r.adds("b")
			began = time.Now()
			require.Equal(t, "b", redistest.Done(t, got))
			longest = max(longest, time.Since(began))
			require.ErrorIs(t, r.Pause(t.Context(), -1), ErrInvalidArgument)
			return longest
		})
	})
}

func TestAResultIsAwaited(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		other := r.other()
		stop := other.serves(func(ctx context.Context, m *Message[string]) error {
			if m.Value == "bad" {
				return Discard(errors.New("refused"))
			}
			return m.AckWith(ctx, []byte("re: "+m.Value), time.Minute)
		})
		n := redistest.Count(t, 100, 2000)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				id, err := r.Add(t.Context(), strconv.Itoa(i))
				var got []byte
				if err == nil {
					got, err = r.Await(t.Context(), id)
				}
				if err != nil || string(got) != "re: "+strconv.Itoa(i) {
					t.Errorf("%d: %q, %v", i, got, err)
				}
			})
		}
		all.Wait()
		id := r.adds("later", WithDelay(time.Hour))
		_, err := r.Result(t.Context(), id)
		require.ErrorIs(t, err, ErrPending)
		_, err = r.Result(t.Context(), 1)
		require.ErrorIs(t, err, ErrNotFound)
		id = r.adds("bad")
		redistest.Eventually(t, func() bool { return r.counter("dead") == 1 }, soon, time.Millisecond)
		_, err = r.Await(t.Context(), id)
		require.ErrorIs(t, err, ErrBuried)
		require.ErrorContains(t, err, "refused")
		require.NoError(t, stop())
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err = r.Await(ctx, r.adds("nobody"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
