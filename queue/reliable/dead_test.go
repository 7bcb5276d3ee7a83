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

var errAgain = errors.New("again")

// buriesAll adds messages, which are dead then, in their order.
func (r *rig) buriesAll(values ...string) (ids []int64) {
	r.t.Helper()
	for _, v := range values {
		ids = append(ids, r.buries(v))
	}
	return ids
}

// dead is the same queue, of which the dead are taken.
func (r *rig) dead() *rig {
	other := *r
	other.Queue = r.Dead()
	return &other
}

// holds checks in which state a message is.
func (r *rig) holds(id int64, state State) Info {
	r.t.Helper()
	info, err := r.Find(r.t.Context(), id)
	require.NoError(r.t, err)
	require.Equal(r.t, state, info.State)
	return info
}

// TestDeadMessageIsSettledByItsHandler in each of the ways that Dead names.
func TestDeadMessageIsSettledByItsHandler(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithBackoff(func(attempt int) time.Duration { return time.Duration(attempt) * time.Hour }))
		ctx := t.Context()
		ids := r.buriesAll("acked", "nacked", "retried", "released", "snoozed", "ran out")
		r.isEmpty()
		dead := r.dead()

		m := dead.gets("acked")
		require.Equal(t, 2, m.Attempt)
		r.holds(ids[0], Running)
		n, err := r.Redrive(ctx, ids[0])
		require.NoError(t, err)
		require.Zero(t, n, "somebody has it")
		require.NoError(t, m.Ack(ctx))
		_, err = r.Find(ctx, ids[0])
		require.ErrorIs(t, err, ErrNotFound)

		m = dead.gets("nacked")
		require.NoError(t, m.Nack(ctx, errAgain))
		buried, err := m.Buried(ctx)
		require.NoError(t, err)
		require.True(t, buried)
		info := r.holds(ids[1], Dead)
		require.Equal(t, errAgain.Error(), info.Cause)
		require.Equal(t, 2, info.Attempts)
		require.WithinDuration(t, time.Now().Add(2*time.Hour), info.When, 10*time.Minute)

		m = dead.gets("retried")
		require.NoError(t, m.Nack(ctx, errAgain, WithDelay(0)))
		m = r.gets("retried")
		require.Equal(t, 3, m.Attempt)
		require.NoError(t, m.Nack(ctx, errAgain))
		r.holds(ids[2], Delayed)

		require.NoError(t, dead.gets("released").Release(ctx))
		m = dead.gets("released")
		require.Equal(t, 2, m.Attempt)
		require.NoError(t, m.Release(ctx, WithDelay(time.Hour)))
		r.holds(ids[3], Dead)
		require.NoError(t, dead.gets("snoozed").Ack(ctx))

		m = dead.gets("ran out")
		r.do("ZADD", r.part("lease"), "1", m.d.member)
		dead.isEmpty()
		require.Equal(t, "the lease ran out", r.holds(ids[5], Dead).Cause)
		require.ErrorIs(t, m.Ack(ctx), ErrLost)

		n, err = r.RedriveAll(ctx) // also those that a handler is to have later
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		require.NoError(t, r.Cancel(ctx, ids[2]))
		r.acks("released", "nacked", "ran out")
		r.leaves()
	})
}

// TestDeadMessageWithAGroupAndAUniqueKeyTakesItsPlaceAgain when its handler has it tried again.
func TestDeadMessageWithAGroupAndAUniqueKeyTakesItsPlaceAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		opts := []AddOption{WithGroup("g"), WithUnique("u"), WithExpiry(time.Hour)}
		id := r.buries("a", opts...)
		second := r.adds("second", opts...)
		dead := r.dead()
		m := dead.gets("a")
		require.NoError(t, m.Nack(t.Context(), errAgain, WithDelay(0)))
		buried, err := m.Buried(t.Context())
		require.NoError(t, err)
		require.True(t, buried, "another message has its unique key")
		r.holds(id, Dead)
		require.NoError(t, r.Cancel(t.Context(), second))
		r.do("ZADD", r.part("dead"), "1", decimal(id))
		require.NoError(t, dead.gets("a").Nack(t.Context(), errAgain, WithDelay(time.Hour)))
		r.holds(id, Delayed)
		_, err = r.Add(t.Context(), "third", opts...)
		require.ErrorIs(t, err, ErrDuplicate)
		require.NoError(t, r.RunNow(t.Context(), id))
		r.acks("a")
		r.leaves()
	})
}

// TestServeOfTheDead handles what was buried before and meanwhile, beside the consumers of the queue, of whom none misses a
// message for it.
func TestServeOfTheDead(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		defer all.Wait()
		defer cancel()
		r.buriesAll("before")
		got := make(chan string, 10)
		all.Go(func() {
			_ = r.Dead().Serve(ctx, func(_ context.Context, m *Message[string]) error {
				if m.Value == "again" {
					return RetryIn(errAgain, 0)
				}
				got <- m.Value
				return nil
			})
		})
		require.Equal(t, "before", redistest.Done(t, got))
		redistest.Within(t, mostWait/2, func() time.Duration { // which is not the time after which everybody looks
			r.other().waits(ctx, &all, got)
			r.awaitIdle(1)
			began := time.Now()
			r.adds("fresh")
			require.Equal(t, "fresh", redistest.Done(t, got))
			return time.Since(began)
		})
	})
}

// TestTakeOfTheDeadKeepsTheirOrder, also of what it had no room for.
func TestTakeOfTheDeadKeepsTheirOrder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		long := string(make([]byte, 700_000))
		r.buriesAll(long+"1", long+"2", "3")
		dead := r.Dead()
		var all []*Message[string]
		for len(all) < 3 { // a megabyte at a time
			some, err := dead.ReceiveN(t.Context(), 3-len(all))
			require.NoError(t, err)
			all = append(all, some...)
		}
		for i, m := range all {
			require.Equal(t, strconv.Itoa(i+1), m.Value[len(m.Value)-1:])
		}
		require.NoError(t, dead.AckAll(t.Context(), all...))
		r.leaves()
	})
}

// TestDeadLimitLeavesWhatNoHandlerHasSeen: of too many those go first that a handler of the dead has failed, and then the oldest.
func TestDeadLimitLeavesWhatNoHandlerHasSeen(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithDeadLimit(2, time.Hour*24), WithBackoff(func(int) time.Duration { return time.Hour }))
		require.NoError(t, r.SetTerms(t.Context()))
		dead := r.dead()
		for _, v := range []string{"1", "2"} {
			r.buries(v)
			require.NoError(t, dead.gets(v).Nack(t.Context(), errAgain))
		}
		left := func() (values []string) {
			for info, err := range r.Messages(t.Context(), Dead) {
				require.NoError(t, err)
				values = append(values, string(info.Body))
			}
			return values
		}
		require.Len(t, left(), 2)
		r.buries("3")
		require.Len(t, left(), 2)
		require.Contains(t, left(), "3", "it was buried last, and nobody has seen it")
		r.buries("4")
		require.Equal(t, []string{"3", "4"}, left())
		r.buries("5")
		require.Equal(t, []string{"4", "5"}, left())
		require.NoError(t, dead.gets("4").Ack(t.Context()))
		require.NoError(t, dead.gets("5").Ack(t.Context()))
		r.leaves()
	})
}
