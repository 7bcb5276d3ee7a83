package readthrough

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// loadScripts are those that a load sends, by the kind of map.
var loadScripts = map[string]map[string]string{
	"map":   {"look": mapstore.LoadLookScript.Body(), "put": mapstore.LoadPutScript.Body(), "end": mapstore.LoadEndScript.Body()},
	"cache": {"look": mapcache.LoadLook.Body(), "put": mapcache.LoadPut.Body(), "end": mapstore.LoadEndScript.Body()},
}

// TestALostReplyOfALoad is as if it had come: nothing is loaded twice because of
// it, but where the lost one said that there is nothing.
func TestALostReplyOfALoad(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, bodies := range loadScripts {
		for what, body := range bodies {
			t.Run(kind+" "+what, func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				calls := atomic.Int64{}
				l := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, client), maptest.CacheNamed(t, raw)), func(ctx context.Context, k string) (int, bool, error) {
					calls.Add(1)
					return maptest.Quick(ctx, k)
				})
				lost := proxy.DropReply(redistest.MatchScript(body), 1)
				for k, want := range map[string]bool{"5": true, "none": false} {
					v, there, err := l.Get(t.Context(), k)
					require.NoError(t, err)
					require.Equal(t, want, there)
					require.Equal(t, want, v == 5)
				}
				lost.Await(t)
				if what != "end" {
					require.EqualValues(t, 2, calls.Load())
				}
				maptest.NothingIsLeft(t, raw, l.Name())
			})
		}
	}
}

// TestALoadThatArrivesLateWritesNothing: its first copy comes when the second was
// answered, and the entry has been removed.
func TestALoadThatArrivesLateWritesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, bodies := range loadScripts {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			m := mapkinds.LoadKinds[kind](maptest.EngineOn(t, client, maptest.ShortSends), maptest.CacheNamed(t, raw))
			look := mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), m.Name())
			l := New(m, maptest.Quick, WithLoadTimeout(time.Minute))
			_, _, err := l.Get(t.Context(), "1") // so that the server knows the scripts
			require.NoError(t, err)
			held := proxy.HoldRequest(redistest.MatchScript(bodies["put"]))
			v, _, err := l.Get(t.Context(), "5")
			require.NoError(t, err)
			require.Equal(t, 5, v)
			_, err = look.Remove(t.Context(), "5")
			require.NoError(t, err)
			held.Release()
			require.NoError(t, look.Put(t.Context(), "6", 6)) // which comes behind it
			there, err := look.Has(t.Context(), "5")
			require.NoError(t, err)
			require.False(t, there)
		})
	}
}

// TestALeaseOfAnotherTypeIsAnError of who would load, and of nobody else.
func TestALeaseOfAnotherTypeIsAnError(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range map[string]func(name string) string{
		"map":   func(name string) string { return keys.MapLoad(name, "5") },
		"cache": func(name string) string { return keys.MapLease(name) + "5" },
	} {
		l := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), maptest.Quick)
		lease := of(l.Name())
		require.NoError(t, raw.Do(t.Context(), raw.B().Rpush().Key(lease).Element("x").Build()).Error())
		_, _, err := l.Get(t.Context(), "5")
		require.ErrorContains(t, err, "WRONGTYPE", kind)
		require.ErrorContains(t, err, l.Name(), kind)
		require.Zero(t, l.aboard("5"))
		require.NoError(t, l.Put(t.Context(), "5", 6))
		v, there, err := l.Get(t.Context(), "5")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 6, v)
		raw.Do(t.Context(), raw.B().Del().Key(lease).Build())
	}
}

// TestALeaseThatNobodyKnowsOfIsGivenBack: the answer to the request that took it is lost, and so is its caller, or there
// is no answer once the lock of the entry is there, too. The next caller loads at once.
func TestALeaseThatNobodyKnowsOfIsGivenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	next := func(t *testing.T, kind, name string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), maptest.Soon)
		defer cancel()
		v, there, err := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), name), maptest.Quick).Get(ctx, "5")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 5, v)
	}
	for kind, bodies := range loadScripts {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			l := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, client, maptest.ShortSends), maptest.CacheNamed(t, raw)), maptest.Quick, WithLoadTimeout(time.Hour))
			lost := proxy.DropReply(redistest.MatchScript(bodies["look"]), 1000)
			ctx, leave := context.WithCancel(t.Context())
			go func() { // ends with the first reply that is lost
				redistest.Eventually(t, func() bool { return lost.Dropped() > 0 }, maptest.Soon, time.Millisecond)
				leave()
			}()
			_, _, err := l.Get(ctx, "5")
			require.Error(t, err)
			lost.Cancel()
			next(t, kind, l.Name())
		})
	}
	t.Run("under the lock", func(t *testing.T) {
		t.Parallel()
		client, proxy := maptest.Through(t, server)
		l := New(mapkinds.LoadKinds["map"](maptest.EngineOn(t, client, maptest.ShortSends), maptest.CacheNamed(t, raw)), maptest.Quick, WithLoadTimeout(time.Hour))
		hold, err := mapkinds.LoadKinds["map"](maptest.EngineOn(t, raw), l.Name()).Lock("5").Lock(t.Context())
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() { // ends when no answer comes
			_, _, err := l.Get(t.Context(), "5")
			failed <- err
		}()
		redistest.Eventually(t, func() bool {
			n, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapLoad(l.Name(), "5")).Build()).AsInt64()
			return err == nil && n == 1
		}, maptest.Soon, time.Millisecond)
		lost := proxy.DropReply(redistest.MatchScript(loadScripts["map"]["look"]), 1000)
		require.NoError(t, hold.Unlock(t.Context()))
		require.Error(t, redistest.Done(t, failed))
		lost.Cancel()
		next(t, "map", l.Name())
	})
}
