package topic

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestReliableTopicRefusesWhatItHasNoRoomFor, with the policy, as long as a name has use
// for what is there; Lag is how much that is.
func TestReliableTopicRefusesWhatItHasNoRoomFor(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := reliableOn(t, raw, redistest.Name(t), WithMaxLength(5), WithFullPolicy(Refuse))
		t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(r.of.missed, r.of.holders).Build()) })
		d := r.Durable("billing")
		lag := func(want int64) {
			t.Helper()
			n, err := d.Lag(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		lag(0)
		r.durable("billing").Close()
		lag(0)
		r.publishes(1, numbers(0, 5)...)
		lag(5)
		_, err := r.Publish(t.Context(), "more")
		require.ErrorIs(t, err, ErrFull)
		require.ErrorContains(t, err, r.Name())
		lag(5)
		s := r.durable("billing")
		s.hears(t, "0", "1") // which asks for the third
		redistest.Eventually(t, func() bool { n, err := d.Lag(t.Context()); return err == nil && n == 3 }, soon, soon/1000)
		r.publishes(1, "5", "6")
		_, err = r.Publish(t.Context(), "more")
		require.ErrorIs(t, err, ErrFull)
		s.hears(t, "2", "3", "4", "5", "6")
		r.awaitLen(0)
		lag(0)

		dropping := reliableOn(t, raw, r.of.key, WithMaxLength(5))
		for range 7 {
			dropping.publishes(1, "x")
		}
		none := NewReliable[string](r.e, r.of.key, WithFullPolicy(Refuse))
		_, err = none.Publish(t.Context(), "a")
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = NewReliable[string](r.e, r.of.key, WithMaxLength(1), WithFullPolicy(7)).Publish(t.Context(), "a")
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

// TestReliableTopicDoesNotAppendOnAFullServer, though it drops at first what nobody has use for.
func TestReliableTopicDoesNotAppendOnAFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	r := reliableBy(t, raw, engineOn(t, server.Client(t)), redistest.Name(t), WithMaxLength(5), WithFullPolicy(Refuse))
	redistest.Do(t, raw, "XGROUP", "CREATE", r.of.key, "g", "0", "MKSTREAM")
	r.publishes(1, numbers(0, 5)...)
	redistest.Do(t, raw, "XGROUP", "SETID", r.of.key, "g", "$") // of no use any more, and there still
	redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "1")
	_, err := r.Publish(t.Context(), "more")
	require.ErrorContains(t, err, "OOM")
	r.awaitLen(5)
	redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "0")
	r.publishes(1, "more")
	r.awaitLen(1)
}
