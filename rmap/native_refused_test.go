package rmap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestANativeMapIsReadWhileAServerRefusesWrites, also by who has not used it before.
func TestANativeMapIsReadWhileAServerRefusesWrites(t *testing.T) {
	t.Parallel()
	for how, of := range refusals {
		if how == "NOPERM" {
			continue // which refuses reads
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRefusing(t, redistest.Version("8.0"))
			r.do("HSET m k 1")
			r.do(of.refuse)
			m, ctx := NewTTLMap[string, int](r.e, "m", WithCodec(codec.Text)), t.Context()
			v, _, err := m.Get(ctx, "k")
			require.NoError(t, err)
			require.Equal(t, 1, v)
			for name, read := range map[string]func() error{
				"has":  func() error { _, err := m.Has(ctx, "k"); return err },
				"many": func() error { _, err := m.GetMany(ctx, "k"); return err },
				"ttl":  func() error { _, err := m.TTL(ctx, "k"); return err },
			} {
				fieldttl.Of(m.m.h.e).Note("m", false)
				require.NoError(t, read(), name)
			}
			fieldttl.Of(m.m.h.e).Note("m", false)
			require.Equal(t, map[string]int{"k": 1}, contents(t, m))
			require.ErrorContains(t, m.Put(ctx, "k", 2), how)
			r.do(of.allow)
		})
	}
}
