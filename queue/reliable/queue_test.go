package reliable

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestWhatIsAddedIsReceivedInOrderAndGoesWithItsAck(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		before := time.Now().Add(-time.Second)
		first := r.adds("a", WithHeader("trace", "7"))
		require.Greater(t, r.adds("b"), first)
		m := r.gets("a")
		require.Equal(t, first, m.ID)
		require.Equal(t, 1, m.Attempt)
		require.Equal(t, map[string]string{"trace": "7"}, m.Header)
		require.True(t, m.AddedAt.After(before) && m.AddedAt.Before(time.Now().Add(time.Second)))
		require.NoError(t, m.Err())
		require.NoError(t, m.Ack(t.Context()))
		require.ErrorIs(t, m.Err(), ErrSettled)
		require.ErrorIs(t, m.Ack(t.Context()), ErrSettled)
		r.acks("b")
		r.isEmpty()
		r.leaves()
		require.EqualValues(t, 2, r.counter("added"))
		require.EqualValues(t, 2, r.counter("acked"))
	})
}

func TestAReceiverWaitsForWhatComes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		other := r.other()
		for i := range 20 {
			got := make(chan string)
			go func() {
				m, err := r.Receive(t.Context())
				if err != nil || m.Ack(t.Context()) != nil {
					got <- ""
					return
				}
				got <- m.Value
			}()
			if i%2 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			other.adds(strconv.Itoa(i))
			require.Equal(t, strconv.Itoa(i), redistest.Done(t, got))
		}
		r.leaves()
	})
}

func TestWhatFailsIsTriedAgainAndBuriedInTheEnd(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxAttempts(3))
		r.adds("a")
		r.adds("b")
		require.NoError(t, r.gets("a").Nack(t.Context(), errors.New("broken"), WithDelay(0)))
		m := r.gets("a")
		require.Equal(t, 2, m.Attempt)
		require.NoError(t, m.Nack(t.Context(), errors.New("broken"), WithDelay(50*time.Millisecond)))
		r.acks("b")
		m = r.gets("a")
		require.Equal(t, 3, m.Attempt)
		require.NoError(t, m.Nack(t.Context(), errors.New("at last")))
		r.isEmpty()
		require.EqualValues(t, 1, r.counter("dead"))
		require.EqualValues(t, 2, r.counter("retried"))
		why := r.do("HGET", r.part("error"), strconv.FormatInt(m.ID, 10))
		text, err := why.ToString()
		require.NoError(t, err)
		require.Equal(t, "3 at last", text)
	})
}

func TestWhatIsReleasedComesFirstAndIsNoAttempt(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("a")
		r.adds("b")
		require.NoError(t, r.gets("a").Release(t.Context()))
		m := r.gets("a")
		require.Equal(t, 1, m.Attempt)
		require.NoError(t, m.Ack(t.Context()))
		r.acks("b")
		r.leaves()
	})
}

func TestDelaysPrioritiesAndTimes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("late", WithDelay(300*time.Millisecond))
		r.adds("later", WithAt(time.Now().Add(500*time.Millisecond)))
		r.adds("0")
		r.adds("7", WithPriority(7))
		r.adds("255", WithPriority(255))
		r.adds("7 too", WithPriority(7))
		r.adds("past", WithAt(time.Now().Add(-time.Hour)))
		r.acks("255", "7", "7 too", "0", "past")
		r.acks("late", "later")
		r.leaves()
	})
}

func TestAGroupIsHandledOneBehindTheOther(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for _, v := range []string{"a1", "a2", "a3"} {
			r.adds(v, WithGroup("a"))
		}
		r.adds("b1", WithGroup("b"), WithPriority(3))
		r.adds("a4", WithGroup("a"), WithUnique("|u|"))
		r.acks("b1")
		m := r.gets("a1")
		r.isEmpty()
		require.NoError(t, m.Nack(t.Context(), errors.New("again"), WithDelay(time.Second)))
		r.isEmpty()
		r.acks("a1", "a2")
		m = r.gets("a3")
		require.NoError(t, m.Release(t.Context()))
		m = r.gets("a3")
		r.isEmpty()
		require.NoError(t, m.Nack(t.Context(), errors.New("no more"), WithDelay(0)))
		last := r.with(WithMaxAttempts(2)).gets("a3")
		require.NoError(t, last.Nack(t.Context(), nil)) // a buried head frees its group
		r.acks("a4")
		r.isEmpty()
	})
}

