package reliable

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestMessageGivenBackTwiceStaysWithItsNextOwner: the reply to a Release was lost for so long that the server has
// forgotten the request, so the client says it again after the message went to another.
func TestMessageGivenBackTwiceStaysWithItsNextOwner(t *testing.T) {
	t.Parallel()
	for how, delay := range map[string]int64{"released": released, "untried": untried} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, r *rig) {
				r.adds("a")
				m := r.gets("a")
				d, until := m.d, m.d.grant.Deadline()
				require.NoError(t, d.settle(t.Context(), &settle{nack: true, delay: delay, cause: "0"}))
				next := r.other()
				has := next.gets("a")
				require.Equal(t, 1, has.Attempt)
				again := &settle{d: d, nack: true, delay: delay, cause: "0", unsure: true, until: until}
				_, err := r.h.steps.Do(t.Context(), d.c.key, ask{settle: again})
				require.NoError(t, err)
				require.True(t, again.resolved)
				r.other().isEmpty()
				require.NoError(t, has.Extend(t.Context(), time.Minute))
				require.NoError(t, has.Ack(t.Context()))
				r.leaves()
			})
		})
	}
}

// TestTakeThatIsForgottenIsTold: a restart without the last writes gives the message to a second consumer. The first is
// told at its next renewal, and the second keeps the message.
func TestTakeThatIsForgottenIsTold(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		const lease = 6 * time.Second
		r := rigOn(t, server.Client(t)).with(WithLease(lease))
		r.adds("a")
		r.do("SAVE")
		first := r.gets("a")
		server.Kill()
		server.Restart()
		second := r.other(WithLease(lease)).gets("a")
		require.Equal(t, first.ID, second.ID)
		require.Equal(t, 1, second.Attempt, "the queue has forgotten the first delivery")
		redistest.Eventually(t, func() bool { return first.Err() != nil }, soon, time.Millisecond)
		require.ErrorIs(t, first.Err(), ErrLost)
		require.ErrorIs(t, first.Ack(t.Context()), ErrLost)
		require.NoError(t, second.Err())
		require.NoError(t, second.Ack(t.Context()))
		r.leaves()
	})
}

// TestLeaseOfAnEarlierVersionRunsOutAndComesAgain: such leases have the id alone, or id:attempt.
func TestLeaseOfAnEarlierVersionRunsOutAndComesAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		first, second := decimal(r.adds("first")), decimal(r.adds("second"))
		cancelled := r.adds("cancelled")
		r.do("DEL", r.part("ready"))
		r.do("HSET", r.part("tries"), second, "1", second+"!", "2")
		ends := decimal(time.Now().UnixMilli() + core.Millis(time.Hour))
		r.do("ZADD", r.part("lease"), ends, first, ends, second+":2", ends, decimal(cancelled))
		r.isEmpty()
		for info, err := range r.Messages(t.Context(), Running) {
			require.NoError(t, err)
			require.Equal(t, Running, info.State)
			require.Zero(t, info.Owner)
			found, err := r.Find(t.Context(), info.ID)
			require.NoError(t, err)
			require.Equal(t, info, found)
		}
		require.ErrorIs(t, r.Remove(t.Context(), cancelled), ErrTaken)
		require.NoError(t, r.Cancel(t.Context(), cancelled))
		r.do("ZADD", r.part("lease"), "1", first, "2", second+":2")
		now := r.with(WithBackoff(func(int) time.Duration { return 0 }))
		attempts := map[string]int{}
		for range 2 {
			m, err := now.Poll(t.Context())
			require.NoError(t, err)
			attempts[m.Value] = m.Attempt
			require.NoError(t, m.Ack(t.Context()))
		}
		require.Equal(t, map[string]int{"first": 2, "second": 3}, attempts)
		r.leaves()
	})
}

// TestOwnerOfAMessageIsTold, for as long as somebody has it.
func TestOwnerOfAMessageIsTold(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		host, err := os.Hostname()
		require.NoError(t, err)
		other := r.other()
		var ids []int64
		for range 20 {
			ids = append(ids, r.adds("a"))
		}
		has := []*Message[string]{r.gets("a"), other.gets("a"), r.gets("a")}
		require.Less(t, has[0].Delivery, has[1].Delivery)
		require.Less(t, has[1].Delivery, has[2].Delivery)
		for i, m := range has {
			info, err := r.Find(t.Context(), m.ID)
			require.NoError(t, err)
			client := r.e.ClientID
			if i == 1 {
				client = other.e.ClientID
			}
			require.Equal(t, Owner{Client: client, PID: os.Getpid(), Host: host}, info.Owner)
			require.Equal(t, m.Delivery, info.Delivery)
		}
		listed := 0
		for info, err := range r.Messages(t.Context(), Running) {
			require.NoError(t, err)
			require.NotZero(t, info.Delivery)
			require.NotZero(t, info.Owner)
			listed++
		}
		require.Equal(t, 3, listed)
		info, err := r.Find(t.Context(), ids[10])
		require.NoError(t, err)
		require.Zero(t, info.Owner)
		require.NoError(t, has[1].Ack(t.Context()))
		require.NoError(t, has[0].Nack(t.Context(), nil, WithDelay(0)))
		require.NoError(t, r.Cancel(t.Context(), has[2].ID))
		n, err := asInt(r.do("EXISTS", r.part("owners")))
		require.NoError(t, err)
		require.Zero(t, n, "nobody has a message")
		r.do("HSET", r.part("meta"), "delivery", "9000000000000000") // the clock was set back since
		next := r.gets("a")
		require.EqualValues(t, 9000000000000001, next.Delivery)
		require.NoError(t, next.Ack(t.Context()))
		require.ErrorIs(t, has[2].Ack(t.Context()), ErrLost)
	})
}

// TestQueueOfALaterFormatIsRefused by every operation, before anything is changed.
func TestQueueOfALaterFormatIsRefused(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("a")
		r.acks("a")
		format := r.do("HGET", r.part("meta"), "format")
		text, err := format.ToString()
		require.NoError(t, err)
		require.Equal(t, "2", text)
		r.adds("b")
		r.do("HSET", r.part("meta"), "format", "3")
		before := r.state()
		for op, do := range operations {
			if op == "serve" {
				continue // which tries again
			}
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			require.ErrorContains(t, do(ctx, r.Queue), "a later version", op)
			cancel()
		}
		require.Equal(t, before, r.state())
	})
}

// state is what the server has of messages and counters.
func (r *rig) state() (all []string) {
	r.t.Helper()
	for _, part := range []string{"body", "meta", "tries", "opt"} {
		all = append(append(all, r.texts("HKEYS", r.part(part))...), r.texts("HVALS", r.part(part))...)
	}
	return append(append(all, r.texts("LRANGE", r.part("ready"), "0", "-1")...), r.texts("ZRANGE", r.part("due"), "0", "-1")...)
}
