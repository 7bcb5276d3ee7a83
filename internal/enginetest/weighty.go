package enginetest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Weighty is an object of texts: what fills it, and each way to go through all of it. The ways are gone in the order of
// their names.
type Weighty struct {
	Fill func(ctx context.Context, v string) error
	Ways map[string]func(ctx context.Context) ([]string, error)
}

// AnswersAreBounded checks that no answer has much more than a megabyte, and that no element is missing or there twice.
func AnswersAreBounded(t *testing.T, kinds map[string]func(e *locking.Engine, name string) Weighty) {
	raw := redistest.Shared(t).Client(t)
	for kind, of := range kinds {
		for _, size := range []int{20, 100_000} {
			t.Run(kind+"/"+strconv.Itoa(size), func(t *testing.T) {
				t.Parallel()
				name, want := redistest.Name(t), []string(nil)
				q := of(Plain(t, raw), name)
				for i := range 60 {
					v := strconv.Itoa(i + 100)
					want = append(want, v+strings.Repeat("x", size-len(v)))
					require.NoError(t, q.Fill(t.Context(), want[i]))
				}
				c := &redistest.Weighed{Client: raw}
				ways := of(Plain(t, c), name).Ways
				for _, way := range slices.Sorted(maps.Keys(ways)) {
					got, err := ways[way](t.Context())
					require.NoError(t, err, way)
					require.Equal(t, want, got, way)
					require.Less(t, c.Most.Swap(0), int64(2<<20), way)
				}
			})
		}
	}
}
