package nearcache

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// TestNearCacheOfWhatCannotBeUsed returns the error of the map that it is made of.
func TestNearCacheOfWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	m := rmap.New[string, int](maptest.EngineOn(t, redistest.Shared(t).Client(t)), redistest.Name(t))
	for what, bad := range map[string]rmap.Mapping[string, int]{
		"a nil map or loader": readthrough.New(m, nil),
		"a nil map or writer": writethrough.New(m, nil),
		"is not above 0":      readthrough.New(m, maptest.Quick, readthrough.WithTTLJitter(-1)),
	} {
		for _, opts := range [][]Option{nil, {WithAnnounced()}, {WithMaxBytes(1000)}} {
			n := New(bad, opts...)
			for name, op := range mapkinds.OperationsOf {
				require.ErrorIs(t, op(t.Context(), n), ErrInvalidArgument, name)
				require.ErrorContains(t, op(t.Context(), n), what, name)
			}
			_, err := rmap.Add(t.Context(), n, "k", 1)
			require.ErrorContains(t, err, what)
			require.ErrorContains(t, n.Check(context.Background()), what)
			n.Close()
		}
	}
}
