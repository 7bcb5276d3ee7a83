package election

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// A server that has forgotten a term, as after a failover, is told again.
func TestALeaderSaysAgainWhatTheServerHasForgotten(t *testing.T) {
	t.Parallel()
	e := newBench(t)
	raw := redistest.Shared(t).Client(t)
	client, err := engine.New(t.Context(), raw, engine.Config{WatchdogTimeout: 30 * time.Second, ClientID: a[:36], Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	term, err := New(client, e.name).Campaign(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, term.SetValue(t.Context(), "b"))
	before := e.state()
	require.Equal(t, refresh, term.again())
	require.Equal(t, before, e.state())
	e.do("DEL", e.term())
	require.Equal(t, refresh, term.again())
	require.Equal(t, before, e.state(), "with its last value")
	require.NoError(t, term.Resign(t.Context()))
	state := e.state()
	require.Negative(t, term.again(), "it has nothing more to say")
	require.Equal(t, state, e.state())
}
