package rmap

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	e := maptest.EngineOn(t, user.Client(t))
	for _, opts := range [][]MapOption{{WithCodec(codec.Text)}, {WithCodec(codec.Text), WithRequestIDs(), WithEntryLock()}} {
		m := New[string, int](e, "orders:1", opts...)
		for name, op := range operations {
			require.NoError(t, m.Put(t.Context(), "k", 1))
			if name == "rename" {
				_, err := m.Rename(t.Context(), "orders:{orders:1}")
				require.NoError(t, err)
				continue
			}
			require.NoError(t, op(t.Context(), m, "k", 1), name)
		}
		_, err := Add(t.Context(), New[string, float64](e, "orders:1", opts...), "f", 1.5)
		require.NoError(t, err)
		_, err = m.Remove(t.Context(), "f") // which is none of m's
		require.NoError(t, err)
	}
	for _, opts := range [][]CacheOption{{WithTTL(time.Hour), WithMaxIdle(time.Hour)}, {WithRequestIDs()}} {
		m := NewCache[string, int](e, "orders:2", append(opts, WithCodec(codec.Text))...)
		for _, by := range []Order{LRU, LFU} {
			require.NoError(t, m.SetMaxSize(t.Context(), 2, by))
			m.Events(t.Context())
			w := &world{t, rand.New(rand.NewPCG(1, 2)), m, "", map[string]int{}}
			for i := range 20 { // more than the bound
				require.NoError(t, m.Put(t.Context(), strconv.Itoa(i), i, WithTTL(time.Millisecond)))
			}
			require.NoError(t, m.Clear(t.Context()))
			require.NoError(t, m.SetMaxSize(t.Context(), 1000, by))
			require.NoError(t, m.SetMaxBytes(t.Context(), 400, by))
			for _, step := range steps {
				step(t.Context(), w)
			}
			_, err := m.Touch(t.Context(), "k")
			require.NoError(t, err)
			_, err = m.TTL(t.Context(), "k")
			require.NoError(t, err)
			_, err = m.Expire(t.Context(), time.Hour)
			require.NoError(t, err)
			_, err = m.Persist(t.Context())
			require.NoError(t, err)
			_, err = m.Delete(t.Context())
			require.NoError(t, err)
		}
	}
	sharded := NewSharded[string, int](e, "orders:4", 4, WithCodec(codec.Text))
	for name, op := range wholes {
		require.NoError(t, sharded.Put(t.Context(), "k", 1))
		if name != "rename" {
			require.NoError(t, op(t.Context(), sharded), name)
		}
	}
	user.NothingDenied(t)
}
