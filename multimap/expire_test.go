package multimap

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAMultimapThatGoesBeforeItsKeysAreWalked leaves no values behind, also of keys
// that are put meanwhile.
func TestAMultimapThatGoesBeforeItsKeysAreWalked(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		ctx, g := t.Context(), multiOn(t, kind, engineOn(t, raw), redistest.Name(t))
		_, err := g.put(ctx, "0", "v")
		require.NoError(t, err)
		fields, more := []string{"0"}, 2*mostKeys
		if onEmbedded(t) {
			more = 100
		}
		for i := range more {
			fields = append(fields, strconv.Itoa(1+i))
		}
		putAlike(t, raw, g, fields)
		there, err := g.ExpireAll(ctx, time.Millisecond)
		require.NoError(t, err)
		require.True(t, there)
		redistest.Eventually(t, func() bool {
			n, err := raw.Do(ctx, raw.B().Exists().Key(g.names.of(fields...)...).Build()).AsInt64()
			return err == nil && n == 0
		}, soon, 10*time.Millisecond)
		_, err = g.put(ctx, "0", "v")
		require.NoError(t, err)
		left, err := g.Remaining(ctx)
		require.NoError(t, err)
		require.EqualValues(t, -1, left, "a new one stays")
	})
}

// putAlike puts v into each key, the first of which has it, as put does. The embedded server runs a script in milliseconds.
func putAlike(t *testing.T, raw rueidis.Client, g *multi[string, string], fields []string) {
	t.Helper()
	add := "RPUSH"
	if strOf(t, raw, "TYPE", g.names.of(fields[0])[2]) == "set" {
		add = "SADD"
	}
	for some := range slices.Chunk(fields[1:], 100) { // a pipeline of all takes a busy machine too long
		index, all := raw.B().Hset().Key(g.names.index).FieldValue(), rueidis.Commands{}
		for _, field := range some {
			index = index.FieldValue(field, keys.GroupField(field))
			all = append(all, raw.B().Arbitrary(add).Keys(keys.Values(g.names.index, field)).Args("v").Build())
		}
		for _, res := range raw.DoMulti(t.Context(), append(all, index.Build())...) {
			require.NoError(t, res.Error())
		}
	}
}

// TestAKeyThatIsPutWhileTheWholeIsToldItsTime has its values go with the whole, also
// where that stays for longer while they are told.
func TestAKeyThatIsPutWhileTheWholeIsToldItsTime(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, raw rueidis.Client, kind string) {
		r := redistest.RecordScripts(t, raw)
		r.Learn(expireWholeScript.Body())
		ctx, g := t.Context(), multiOn(t, kind, engineOn(t, r), redistest.Name(t))
		other := multiOn(t, kind, engineOn(t, raw), g.names.index)
		_, err := g.put(ctx, "k", "v")
		require.NoError(t, err)
		late, n := []string{"k"}, 0
		r.Around(func(script string) {
			if script == "expire_whole.lua" { // about the whole, before or behind a walk
				n++
				late = append(late, strconv.Itoa(n))
				_, err := other.put(ctx, strconv.Itoa(n), "v")
				assert.NoError(t, err)
			}
		}, nil)
		there, err := g.ExpireAll(ctx, 20*time.Second)
		require.NoError(t, err)
		require.True(t, there)
		require.Greater(t, n, 1)
		whole := intOf(t, raw, "PTTL", g.names.index)
		for i, values := range g.names.of(late...)[2:] {
			left := intOf(t, raw, "PTTL", values)
			require.Positive(t, left, late[i])
			require.LessOrEqual(t, left, whole+1000, late[i])
		}
	})
}

// TestEndsOfKeysAndOfTheWhole: where the server keeps the times of keys, their
// values go with the key or with the whole, whichever is first.
func TestEndsOfKeysAndOfTheWhole(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
			ctx, g := t.Context(), multiOn(t, kind, engineOn(t, raw), redistest.Name(t), WithNativeExpiry())
			minutes := func(key string) int64 {
				ms := intOf(t, raw, "PTTL", key)
				if ms < 0 {
					return ms
				}
				return (ms + 30_000) / 60_000
			}
			values := g.names.of("short", "long", "none")[2:]
			check := func(short, long, none int64) {
				t.Helper()
				require.Equal(t, []int64{short, long, none}, []int64{minutes(values[0]), minutes(values[1]), minutes(values[2])})
			}
			for _, k := range []string{"short", "long", "none"} {
				_, err := g.put(ctx, k, "v")
				require.NoError(t, err)
			}
			all := func(d time.Duration) {
				t.Helper()
				there, err := g.ExpireAll(ctx, d)
				require.NoError(t, err)
				require.True(t, there)
			}
			one := func(k string, d time.Duration) {
				t.Helper()
				there, err := g.expire(ctx, "expire", k, d)
				require.NoError(t, err)
				require.True(t, there)
			}
			one("short", time.Minute)
			one("long", time.Hour)
			check(1, 60, -1)
			all(30 * time.Minute)
			check(1, 30, 30)
			all(90 * time.Minute)
			check(1, 60, 90)
			one("none", 100*time.Minute)
			check(1, 60, 90)
			all(120 * time.Minute)
			check(1, 60, 100)
			there, err := g.expire(ctx, "persist", "none", 0)
			require.NoError(t, err)
			require.True(t, there)
			check(1, 60, 120)
			for _, had := range []bool{true, false} {
				did, err := g.PersistAll(ctx)
				require.NoError(t, err)
				require.Equal(t, had, did)
				check(1, 60, -1)
			}
		})
	}
}
