package nearcache

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// TestWritingThroughTellsNearCachesWhatItRemoves.
func TestWritingThroughTellsNearCachesWhatItRemoves(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := maptest.Through(t, server)
	name := maptest.Named(t, raw)
	of := func(e *locking.Engine) *rmap.Map[string, int] {
		return rmap.New[string, int](e, name, rmap.WithAnnounce())
	}
	n := New(of(maptest.EngineOn(t, raw)), WithAnnounced())
	defer n.Close()
	require.NoError(t, n.Put(t.Context(), "k", 7))
	hot(t, n, "k", 7)
	w := writethrough.New(of(maptest.EngineOn(t, client, maptest.ShortSends)), func(context.Context, []writethrough.Change[string, int]) error { return nil })
	require.NoError(t, w.Put(t.Context(), "other", 0))
	held := proxy.HoldRequest(redistest.All(redistest.MatchScript(mapstore.ThroughScript.Body()), redistest.Arg("k")))
	did := make(chan error, 1)
	go func() { did <- w.Put(context.Background(), "k", 8) }() // ends with the answer
	held.Await(t)
	proxy.CutAll()
	require.ErrorIs(t, <-did, ErrOutcomeUnknown)
	redistest.Eventually(t, func() bool {
		_, there, err := n.Get(t.Context(), "k")
		return err == nil && !there
	}, maptest.Soon, time.Millisecond)
	held.Release()
	has, err := of(maptest.EngineOn(t, raw)).Has(t.Context(), "k")
	require.NoError(t, err)
	require.False(t, has, "it came too late")
}
