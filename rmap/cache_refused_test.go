package rmap_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// TestCacheReadsWhereNothingIsWritten: to note that an entry was used never decides
// whether it is read, however it is read, and whatever there is to note.
func TestCacheReadsWhereNothingIsWritten(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"OOM", "NOREPLICAS", "MISCONF"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := maptest.NewRefusing(t)
			ctx := t.Context()
			for _, bound := range []string{"", "LRU", "LFU"} {
				m := rmap.NewCache[string, int](r.E, "m"+bound, rmap.WithCodec(codec.Text))
				require.NoError(t, m.PutMany(ctx, map[string]int{"plain": 1, "other": 2}))
				require.NoError(t, m.PutMany(ctx, map[string]int{"idle": 1}, rmap.WithMaxIdle(time.Hour)))
				if bound != "" {
					require.NoError(t, m.SetMaxSize(ctx, 10, map[string]rmap.Order{"LRU": rmap.LRU, "LFU": rmap.LFU}[bound]))
				}
			}
			r.Do(maptest.Refusals[how].Refuse)
			for _, bound := range []string{"", "LRU", "LFU"} {
				for _, k := range []string{"plain", "idle"} {
					m := rmap.NewCache[string, int](r.E, "m"+bound, rmap.WithCodec(codec.Text)) // which has seen nothing
					l := readthrough.New(m, func(context.Context, string) (int, bool, error) { return 0, false, assert.AnError })
					for what, read := range map[string]func() (int, bool, error){
						"get":       func() (int, bool, error) { return m.Get(ctx, k) },
						"get again": func() (int, bool, error) { return m.Get(ctx, k) },
						"get many": func() (int, bool, error) {
							all, err := m.GetMany(ctx, k, "other")
							return all[k], len(all) == 2, err
						},
						"has":       func() (int, bool, error) { there, err := m.Has(ctx, k); return 1, there, err },
						"loading":   func() (int, bool, error) { return l.Get(ctx, k) },
						"if absent": func() (int, bool, error) { v, stored, err := m.PutIfAbsent(ctx, k, 5); return v, !stored, err },
						"compute": func() (int, bool, error) {
							return m.Compute(ctx, k, func(old int, _ bool) (int, rmap.Verdict, error) { return old, rmap.Keep, nil })
						},
					} {
						v, there, err := read()
						assert.NoError(t, err, "%s of %s, %q", what, k, bound)
						assert.True(t, there, "%s of %s, %q", what, k, bound)
						assert.Equal(t, 1, v, "%s of %s, %q", what, k, bound)
					}
				}
			}
		})
	}
}
