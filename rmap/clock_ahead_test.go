package rmap

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestCacheOfAClockThatIsAheadIsNotSwept: a process an hour ahead of the server drops no
// sessions of the fleet, and says so; one whose clock is right drops what has expired.
func TestCacheOfAClockThatIsAheadIsNotSwept(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	raw := server.Client(t)
	clock.Set(-time.Hour) // the server's is an hour behind that of this process
	var log enginetest.Log
	ahead := NewCache[string, int](maptest.EngineOn(t, raw, func(c *core.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}), "sessions")
	require.NoError(t, ahead.Put(t.Context(), "k", 1, WithTTL(time.Millisecond)))
	require.Eventually(t, func() bool { return len(log.String()) > 0 }, maptest.Soon, time.Millisecond)
	require.Contains(t, log.String(), "not swept")
	require.Contains(t, log.String(), "ahead of the server's")
	n, err := ahead.Len(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	clock.Set(0)
	right := NewCache[string, int](maptest.EngineOn(t, raw), "sessions")
	require.NoError(t, right.Put(t.Context(), "other", 1, WithTTL(time.Millisecond)))
	redistest.Eventually(t, func() bool { n, err := right.Len(t.Context()); return err == nil && n == 0 }, maptest.Soon, time.Millisecond)
}
