package reliable

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// settledNotes is an observer that writes down what became of messages.
type settledNotes struct {
	mu  sync.Mutex
	all []string
}

func (n *settledNotes) Added(context.Context, string, int) {}

func (n *settledNotes) Settled(_ context.Context, s core.Settled) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, s.Outcome)
}

func (n *settledNotes) told() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// TestMessageAfterARedriveIsCountedAnew: its first failure is not its last, and is followed by the first backoff.
func TestMessageAfterARedriveIsCountedAnew(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		outcomes := &settledNotes{}
		r.e.Messages = outcomes
		r = r.with(WithMaxAttempts(2), WithBackoff(func(attempt int) time.Duration { return time.Duration(attempt) * time.Hour }))
		id := r.adds("a")
		nacks := func(opts ...NackOption) *Message[string] {
			m := r.gets("a")
			require.NoError(t, m.Nack(t.Context(), errors.New("no"), opts...))
			return m
		}
		nacks(WithDelay(0))
		buried, err := nacks().Buried(t.Context())
		require.NoError(t, err)
		require.True(t, buried)
		n, err := r.Redrive(t.Context(), id)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		began := time.Now()
		m := nacks()
		require.Equal(t, 3, m.Attempt)
		buried, err = m.Buried(t.Context())
		require.NoError(t, err)
		require.False(t, buried)
		info, err := r.Find(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, Delayed, info.State)
		require.WithinDuration(t, began.Add(time.Hour), info.When, 10*time.Minute)
		require.Equal(t, []string{"retried", "buried", "retried"}, outcomes.told())
	})
}
