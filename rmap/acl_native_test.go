package rmap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestTheACLOfTheDocsServesNativeMaps on a server that knows what it adds for them.
func TestTheACLOfTheDocsServesNativeMaps(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t, redistest.Version("8.0")), "../docs/redis.md", "+hpexpire +hpexpireat +hpexpiretime +hpttl +hpersist")
	e := maptest.EngineOn(t, user.Client(t))
	for _, opts := range [][]TTLMapOption{nil, {WithTTL(time.Hour)}, {WithRequestIDs(), WithTTL(time.Hour)}} {
		m := NewTTLMap[string, int](e, "orders:1", opts...)
		for name, op := range natives {
			require.NoError(t, op(t.Context(), m), name)
		}
		require.NoError(t, m.Put(t.Context(), "k", 1, WithTTL(time.Hour)))
		for name, op := range natives { // of an entry that has an end
			require.NoError(t, op(t.Context(), m), name)
		}
		there, err := m.Touch(t.Context(), "k", WithTTL(time.Hour))
		require.NoError(t, err)
		require.True(t, there)
	}
	user.NothingDenied(t)
}
