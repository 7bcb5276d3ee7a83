package rueidissontest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rueidissontest"
	"github.com/rueidisson/rueidisson/topic"
)

// TestForwardSaysNothingOnTopics though it wakes waiters by channels of theirs.
func TestForwardSaysNothingOnTopics(t *testing.T) {
	server := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	c := server.NewClient(t)
	orders := topic.New[string](c, "orders")
	plain, err := orders.Listen(t.Context())
	require.NoError(t, err)
	defer plain.Close()
	pattern, err := topic.NewPattern[string](c, "orders*").Listen(t.Context())
	require.NoError(t, err)
	defer pattern.Close()
	kept := topic.NewReliable[string](c, "orders:kept", topic.WithMaxLength(10))
	reliable, err := kept.Durable("billing").Listen(t.Context())
	require.NoError(t, err)
	defer reliable.Close()

	server.Forward(time.Hour)
	_, err = orders.Publish(t.Context(), "first")
	require.NoError(t, err)
	_, err = kept.Publish(t.Context(), "first")
	require.NoError(t, err)
	for v, err := range plain.Messages(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "first", v)
		break
	}
	for m, err := range pattern.Messages(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, topic.Message[string]{Channel: "orders", Value: "first"}, m)
		break
	}
	for v, err := range reliable.Messages(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "first", v)
		break
	}
}

// TestForwardEndsTheGroupOfWhoDied as time does, ten minutes after its last word.
func TestForwardEndsTheGroupOfWhoDied(t *testing.T) {
	server := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	alive := server.NewClient(t)
	raw, err := rueidis.NewClient(server.ClientOption())
	require.NoError(t, err)
	dead, err := rueidisson.Wrap(raw)
	require.NoError(t, err)
	_, err = topic.NewReliable[string](dead, "orders").Listen(t.Context())
	require.NoError(t, err)
	raw.Close() // it says no more
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_ = dead.Close(ctx)
	})
	server.Forward(11 * time.Minute)
	orders := topic.NewReliable[string](alive, "orders")
	s, err := orders.Listen(t.Context())
	require.NoError(t, err)
	defer s.Close()
	n, err := orders.Publish(t.Context(), "first")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	ctx, cancel := context.WithCancel(t.Context())
	for range s.Messages(ctx) {
		cancel() // it asks for the next, so the first is handled
	}
	cancel()
	require.Eventually(t, func() bool {
		n, err := orders.CountSubscribers(context.Background())
		return err == nil && n == 1
	}, time.Minute, time.Millisecond)
}
