package writethrough

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// TestTheACLOfTheDocsIsEnoughForStores runs every operation of what loads and of what writes under the user that
// docs/redis.md sets up.
func TestTheACLOfTheDocsIsEnoughForStores(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../../docs/redis.md")
	e := maptest.EngineOn(t, user.Client(t))
	for _, m := range []rmap.Mapping[string, int]{rmap.New[string, int](e, "orders:1"), rmap.NewCache[string, int](e, "orders:2")} {
		l := readthrough.New(m, maptest.Quick)
		for name, op := range mapkinds.OperationsOf {
			require.NoError(t, op(t.Context(), l), name)
		}
		_, _, err := l.Get(t.Context(), "none")
		require.NoError(t, err)
		for _, opts := range ways {
			w := New(m, newBehindMap().write, opts...)
			for name, op := range mapkinds.OperationsOf {
				require.NoError(t, op(t.Context(), w), name)
			}
			require.NoError(t, w.Close(t.Context()))
		}
		if m.Inside().Whole {
			w := New(m, func(context.Context, []Change[string, int]) error { return Discard(errPicky) }, WithBehind(1), WithWriteDelay(time.Millisecond))
			for range 2 {
				require.NoError(t, w.Put(t.Context(), "k", 1))
				require.NoError(t, w.Flush(t.Context()))
				require.NotEmpty(t, dead(t, w))
				_, err = w.Redrive(t.Context())
				require.NoError(t, err)
				require.NoError(t, w.Flush(t.Context()))
				_, err = w.Purge(t.Context())
				require.NoError(t, err)
			}
			require.NoError(t, w.Close(t.Context()))
		}
	}
	user.NothingDenied(t)
}
