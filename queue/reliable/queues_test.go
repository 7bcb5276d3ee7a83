package reliable

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// listed returns how often each queue is listed.
func listed(t *testing.T, e *locking.Engine) map[string]int {
	t.Helper()
	all := map[string]int{}
	for name, err := range Queues(t.Context(), e) {
		require.NoError(t, err)
		all[name]++
	}
	return all
}

// TestQueuesAreThoseThatThereAre.
func TestQueuesAreThoseThatThereAre(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		queuesAreListed(t, r.e, r.raw)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, err := range Queues(ctx, r.e) {
			require.Empty(t, name)
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

func queuesAreListed(t *testing.T, e *locking.Engine, raw rueidis.Client) {
	base := redistest.Name(t)
	names := []string{base, base + " *?", base + ":{b}:c", "a{" + base + "}"}
	for _, name := range names {
		_, err := New[string](e, name).Add(t.Context(), "a")
		require.NoError(t, err)
	}
	termed, deleted, empty := base+" termed", base+" deleted", base+" empty"
	require.NoError(t, New[string](e, termed, WithMaxAttempts(3)).SetTerms(t.Context()))
	gone := New[string](e, deleted)
	_, err := gone.Add(t.Context(), "a")
	require.NoError(t, err)
	_, err = gone.Delete(t.Context())
	require.NoError(t, err)
	_, err = New[string](e, empty).Poll(t.Context())
	require.ErrorIs(t, err, ErrEmpty)
	redistest.Do(t, raw, "SET", "rueidisson_queue_meta:{"+base+" text}", "x")

	all := listed(t, e)
	for _, name := range append(names, termed) {
		require.Equal(t, 1, all[name], name)
	}
	for _, name := range []string{deleted, empty, base + " text"} {
		require.Zero(t, all[name], name)
	}
	_, err = gone.Add(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, 1, listed(t, e)[deleted])
}
