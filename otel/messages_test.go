package otel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// TestAClientTellsWhatBecomesOfMessages, of each in one of the ways to be done with it.
func TestAClientTellsWhatBecomesOfMessages(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	server := rueidissontest.NewServer(t)
	c := server.NewClient(t, rueidisson.WithObserver(r.Observer))
	q := reliable.New[string](c, "orders", reliable.WithMaxAttempts(2))
	_, err := q.AddAll(t.Context(), []string{"acked", "retried", "released", "lost"})
	require.NoError(t, err)
	_, err = q.Add(t.Context(), "unique", reliable.WithUnique("k"), reliable.WithDelay(time.Hour))
	require.NoError(t, err)
	_, err = q.Add(t.Context(), "unique", reliable.WithUnique("k"))
	require.ErrorIs(t, err, reliable.ErrDuplicate)

	next := func() *reliable.Message[string] {
		t.Helper()
		m, err := q.Poll(t.Context())
		require.NoError(t, err)
		return m
	}
	require.NoError(t, next().Ack(t.Context()))
	for range 2 { // the second attempt is the last
		m := next()
		require.Equal(t, "retried", m.Value)
		require.NoError(t, m.Nack(t.Context(), errors.New("secret"), reliable.WithDelay(0)))
	}
	m := next()
	require.NoError(t, m.Release(t.Context()))
	require.NoError(t, next().Ack(t.Context()))
	m = next()
	require.Equal(t, "lost", m.Value)
	raw, err := rueidis.NewClient(server.ClientOption())
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key("rueidisson_queue_lease:{orders}").Build()).Error())
	require.ErrorIs(t, m.Ack(t.Context()), reliable.ErrLost)

	assert.Equal(t, map[string]int64{"rueidisson.queue=orders": 5}, r.sums(t, "rueidisson.queue.added"))
	assert.Equal(t, map[string]int64{
		"rueidisson.outcome=acked,rueidisson.queue=orders": 2, "rueidisson.outcome=retried,rueidisson.queue=orders": 1,
		"rueidisson.outcome=buried,rueidisson.queue=orders": 1, "rueidisson.outcome=released,rueidisson.queue=orders": 1,
		"rueidisson.outcome=lost,rueidisson.queue=orders": 1,
	}, r.sums(t, "rueidisson.queue.settled"))
	assert.Contains(t, r.metrics(t), "rueidisson.queue.handling.duration")
}
