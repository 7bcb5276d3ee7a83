package rmap

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestComputeOfAClientFarAwayIsNotStarved by others that are near the server: it has its
// turn after a few tries, and so do they.
func TestComputeOfAClientFarAwayIsNotStarved(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]func(e *locking.Engine, name string) Mapping[string, int]{
		"map": func(e *locking.Engine, name string) Mapping[string, int] { return New[string, int](e, name) },
		"ids": func(e *locking.Engine, name string) Mapping[string, int] {
			return New[string, int](e, name, WithRequestIDs())
		},
		"cache": func(e *locking.Engine, name string) Mapping[string, int] { return NewCache[string, int](e, name) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			through, proxy := redistest.ThroughProxy(t, server)
			near, far := of(maptest.EngineOn(t, server.Client(t)), "m"), of(maptest.EngineOn(t, through), "m")
			_, _, err := far.Compute(t.Context(), "k", increment)
			require.NoError(t, err)
			proxy.Delay(20*time.Millisecond, 20*time.Millisecond) // a claim has to outlast both
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var all sync.WaitGroup
			var done atomic.Int64
			for range 2 {
				all.Go(func() { // ends with ctx
					for ctx.Err() == nil {
						_, _, err := near.Compute(ctx, "k", increment)
						if err == nil {
							done.Add(1)
						} else {
							assert.ErrorIs(t, err, context.Canceled)
						}
					}
				})
			}
			redistest.Eventually(t, func() bool { return done.Load() > 10 }, maptest.Soon, time.Millisecond)
			calls, before := 0, done.Load()
			const rounds = 10
			for range rounds {
				_, _, err := far.Compute(t.Context(), "k", func(old int, _ bool) (int, Verdict, error) {
					calls++
					return old + 1, Store, nil
				})
				require.NoError(t, err)
			}
			t.Logf("%d calls of the function for %d Computes", calls, rounds)
			require.LessOrEqual(t, calls, 4*rounds, "each call is one round trip more; without a claim that lasts there were a hundred")
			require.Greater(t, done.Load(), before+rounds, "the others go on, too")
			stop()
			all.Wait()
			proxy.Delay(0, 0)
			n, err := server.Client(t).Do(t.Context(), server.Client(t).B().Exists().Key(keys.MapClaim("m", "k")).Build()).AsInt64()
			require.NoError(t, err)
			require.Zero(t, n, "no claim is left")
		})
	}
}

// TestComputeStandsBackForAClaim, as long as it is there, and no longer.
func TestComputeStandsBackForAClaim(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := maptest.EngineOn(t, raw), t.Context()
		for _, m := range []Mapping[string, int]{New[string, int](e, maptest.Named(t, raw)), NewCache[string, int](e, maptest.CacheNamed(t, raw))} {
			claim := keys.MapClaim(m.Name(), "k")
			maptest.Raws(t, raw, "SET "+claim+" another")
			done := make(chan error, 1)
			calls := 0
			go func() { // ends with the claim
				_, _, err := m.Compute(ctx, "k", func(old int, _ bool) (int, Verdict, error) {
					calls++
					return old + 1, Store, nil
				})
				done <- err
			}()
			redistest.Waits(t, done)
			maptest.Raws(t, raw, "DEL "+claim)
			require.NoError(t, redistest.Done(t, done))
			require.Equal(t, 1, calls, "nothing has changed under it")
			v, _, err := m.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, 1, v)
			_, _, err = m.Compute(ctx, "k", func(int, bool) (int, Verdict, error) { return 0, Keep, errors.New("none") })
			require.Error(t, err)
		}
	})
}

// TestComputeReadsWhereTheReplyToItsClaimIsLost: the look that claims an entry is sent once.
func TestComputeReadsWhereTheReplyToItsClaimIsLost(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]struct {
		looks *scripts.Script
		on    func(e *locking.Engine, name string) common[string, int]
	}{
		"map":   {mapstore.ChangeScript, func(e *locking.Engine, name string) common[string, int] { return New[string, int](e, name).common }},
		"cache": {mapcache.Change, func(e *locking.Engine, name string) common[string, int] { return NewCache[string, int](e, name).common }},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			client, proxy := maptest.Through(t, server)
			m := of.on(maptest.EngineOn(t, client), maptest.CacheNamed(t, server.Client(t)))
			_, _, err := m.Compute(t.Context(), "k", increment)
			require.NoError(t, err)
			key, err := m.m.Codecs.Key("k")
			require.NoError(t, err)
			m.m.Hub.Turns.Contest(m.m.EntryOf(key)).Sticks.Store(int64(m.m.Hub.Engine.Mono() + time.Hour)) // others were faster for long
			lost := proxy.DropReply(redistest.MatchScript(of.looks.Body()), 1)                             // which looks first
			v, _, err := m.Compute(t.Context(), "k", increment)
			require.NoError(t, err, "nothing was written that may be unknown")
			require.Equal(t, 2, v)
			require.Equal(t, 1, lost.Dropped())
		})
	}
}
