package reliable

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTokenSettlesADeliveryOfAnotherProcess, and only that delivery.
func TestTokenSettlesADeliveryOfAnotherProcess(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		outcomes := &settledNotes{}
		other := r.other()
		other.e.Messages = outcomes
		for _, v := range []string{"acked", "nacked", "released", "kept"} {
			r.adds(v, WithPriority(1))
		}
		has := map[string]*Message[string]{}
		for _, v := range []string{"acked", "nacked", "released", "kept"} {
			has[v] = r.gets(v)
		}
		r.adds("own")
		own := other.gets("own")
		require.NoError(t, other.Ack(t.Context(), has["acked"].Token()))
		require.ErrorIs(t, other.Ack(t.Context(), has["acked"].Token()), ErrLost)
		require.NoError(t, other.Nack(t.Context(), has["nacked"].Token(), errors.New("no"), WithDelay(time.Hour)))
		require.NoError(t, other.Release(t.Context(), has["released"].Token()))
		require.NoError(t, other.Extend(t.Context(), has["kept"].Token(), time.Hour))
		require.ErrorIs(t, other.Extend(t.Context(), has["acked"].Token(), time.Hour), ErrLost)
		require.ErrorIs(t, has["acked"].Ack(t.Context()), ErrLost)
		require.ErrorIs(t, has["nacked"].Extend(t.Context(), time.Minute), ErrLost)
		info, err := r.Find(t.Context(), has["nacked"].ID)
		require.NoError(t, err)
		require.Equal(t, Delayed, info.State)
		require.Equal(t, "no", info.Cause)
		again := other.gets("released")
		require.ErrorIs(t, other.Ack(t.Context(), has["released"].Token()), ErrLost, "that was another delivery")
		require.NoError(t, again.Ack(t.Context()))
		info, err = r.Find(t.Context(), has["kept"].ID)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(time.Hour), info.When, 10*time.Minute)
		require.Equal(t, r.e.ClientID, info.Owner.Client, "it is its client's still")
		require.NoError(t, other.Ack(t.Context(), has["kept"].Token()))
		info, err = r.Find(t.Context(), own.ID)
		require.NoError(t, err)
		require.Equal(t, other.e.ClientID, info.Owner.Client)
		require.NoError(t, own.Ack(t.Context()))
		require.EqualValues(t, 4, r.counter("acked"))
		require.NoError(t, r.Cancel(t.Context(), has["nacked"].ID))
		for _, v := range []string{"nacked", "released", "kept"} {
			require.Error(t, has[v].Ack(t.Context()))
		}
		require.Equal(t, "acked", outcomes.told()[0])
		for _, token := range []string{"", "1", "1:1", "1:1:1:x", "1:1:1:1:1", "0:1:1:1"} {
			require.ErrorIs(t, other.Ack(t.Context(), token), ErrInvalidArgument)
			require.ErrorIs(t, other.Extend(t.Context(), token, time.Minute), ErrInvalidArgument)
		}
		r.leaves()
	})
}

// TestTokensOfSeveralClientsAreCountedForEach, also together with what a process has itself.
func TestTokensOfSeveralClientsAreCountedForEach(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		second, third := r.other(), r.other()
		for range 6 {
			r.adds("a")
		}
		has := []*Message[string]{r.gets("a"), second.gets("a"), third.gets("a"), r.gets("a"), second.gets("a"), third.gets("a")}
		ends := make(chan error, 4)
		for _, m := range has[1:3] {
			go func() { ends <- r.Ack(t.Context(), m.Token()) }()
		}
		go func() { ends <- has[0].Ack(t.Context()) }()
		go func() { ends <- has[3].Nack(t.Context(), nil, WithDelay(time.Hour)) }()
		for range 4 {
			require.NoError(t, redistest.Done(t, ends))
		}
		for _, m := range has[4:] {
			info, err := r.Find(t.Context(), m.ID)
			require.NoError(t, err)
			require.NotZero(t, info.Owner)
			require.NoError(t, m.Ack(t.Context()))
		}
		require.Error(t, has[1].Ack(t.Context()))
		require.Error(t, has[2].Ack(t.Context()))
		n, err := asInt(r.do("EXISTS", r.part("owners")))
		require.NoError(t, err)
		require.Zero(t, n, "nobody has a message")
	})
}

// TestDetachLeavesAMessageToItsToken: it is renewed no more.
func TestDetachLeavesAMessageToItsToken(t *testing.T) {
	t.Parallel()
	onServersTogether(t, func(t *testing.T, r *rig) {
		r = r.with(WithLease(redistest.Scaled(6 * time.Second)))
		r.adds("a")
		tokens := make(chan string, 1)
		stop := r.serves(func(ctx context.Context, m *Message[string]) error {
			if err := m.Detach(ctx, time.Hour); err != nil {
				return err
			}
			if !errors.Is(context.Cause(ctx), ErrDetached) || !errors.Is(m.Ack(ctx), ErrSettled) {
				return errors.New("it is not detached")
			}
			tokens <- m.Token()
			return nil
		})
		token := redistest.Done(t, tokens)
		require.NoError(t, stop())
		require.NoError(t, r.other().Ack(t.Context(), token))
		r.leaves()

		r.adds("b")
		m := r.gets("b")
		require.NoError(t, m.Detach(t.Context(), 2*time.Second))
		require.ErrorIs(t, m.Detach(t.Context(), time.Hour), ErrSettled)
		var again *Message[string]
		redistest.Eventually(t, func() bool {
			got, err := r.other().Poll(t.Context())
			again = got
			return err == nil
		}, soon, 10*time.Millisecond)
		require.Equal(t, 2, again.Attempt)
		require.NoError(t, again.Ack(t.Context()))
	})
}
