//go:build interop

package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
)

var cacheLookProofs = []proof{
	{row: "map_cache/looks/both", test: bothLookAtACache},
	{row: "map_cache/ends_of_entries/both", test: bothEndEntries},
}

// entryTimes is how long entries have for Java, by minutes: -1 without an end.
func entryTimes(ctx context.Context, t *testing.T, left func(ctx context.Context, key peer.Datum) (int64, error), ks ...string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, k := range ks {
		ms, err := left(ctx, str(k))
		require.NoError(t, err)
		if all[k] = ms; ms > 0 {
			all[k] = int64((time.Duration(ms) * time.Millisecond).Round(time.Minute) / time.Minute)
		}
	}
	return all
}

// bothLookAtACache: to look is no use of an entry, on either side. Go says what the bound is that Java has set.
func bothLookAtACache(t *testing.T, w *world) {
	m := w.sharedCache(t)
	m.putByJava("a", "1", 2*time.Hour, time.Hour)
	m.put("b", "2")
	idle := func() float64 {
		t.Helper()
		n, err := w.redis.Do(m.ctx, w.redis.B().Zscore().Key("redisson__idle__set:{"+m.mine.Name()+"}").Member("a").Build()).AsFloat64()
		require.NoError(t, err)
		return n
	}
	rests := idle()
	distinctTime(m.ctx, t)
	e, there, err := m.mine.Peek(m.ctx, "a")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "1", e.Value)
	require.InDelta(t, 2*time.Hour, e.TTL, float64(time.Minute))
	require.InDelta(t, time.Hour, e.Idle, float64(time.Minute))
	many, err := m.mine.PeekMany(m.ctx, "a", "b", "none")
	require.NoError(t, err)
	require.Len(t, many, 2)
	require.EqualValues(t, -1, many["b"].TTL)
	v, err := m.theirs.GetWithTTLOnly(m.ctx, str("a"))
	require.NoError(t, err)
	require.Equal(t, str("1"), v)
	times, err := m.mine.TTLMany(m.ctx, "a", "b", "none")
	require.NoError(t, err)
	require.Len(t, times, 2)
	require.InDelta(t, time.Hour, times["a"], float64(time.Minute))
	require.Equal(t, rests, idle(), "nobody has used it")

	n, _, err := m.mine.MaxSize(m.ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) { return m.theirs.TrySetMaxSize(ctx, 5, "LFU") })
	n, by, err := m.mine.MaxSize(m.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 5, n)
	require.Equal(t, rmap.LFU, by)
	did, err := m.mine.SetMaxSizeIfAbsent(m.ctx, 9, rmap.LRU)
	require.NoError(t, err)
	require.False(t, did)
	other := w.sharedCache(t)
	did, err = other.mine.SetMaxSizeIfAbsent(m.ctx, 9, rmap.LRU)
	require.NoError(t, err)
	require.True(t, did)
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) { return other.theirs.TrySetMaxSize(ctx, 5, "LFU") })
}

// bothEndEntries: ends that Go gives several entries at once, or a Compute and an Add, count for Java, and Java's for Go.
func bothEndEntries(t *testing.T, w *world) {
	m := w.sharedCache(t)
	javas := func() map[string]int64 {
		t.Helper()
		return entryTimes(m.ctx, t, m.theirs.RemainTimeToLive, "short", "long", "none")
	}
	expire := func(want int64, in time.Duration, when ...rmap.ExpireIf) {
		t.Helper()
		n, err := m.mine.ExpireEntries(m.ctx, []string{"short", "long", "none", "no such"}, in, when...)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	m.putByJava("short", "1", time.Hour, 0)
	m.putByJava("long", "1", 3*time.Hour, 0)
	m.putByJava("none", "1", 0, 0)
	expire(1, 2*time.Hour, rmap.IfGreater)
	require.Equal(t, map[string]int64{"short": 120, "long": 180, "none": -1}, javas())
	expire(1, 4*time.Hour, rmap.IfNotSet)
	require.Equal(t, map[string]int64{"short": 120, "long": 180, "none": 240}, javas())
	expire(2, 150*time.Minute, rmap.IfLess)
	require.Equal(t, map[string]int64{"short": 120, "long": 150, "none": 150}, javas())
	n, err := m.mine.ClearExpire(m.ctx, "none", "short")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	require.Equal(t, map[string]int64{"short": -1, "long": 150, "none": -1}, javas())
	expire(3, time.Hour)
	require.Equal(t, map[string]int64{"short": 60, "long": 60, "none": 60}, javas())
	_, err = m.theirs.ExpireEntries(m.ctx, "", 2*time.Hour, str("short"), str("long"))
	require.NoError(t, err)
	times, err := m.mine.TTLMany(m.ctx, "short", "long", "none")
	require.NoError(t, err)
	require.Len(t, times, 3)
	require.InDelta(t, 2*time.Hour, times["short"], float64(time.Minute))
	require.InDelta(t, time.Hour, times["none"], float64(time.Minute))
	m.holds(map[string]string{"short": "1", "long": "1", "none": "1"})

	_, _, err = m.mine.Compute(m.ctx, "none", func(string, bool) (string, rmap.Verdict, error) { return "2", rmap.Store, nil }, rmap.WithTTL(3*time.Hour))
	require.NoError(t, err)
	_, stored, err := m.mine.ComputeIfAbsent(m.ctx, "new", func() (string, error) { return "3", nil }, rmap.WithTTL(time.Hour))
	require.NoError(t, err)
	require.True(t, stored)
	_, stored, err = m.mine.ComputeIfAbsent(m.ctx, "long", func() (string, error) { return "", errors.New("not called") }, rmap.WithTTL(5*time.Hour))
	require.NoError(t, err)
	require.False(t, stored)
	numbers := rmap.NewCache[string, int64](w.client(t, answersMayTakeLong), m.mine.Name(), rmap.WithCodec(codec.Text))
	sum, err := rmap.Add(m.ctx, numbers, "short", 4, rmap.WithTTL(4*time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 5, sum)
	require.Equal(t, map[string]int64{"none": 180, "new": 60, "long": 120, "short": 240},
		entryTimes(m.ctx, t, m.theirs.RemainTimeToLive, "none", "new", "long", "short"))
	m.holds(map[string]string{"short": "5", "long": "1", "none": "2", "new": "3"})
}
