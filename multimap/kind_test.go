package multimap

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap"
)

// errorOf drops what an operation returns beside its error.
func errorOf[T any](_ T, err error) error { return err }

// TestMultimapOfAMapsNameChangesNothing: fields that have no id are not a
// multimap's, and no operation removes or overwrites them.
func TestMultimapOfAMapsNameChangesNothing(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		ctx, e := t.Context(), engineOn(t, raw)
		g := kinds[kind](e, named(t, raw))
		m := rmap.New[string, string](e, g.name, rmap.WithCodec(codec.Text))
		entries := map[string]string{"k": "v", "id": keys.GroupField("another key")}
		for i := range 300 {
			entries["more"+decimal(int64(i))] = decimal(int64(i))
		}
		require.NoError(t, m.PutMany(ctx, entries))
		walked := func() (err error) {
			for _, err = range g.All(ctx) {
			}
			return err
		}
		for name, operation := range map[string]func() error{
			"len": func() error { return errorOf(g.Len(ctx)) },
			"keys": func() (err error) {
				for _, err = range g.Keys(ctx) {
				}
				return err
			},
			"all":         walked,
			"get":         func() error { return errorOf(g.Get(ctx, "k")) },
			"count":       func() error { return errorOf(g.Count(ctx, "k")) },
			"has entry":   func() error { return errorOf(g.HasEntry(ctx, "k", "v")) },
			"put":         func() error { return errorOf(g.put(ctx, "k", "w")) },
			"put of id":   func() error { return errorOf(g.put(ctx, "id", "w")) },
			"replace":     func() error { return errorOf(g.replace(ctx, "replace", "k", "w")) },
			"remove":      func() error { return errorOf(g.Remove(ctx, "k", "v")) },
			"remove keys": func() error { return errorOf(g.RemoveKeys(ctx, "k", "absent")) },
			"clear":       func() error { return errorOf(g.clear(ctx, "clear")) },
			"expire":      func() error { return errorOf(g.expire(ctx, "expire", "k", time.Hour)) },
			"expire all":  func() error { return errorOf(g.ExpireAll(ctx, time.Hour)) },
			"persist all": func() error { return errorOf(g.PersistAll(ctx)) },
		} {
			err := operation()
			require.ErrorIs(t, err, ErrWrongKind, name)
			require.Contains(t, err.Error(), "no multimap", name)
		}
		got, err := m.GetMany(ctx, mapKeys(entries)...)
		require.NoError(t, err)
		require.Equal(t, entries, got)
		left, err := m.Remaining(ctx)
		require.NoError(t, err)
		require.EqualValues(t, -1, left)
	})
}

// TestMultimapSweepLeavesAMapsFields: an end without a key of the multimap removes
// nothing of a map.
func TestMultimapSweepLeavesAMapsFields(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		e := engineOn(t, raw)
		g := kinds[kind](e, named(t, raw))
		raws(t, raw, "HSET "+g.names.index+" k v", "ZADD "+g.names.ends+" 1 k")
		v := g.names.sweep(e)
		require.True(t, send.WrongKind(v.Err), "%v", v.Err)
		require.Equal(t, "v", strOf(t, raw, "HGET", g.names.index, "k"))
		raws(t, raw, "DEL "+g.names.ends)
	})
}

func mapKeys[K comparable, V any](m map[K]V) []K {
	ks := make([]K, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	return ks
}

// TestAValueMayLookLikeACachesEntry, since any text may be a value.
func TestAValueMayLookLikeACachesEntry(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		e, name := engineOn(t, raw), named(t, raw)
		cache := rmap.NewCache[string, string](e, name+"-cache", rmap.WithCodecs(codec.Text, codec.Text))
		require.NoError(t, cache.Put(t.Context(), "k", "v"))
		text, err := raw.Do(t.Context(), raw.B().Hget().Key(name+"-cache").Field("k").Build()).ToString()
		require.NoError(t, err)
		require.NotEqual(t, "v", text)
		g := kinds[kind](e, name)
		require.NoError(t, errorOf(g.put(t.Context(), "k", text)))
		got, err := g.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, []string{text}, got)
		require.NoError(t, cache.Clear(t.Context()))
	})
}
