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
			near, far := of(engineOn(t, server.Client(t)), "m"), of(engineOn(t, through), "m")
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
			redistest.Eventually(t, func() bool { return done.Load() > 10 }, soon, time.Millisecond)
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
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := engineOn(t, raw), t.Context()
		for _, m := range []Mapping[string, int]{New[string, int](e, named(t, raw)), NewCache[string, int](e, cacheNamed(t, raw))} {
			claim := keys.MapClaim(m.Name(), "k")
			raws(t, raw, "SET "+claim+" another")
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
			raws(t, raw, "DEL "+claim)
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
		"map":   {changeScript, func(e *locking.Engine, name string) common[string, int] { return New[string, int](e, name).common }},
		"cache": {mapcache.Change, func(e *locking.Engine, name string) common[string, int] { return NewCache[string, int](e, name).common }},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			client, proxy := through(t, server)
			m := of.on(engineOn(t, client), cacheNamed(t, server.Client(t)))
			_, _, err := m.Compute(t.Context(), "k", increment)
			require.NoError(t, err)
			key, err := m.m.codecs.Key("k")
			require.NoError(t, err)
			m.m.h.contest(m.m.entryOf(key)).sticks.Store(int64(m.m.h.e.Mono() + time.Hour)) // others were faster for long
			lost := proxy.DropReply(redistest.MatchScript(of.looks.Body()), 1)              // which looks first
			v, _, err := m.Compute(t.Context(), "k", increment)
			require.NoError(t, err, "nothing was written that may be unknown")
			require.Equal(t, 2, v)
			require.Equal(t, 1, lost.Dropped())
		})
	}
}
