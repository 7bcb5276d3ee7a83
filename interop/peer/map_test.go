//go:build interop

package peer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// maps tells what each kind of map writes, and that values keep their class.
func maps(t *testing.T, s *server, java *Peer) {
	ctx := within(t)
	m := java.Map("t1", "map", "String,MsgPackJackson")
	old, err := m.Put(ctx, String("a"), Integer(1))
	require.NoError(t, err)
	require.True(t, old.IsNull())
	require.Equal(t, map[string]string{"a": "\x01"}, s.hash(t, "map"))
	now, err := m.Increment(ctx, String("a"), 3)
	require.NoError(t, err)
	require.Equal(t, Integer(4), now)
	all, err := m.ReadAllMap(ctx)
	require.NoError(t, err)
	require.Equal(t, map[Datum]Datum{String("a"): Integer(4)}, all)
	lock, err := m.NameOfEntryLock(ctx, String("abc"))
	require.NoError(t, err)
	require.Equal(t, "{map}:BhA5LsZVetaLy1jDRVlHJg:lock", lock)
	for _, want := range []Datum{
		String("é -+%"), Long(5), Double(1.5), Bool(true), Bytes([]byte{0, 0xff}), {"Person", `{"age":3,"big":0,"name":"bob","ok":false,"score":0.0}`},
		{"ArrayList", `["a"]`},
	} {
		_, err := m.FastPut(ctx, String("v"), want)
		require.NoError(t, err)
		got, err := m.Get(ctx, String("v"))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	n, err := m.FastRemove(ctx, String("a"), String("v"), String("none"))
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	caches(ctx, t, s, java)
	if java.Version() == Oldest {
		_, err := java.MapCacheNative("t1", "native", "").Get(ctx, String("a"))
		require.Equal(t, "UnsupportedOperationException", Thrown(err))
	}
}

func caches(ctx context.Context, t *testing.T, s *server, java *Peer) {
	m := java.MapCache("t1", "cache", "Kryo5")
	require.NoError(t, m.Listen(ctx))
	_, err := m.FastPutFor(ctx, String("abc"), Long(1), time.Hour, time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.int(t, "ZCARD", "redisson__idle__set:{cache}"))
	left, err := m.RemainTimeToLive(ctx, String("abc"))
	require.NoError(t, err)
	require.Positive(t, left)
	_, err = m.Put(ctx, String("abc"), Long(2))
	require.NoError(t, err)
	_, err = m.Remove(ctx, String("abc"))
	require.NoError(t, err)
	events, err := m.Events(ctx, 3, 10*time.Second)
	require.NoError(t, err)
	removed := Event{"REMOVED", String("abc"), Datum{}, Long(2)}
	if java.Version() == Oldest {
		removed.Value, removed.Old = removed.Old, removed.Value
	}
	require.ElementsMatch(t, []Event{ // their channels have no order among each other
		{"CREATED", String("abc"), Long(1), Datum{}},
		{"UPDATED", String("abc"), Long(2), Long(1)},
		removed,
	}, events)
	require.NoError(t, m.Unlisten(ctx))
	_, err = m.Delete(ctx)
	require.NoError(t, err)
	require.NoError(t, m.Destroy(ctx))
}
