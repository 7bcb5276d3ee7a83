package rmap

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// loadScripts are those that a load sends, by the kind of map.
var loadScripts = map[string]map[string]string{
	"map":   {"look": loadLookScript.Body(), "put": loadPutScript.Body(), "end": loadEndScript.Body()},
	"cache": {"look": mapcache.LoadLook.Body(), "put": mapcache.LoadPut.Body(), "end": loadEndScript.Body()},
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
				client, proxy := through(t, server)
				calls := atomic.Int64{}
				l := NewLoading(loadKinds[kind](engineOn(t, client), cacheNamed(t, raw)), func(ctx context.Context, k string) (int, bool, error) {
					calls.Add(1)
					return quick(ctx, k)
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
				nothingIsLeft(t, raw, l.Name())
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
			client, proxy := through(t, server)
			m := loadKinds[kind](engineOn(t, client, shortSends), cacheNamed(t, raw))
			look := loadKinds[kind](engineOn(t, raw), m.Name())
			l := NewLoading(m, quick, WithLoadTimeout(time.Minute))
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
