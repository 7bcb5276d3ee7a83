package election

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// A server that has forgotten a term, as after a failover, is told again.
func TestALeaderSaysAgainWhatTheServerHasForgotten(t *testing.T) {
	t.Parallel()
	e := newBench(t)
	raw := redistest.Shared(t).Client(t)
	client, err := locking.New(t.Context(), raw, core.Config{WatchdogTimeout: 30 * time.Second, ClientID: a[:36], Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = locking.Close(context.Background(), client) })
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

// TestSetValueArrivesAfterARefresh holds a SetValue back on its way while the leader
// says again what it has said.
func TestSetValueArrivesAfterARefresh(t *testing.T) {
	t.Parallel()
	e := newBench(t)
	server := redistest.Shared(t)
	through, proxy := redistest.ThroughProxy(t, server)
	client, err := locking.New(t.Context(), through, core.Config{WatchdogTimeout: 30 * time.Second, ClientID: a[:36], Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = locking.Close(context.Background(), client) })
	term, err := New(client, e.name).Campaign(t.Context(), "old")
	require.NoError(t, err)
	held := proxy.HoldRequest(redistest.All(redistest.MatchScript(announceScript.Body()), redistest.Arg("new")))
	set := make(chan error, 1)
	go func() { set <- term.SetValue(context.Background(), "new") }() // ends with the answer
	held.Await(t)
	// The refresh passes it, as on another connection of the client.
	direct, err := locking.New(t.Context(), server.Client(t), core.Config{WatchdogTimeout: 30 * time.Second, ClientID: a[:36], Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = locking.Close(context.Background(), direct) })
	other := &Term{of: New(direct, e.name), hold: term.hold, owner: term.owner, token: term.token}
	term.mu.Lock()
	other.value, other.taken, other.version = term.value, term.taken, term.version
	term.mu.Unlock()
	require.Equal(t, refresh, other.again())
	held.Release()
	require.NoError(t, <-set)
	value, err := server.Client(t).Do(t.Context(), server.Client(t).B().Hget().Key(e.term()).Field("value").Build()).ToString()
	require.NoError(t, err)
	require.Equal(t, "new", value, "SetValue said that the server has it")
	require.NoError(t, term.Resign(t.Context()))
}

// TestTermIsDueAtTheNodeOfItsElection: what waits for a silent node delays nothing that
// is due at another one.
func TestTermIsDueAtTheNodeOfItsElection(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"name", "{tag}:name"} {
		term := &Term{of: &Election{p: newProtocol(new(locking.Engine), name)}, owner: a}
		require.True(t, strings.HasPrefix(term.due().Name, keys.Term(name)+":"), "the first hash tag is that of the election")
	}
}
