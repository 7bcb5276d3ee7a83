package rmap

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// needy are operations of a cache that needs all its keys, but for some of them: as
// they stand in ObjectOf.
var needy = map[string]struct {
	without string
	do      func(ctx context.Context, m *Cache[string, int]) error
}{
	"put": {"", func(ctx context.Context, m *Cache[string, int]) error { return m.Put(ctx, "k", 1) }},
	"put with times": {"", func(ctx context.Context, m *Cache[string, int]) error {
		return m.Put(ctx, "k", 1, WithTTL(time.Hour), WithMaxIdle(time.Hour))
	}},
	"put many": {"", func(ctx context.Context, m *Cache[string, int]) error {
		return m.PutMany(ctx, map[string]int{"k": 1, "l": 2}, WithTTL(time.Hour))
	}},
	"swap":     {"", func(ctx context.Context, m *Cache[string, int]) error { _, _, err := m.Swap(ctx, "k", 1); return err }},
	"get":      {"", func(ctx context.Context, m *Cache[string, int]) error { _, _, err := m.Get(ctx, "k"); return err }},
	"get many": {"", func(ctx context.Context, m *Cache[string, int]) error { _, err := m.GetMany(ctx, "k"); return err }},
	"has":      {"", func(ctx context.Context, m *Cache[string, int]) error { _, err := m.Has(ctx, "k"); return err }},
	"take":     {"", func(ctx context.Context, m *Cache[string, int]) error { _, _, err := m.Take(ctx, "k"); return err }},
	"remove":   {"", func(ctx context.Context, m *Cache[string, int]) error { _, err := m.Remove(ctx, "k"); return err }},
	"compute": {"", func(ctx context.Context, m *Cache[string, int]) error {
		_, _, err := m.Compute(ctx, "k", func(old int, _ bool) (int, Verdict, error) { return old + 1, Store, nil })
		return err
	}},
	"touch": {"", func(ctx context.Context, m *Cache[string, int]) error {
		_, err := m.Touch(ctx, "k", WithTTL(time.Hour))
		return err
	}},
	"ttl": {"AO", func(ctx context.Context, m *Cache[string, int]) error { _, err := m.TTL(ctx, "k"); return err }},
	"all": {"AO", func(ctx context.Context, m *Cache[string, int]) error {
		for _, err := range m.All(ctx) {
			return err
		}
		return nil
	}},
	"bytes": {"TIA", func(ctx context.Context, m *Cache[string, int]) error { return m.SetMaxBytes(ctx, 1<<20, LRU) }},
	"size":  {"NTIA", func(ctx context.Context, m *Cache[string, int]) error { return m.SetMaxSize(ctx, 5, LRU) }},
}

// TestAKeyOfACacheOfAnotherTypeIsNamed by every operation that needs it, and the
// entries are as before.
func TestAKeyOfACacheOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := maptest.EngineOn(t, raw)
	for what, op := range needy {
		for i, letter := range "NTIAO" {
			name := maptest.CacheNamed(t, raw)
			m := NewCache[string, int](e, name)
			require.NoError(t, m.SetMaxSize(t.Context(), 100, LRU))
			require.NoError(t, m.Put(t.Context(), "k", 5, WithTTL(time.Minute), WithMaxIdle(time.Minute)))
			wrong := mapstore.ObjectOf(name)[i]
			// In one step: a sweep of the cache may write the key in between.
			redistest.Eval(t, raw, "redis.call('del', KEYS[1]) return redis.call('rpush', KEYS[1], 'x')", []string{wrong})
			entries := func() string {
				was, _ := raw.Do(t.Context(), raw.B().Dump().Key(name).Build()).ToString()
				return was
			}
			before, err := entries(), op.do(t.Context(), NewCache[string, int](e, name)) // which has seen nothing of the options
			if strings.ContainsRune(op.without, letter) {
				require.NoError(t, err, what+string(letter))
				continue
			}
			require.ErrorContains(t, err, "WRONGTYPE", what+string(letter))
			require.ErrorContains(t, err, wrong)
			require.Equal(t, before, entries(), what+string(letter))
		}
	}
}