func TestDuplicatesAreRefused(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("a", WithDedup("k", 1500*time.Millisecond))
		_, err := r.Add(t.Context(), "again", WithDedup("k", time.Minute))
		require.ErrorIs(t, err, ErrDuplicate)
		r.adds("b", WithUnique("u"))
		_, err = r.Add(t.Context(), "again", WithUnique("u"))
		require.ErrorIs(t, err, ErrDuplicate)
		_, err = r.Add(t.Context(), "again", WithUnique("u"), WithDedup("other", time.Minute))
		require.ErrorIs(t, err, ErrDuplicate)
		r.acks("a", "b")
		r.adds("c", WithUnique("u"), WithDedup("other", 10*time.Millisecond)) // which the duplicate has not taken
		r.acks("c")
		redistest.Eventually(t, func() bool {
			_, err := r.Add(t.Context(), "d", WithDedup("k", time.Millisecond))
			return err == nil
		}, soon, 20*time.Millisecond)
		r.acks("d")
		r.leaves()
	})
}

func TestWhatHasExpiredIsDropped(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("a", WithExpiry(20*time.Millisecond), WithGroup("g"))
		r.adds("b", WithExpiry(time.Hour), WithGroup("g"))
		time.Sleep(40 * time.Millisecond)
		r.acks("b")
		require.EqualValues(t, 1, r.counter("expired"))
		r.leaves()
	})
}

func TestAQueueWithACapacityIsFull(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithCapacity(3))
		ids, err := r.AddAll(t.Context(), []string{"a", "b", "c", "d", "e"})
		require.ErrorIs(t, err, ErrFull)
		require.Len(t, ids, 5)
		require.NotZero(t, ids[2])
		require.Zero(t, ids[3])
		_, err = r.Add(t.Context(), "f")
		require.ErrorIs(t, err, ErrFull)
		r.acks("a")
		r.adds("f", WithAttempts(1))
		r.acks("b", "c")
		require.NoError(t, r.gets("f").Nack(t.Context(), nil))
		for _, v := range []string{"g", "h", "i"} {
			r.adds(v) // the dead do not count
		}
		_, err = r.Add(t.Context(), "j")
		require.ErrorIs(t, err, ErrFull)
		r.acks("g", "h", "i")
		_, err = r.Purge(t.Context())
		require.NoError(t, err)
		r.leaves()
	})
}

func TestManyAtOnceKeepTheirOrder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		n := redistest.Count(t, 300, 20_000)
		values := make([]string, n)
		for i := range values {
			values[i] = strconv.Itoa(i)
		}
		ids, err := r.AddAll(t.Context(), values)
		require.NoError(t, err)
		require.Len(t, ids, n)
		for i, m := range collect(t, r, n) {
			require.Equal(t, values[i], m.Value)
			require.Equal(t, ids[i], m.ID)
		}
		r.leaves()
	})
}

// collect receives and acknowledges n messages, many at once, in the order in which
// they came.
func collect(t *testing.T, r *rig, n int) (all []*Message[string]) {
	t.Helper()
	var acks sync.WaitGroup
	for m, err := range r.Consume(t.Context()) {
		require.NoError(t, err)
		acks.Go(func() {
			if err := m.Ack(context.Background()); err != nil {
				t.Errorf("%s: %v", m.Value, err)
			}
		})
		if all = append(all, m); len(all) == n {
			break
		}
	}
	acks.Wait()
	return all
}

func TestAWaitThatIsGivenUpTakesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*time.Millisecond)
				defer cancel()
				if m, err := r.Receive(ctx); err == nil {
					_ = m.Release(context.Background())
				}
			})
			if i%10 == 0 {
				r.adds(strconv.Itoa(i))
			}
		}
		all.Wait()
		seen := map[string]bool{}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			m, err := r.Receive(ctx)
			cancel()
			require.NoError(t, err)
			require.Equal(t, 1, m.Attempt)
			require.NoError(t, m.Ack(t.Context()))
			seen[m.Value] = true
		}
		require.Len(t, seen, 20)
		r.leaves()
	})
}

// TestMessageThatCannotBeDecodedFailsAttempts and is buried after the last one. The rest goes on, and a process that can
// decode the message handles it.
func TestMessageThatCannotBeDecodedFailsAttempts(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		numbers := New[int](r.e, r.name, WithCodec(codec.Text), WithMaxAttempts(2), WithBackoff(func(int) time.Duration { return time.Hour }))
		good, bad := r.adds("a text"), r.adds("no number")
		r.adds("7")
		m, err := numbers.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, 7, m.Value)
		require.NoError(t, m.Ack(t.Context()))
		redistest.Eventually(t, func() bool { return r.counter("retried") == 2 }, soon, time.Millisecond)
		require.Zero(t, r.counter("dead"))
		r.do("ZADD", r.part("due"), "1", decimal(good))
		text := r.gets("a text")
		require.Equal(t, 2, text.Attempt)
		require.NoError(t, text.Ack(t.Context()))
		r.do("ZADD", r.part("due"), "1", decimal(bad))
		_, err = numbers.Poll(t.Context())
		require.ErrorIs(t, err, ErrEmpty)
		redistest.Eventually(t, func() bool { return r.counter("dead") == 1 }, soon, time.Millisecond)
		why := r.do("HGET", r.part("error"), strconv.FormatInt(bad, 10))
		cause, err := why.ToString()
		require.NoError(t, err)
		require.Contains(t, cause, "cannot be decoded")
	})
}

func TestTheWatchdogKeepsAMessage(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		lease := redistest.Scaled(6 * time.Second)
		r = r.with(WithLease(lease))
		other := r.other(WithLease(lease))
		r.adds("a")
		m := r.gets("a")
		ctx := m.Context(t.Context())
		until := time.Now().Add(lease + lease/2)
		for time.Now().Before(until) {
			other.isEmpty()
			require.NoError(t, ctx.Err())
			time.Sleep(20 * time.Millisecond)
		}
		require.NoError(t, m.Ack(t.Context()))
		require.ErrorIs(t, context.Cause(ctx), ErrSettled)
		r.leaves()
	})
}

func TestAnAttemptThatTakesTooLongFails(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		r.adds("a", WithTimeout(50*time.Millisecond))
		m := r.gets("a")
		ctx := m.Context(t.Context())
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrTimeout)
		require.ErrorIs(t, m.Ack(t.Context()), ErrTimeout)
		m = r.gets("a")
		require.Equal(t, 2, m.Attempt)
		require.NoError(t, m.Ack(t.Context()))
		r.leaves()
	})
}

func TestAMessageThatSomebodyHasHadDoesNotExpire(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("a", WithExpiry(500*time.Millisecond))
		r.adds("b", WithExpiry(500*time.Millisecond))
		a, b := r.gets("a"), r.gets("b")
		time.Sleep(600 * time.Millisecond)
		require.NoError(t, b.Release(t.Context()))
		require.NoError(t, a.Nack(t.Context(), errors.New("broken"), WithDelay(0)))
		r.acks("a", "b")
		require.Zero(t, r.counter("expired"))
		r.leaves()
	})
}

// TestIdsAreNotGivenTwice if the queue's last one was forgotten, as by a failover.
func TestIdsAreNotGivenTwice(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		before := r.adds("a")
		kept := r.do("HGET", r.part("meta"), "id")
		text, err := kept.ToString()
		require.NoError(t, err)
		var last int64
		for range 10 {
			time.Sleep(5 * time.Millisecond)
			last = r.adds("lost")
		}
		time.Sleep(20 * time.Millisecond)
		r.do("HSET", r.part("meta"), "id", text) // as on a replica that had heard no more
		after := r.adds("b")
		require.Greater(t, after, last)
		require.Greater(t, after, before)
	})
}
