package rmap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestANativeMapIsReadWhileAServerRefusesWrites, also by who has not used it before.
func TestANativeMapIsReadWhileAServerRefusesWrites(t *testing.T) {
	t.Parallel()
	for how, of := range maptest.Refusals {
		if how == "NOPERM" {
			continue // which refuses reads
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := maptest.NewRefusing(t, redistest.Version("8.0"))
			r.Do("HSET m k 1")
			r.Do(of.Refuse)
			m, ctx := rmap.NewTTLMap[string, int](r.E, "m", rmap.WithCodec(codec.Text)), t.Context()
			v, _, err := m.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, 1, v)
			for name, read := range map[string]func() error{
				"has":  func() error { _, err := m.Has(ctx, "k"); return err },
				"many": func() error { _, err := m.GetMany(ctx, "k"); return err },
				"ttl":  func() error { _, err := m.TTL(ctx, "k"); return err },
			} {
				fieldttl.Of(r.E).Note("m", false)
				require.NoError(t, read(), name)
			}
			fieldttl.Of(r.E).Note("m", false)
			require.Equal(t, map[string]int{"k": 1}, mapkinds.Contents(t, m))
			require.ErrorContains(t, m.Put(ctx, "k", 2), how)
			r.Do(of.Allow)
		})
	}
}
