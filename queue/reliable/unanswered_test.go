package reliable

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// TestWaitIsNotToldOfAFormerOutage: a consumer outlives its callers, and the failure of one is none of the next.
func TestWaitIsNotToldOfAFormerOutage(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		c := r.consumer(r.policy)
		defer r.done(c)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.fails(core.ErrWaitOver)
		require.ErrorIs(t, c.unanswered(ctx), send.ErrUnreached)
		c.mu.Lock()
		c.failed = time.Now().Add(-time.Minute)
		c.mu.Unlock()
		require.NotErrorIs(t, c.unanswered(ctx), send.ErrUnreached)
		require.ErrorIs(t, c.unanswered(ctx), context.Canceled)
	})
}
