package multimap

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMultimapTTLValuesAndHasValue(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		at, ctx := enginetest.NewClock(), t.Context()
		g := multiOn(t, kind, engineOn(t, raw, at.To), redistest.Name(t))
		lasts := func(k string, want time.Duration) {
			t.Helper()
			left, err := g.TTL(ctx, k)
			require.NoError(t, err)
			require.Equal(t, want, left)
		}
		has := func(v string, want bool) {
			t.Helper()
			got, err := g.HasValue(ctx, v)
			require.NoError(t, err)
			require.Equal(t, want, got, v)
		}
		values := func(want ...string) {
			t.Helper()
			var got []string
			for v, err := range g.Values(ctx) {
				require.NoError(t, err)
				got = append(got, v)
			}
			slices.Sort(got)
			require.Equal(t, want, got)
		}
		lasts("a", 0)
		has("1", false)
		values()
		for k, v := range map[string]string{"a": "1", "b": "2", "c": "1"} {
			_, err := g.put(ctx, k, v)
			require.NoError(t, err)
		}
		lasts("a", -1)
		_, err := g.expire(ctx, "expire", "b", time.Minute)
		require.NoError(t, err)
		lasts("b", time.Minute)
		has("2", true)
		has("3", false)
		values("1", "1", "2")
		at.Forward(time.Minute)
		lasts("b", 0)
		has("2", false)
		values("1", "1")
	})
}

func TestMultimapTTLThatTheServerKeeps(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	g, ctx := multiOn(t, "set", engineOn(t, raw), redistest.Name(t), WithNativeExpiry()), t.Context()
	_, err := g.put(ctx, "k", "v")
	require.NoError(t, err)
	left, err := g.TTL(ctx, "k")
	require.NoError(t, err)
	require.EqualValues(t, -1, left)
	_, err = g.expire(ctx, "expire", "k", time.Hour)
	require.NoError(t, err)
	left, err = g.TTL(ctx, "k")
	require.NoError(t, err)
	require.Greater(t, left, 59*time.Minute)
	require.LessOrEqual(t, left, time.Hour)
}

func TestListMultimapRangeIsAPartOfOneList(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		at, ctx := enginetest.NewClock(), t.Context()
		m := NewList[string, int](engineOn(t, raw, at.To), redistest.Name(t), WithCodec(codec.Text))
		t.Cleanup(func() { _, _ = m.Delete(context.Background()) })
		require.NoError(t, m.PutAll(ctx, "k", 0, 1, 2, 3, 4))
		for _, c := range []struct {
			first, last int64
			want        []int
		}{{0, -1, []int{0, 1, 2, 3, 4}}, {1, 2, []int{1, 2}}, {-2, -1, []int{3, 4}}, {3, 100, []int{3, 4}}, {5, 9, []int{}}, {2, 1, []int{}}} {
			got, err := m.Range(ctx, "k", c.first, c.last)
			require.NoError(t, err)
			require.Equal(t, c.want, got, "%d %d", c.first, c.last)
		}
		got, err := m.Range(ctx, "none", 0, -1)
		require.NoError(t, err)
		require.Empty(t, got)
		_, err = m.Expire(ctx, "k", time.Minute)
		require.NoError(t, err)
		at.Forward(time.Minute)
		got, err = m.Range(ctx, "k", 0, -1)
		require.NoError(t, err)
		require.Empty(t, got, "it has ended")
	})
}

// TestListMultimapHasValueLooksAtFewLongListsAtATime, as the server goes through each.
func TestListMultimapHasValueLooksAtFewLongListsAtATime(t *testing.T) {
	t.Parallel()
	r := redistest.RecordScripts(t, redistest.Shared(t).Client(t))
	r.Learn(hasAnyScript.Body())
	for kind, calls := range map[string]int{"list": 3, "set": 1} {
		g, ctx := multiOn(t, kind, engineOn(t, r), redistest.Name(t)), t.Context()
		const lists, long = 25, 1000
		for k := range lists {
			values := make([]string, long)
			for i := range values {
				values[i] = strconv.Itoa(k*long + i)
			}
			_, err := g.put(ctx, strconv.Itoa(k), values...)
			require.NoError(t, err)
		}
		_, err := g.put(ctx, "huge", make([]string, 2*mostLooked)...)
		require.NoError(t, err)
		_, err = g.HasValue(ctx, "none") // the server knows the script from here on, and is sent each call once
		require.NoError(t, err)
		r.Take()
		has, err := g.HasValue(ctx, "none")
		require.NoError(t, err)
		require.False(t, has)
		asked := 0
		for _, c := range r.Take() {
			if c.Script != "has_any.lua" {
				continue
			}
			c.Check(t)
			values := int64(0)
			for _, key := range c.Keys[2:] {
				if kind == "list" {
					values += intOf(t, r.Client, "LLEN", key)
				}
			}
			asked += len(c.Keys) - 2
			require.True(t, len(c.Keys) == 3 || values <= mostLooked, "%d values at once", values)
			calls--
		}
		require.Equal(t, lists+1, asked)
		require.LessOrEqual(t, calls, 0)
		for _, v := range []string{"0", strconv.Itoa(lists*long - 1), ""} {
			has, err := g.HasValue(ctx, v)
			require.NoError(t, err)
			require.True(t, has, v)
		}
	}
}
