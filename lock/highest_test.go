package lock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestFencedReservationIsAboveTheTokenOfItsHold loses the counter of a lock that is
// held, while the server's clock is behind.
func TestFencedReservationIsAboveTheTokenOfItsHold(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	raw := server.Client(t)
	e, err := locking.New(t.Context(), raw, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = locking.Close(context.Background(), e) })
	p, holder := newFencedProtocol(e, redistest.Name(t)), e.IDs.Private()
	held, err := p.Acquire(t.Context(), locking.Try{Owner: holder, Lease: time.Minute, Block: 3})
	require.NoError(t, err)
	require.True(t, held.Free)
	redistest.Do(t, raw, "DEL", p.counter())
	clock.Set(-time.Hour)
	last, err := p.Reserve(t.Context(), holder, 2)
	require.NoError(t, err)
	require.Equal(t, held.Fence+3+2, last, "above those that it has to hand on")
}
