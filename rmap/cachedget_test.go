package rmap

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// parted does something between the two commands of a pipeline.
type parted struct {
	rueidis.Client
	between func()
}

func (p *parted) DoMulti(ctx context.Context, multi ...rueidis.Completed) (all []rueidis.RedisResult) {
	for i, cmd := range multi {
		if i == 1 && p.between != nil {
			p.between()
		}
		all = append(all, p.Do(ctx, cmd))
	}
	return all
}

// waysToRead is both ways to read one entry.
var waysToRead = map[string]func(ctx context.Context, m *Cache[string, int], k string) (int, bool, error){
	"get": func(ctx context.Context, m *Cache[string, int], k string) (int, bool, error) { return m.Get(ctx, k) },
	"get many": func(ctx context.Context, m *Cache[string, int], k string) (int, bool, error) {
		all, err := m.GetMany(ctx, k, "other")
		v, there := all[k]
		return v, there, err
	},
}

// TestAReadSeesOneMoment has others write between the two commands of a read: what
// had expired is never taken for alive.
func TestAReadSeesOneMoment(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, read := range waysToRead {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := maptest.NewHandClock()
			p := &parted{Client: raw}
			m := NewCache[string, int](maptest.EngineOn(t, p, at.On), maptest.CacheNamed(t, raw), WithCodec(codec.Text))
			other := NewCache[string, int](maptest.EngineOn(t, raw, at.On), m.Name(), WithCodec(codec.Text))
			ctx := t.Context()
			_, _, err := read(ctx, m, "seen") // the options
			require.NoError(t, err)

			require.NoError(t, other.Put(ctx, "k", 1, WithTTL(time.Minute)))
			at.Pass(2 * time.Minute)
			p.between = func() {
				p.between = nil
				require.NoError(t, other.Put(ctx, "k", 2, WithTTL(time.Minute)))
			}
			v, there, err := read(ctx, m, "k")
			require.NoError(t, err)
			require.Nil(t, p.between)
			assert.NotEqual(t, 1, v, "it had expired before the read began")
			assert.Equal(t, v == 2, there)

			p.between = func() { _, err := other.Remove(ctx, "k"); require.NoError(t, err) }
			_, there, err = read(ctx, m, "k")
			require.NoError(t, err)
			assert.False(t, there)
		})
	}
}

// TestAReadThatNotesNothingIsNoScript sees what goes out, by what is in the cache.
func TestAReadThatNotesNothingIsNoScript(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, read := range waysToRead {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redistest.RecordScripts(t, raw)
			r.Learn(mapcache.Get.Body())
			// One that a server has not is sent twice.
			require.NoError(t, raw.Do(t.Context(), raw.B().ScriptLoad().Script(mapcache.Get.Body()).Build()).Error())
			at := maptest.NewHandClock()
			m := NewCache[string, int](maptest.EngineOn(t, r, at.On), maptest.CacheNamed(t, raw), WithCodec(codec.Text))
			ctx := t.Context()
			require.NoError(t, m.Put(ctx, "k", 1, WithTTL(time.Hour)))
			require.NoError(t, m.Put(ctx, "idle", 2, WithMaxIdle(time.Hour)))
			_, _, err := read(ctx, m, "k") // the options
			require.NoError(t, err)
			r.Take()

			v, there, err := read(ctx, m, "k")
			require.NoError(t, err)
			assert.Equal(t, []any{1, true}, []any{v, there})
			assert.Empty(t, r.Take())

			v, there, err = read(ctx, m, "idle")
			require.NoError(t, err)
			assert.Equal(t, []any{2, true}, []any{v, there})
			assert.Len(t, r.Take(), 1, "its idle time begins anew")

			at.Pass(time.Minute)
			before := strOf(t, raw, "ZSCORE", keys.MapRests(m.Name()), "idle")
			_, _, err = read(ctx, m, "idle")
			require.NoError(t, err)
			assert.NotEqual(t, before, strOf(t, raw, "ZSCORE", keys.MapRests(m.Name()), "idle"))
			r.Take()
		})
	}
}

// TestWhatIsSeenOfTheOptionsMeanwhileCounts: a read that finds an idle time does not
// hide the bound that the cache was given while it was under way.
func TestWhatIsSeenOfTheOptionsMeanwhileCounts(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, read := range waysToRead {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &parted{Client: raw}
			m := NewCache[string, int](maptest.EngineOn(t, p, maptest.NewHandClock().On), maptest.CacheNamed(t, raw), WithCodec(codec.Text))
			ctx := t.Context()
			require.NoError(t, m.Put(ctx, "k", 1))
			require.NoError(t, m.Put(ctx, "idle", 2, WithMaxIdle(time.Hour)))
			_, _, err := read(ctx, m, "k") // the options
			require.NoError(t, err)
			p.between = func() {
				p.between = nil
				require.NoError(t, m.SetMaxSize(ctx, 10, LFU))
			}
			_, _, err = read(ctx, m, "idle")
			require.NoError(t, err)
			require.Nil(t, p.between)
			for range 2 {
				_, _, err = read(ctx, m, "k")
				require.NoError(t, err)
			}
			assert.Equal(t, "2", strOf(t, raw, "ZSCORE", keys.MapAccesses(m.Name()), "k"))
		})
	}
}

func TestAReadWithoutAScriptIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for command, read := range map[string]string{"ZMSCORE": "get", "HMGET": "get many"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			m := NewCache[string, int](maptest.EngineOn(t, client), maptest.CacheNamed(t, client), WithCodec(codec.Text))
			require.NoError(t, m.Put(t.Context(), "k", 5))
			_, _, err := waysToRead[read](t.Context(), m, "k") // the options
			require.NoError(t, err)
			lost := proxy.DropReply(redistest.All(redistest.Command(command), redistest.Arg("k")), 1)
			v, there, err := waysToRead[read](t.Context(), m, "k")
			require.NoError(t, err)
			assert.Equal(t, []any{5, true}, []any{v, there})
			lost.Await(t)
		})
	}
}

func TestAReadWithoutAScriptNamesAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, read := range waysToRead {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), WithCodec(codec.Text))
			_, _, err := read(t.Context(), m, "k") // the options
			require.NoError(t, err)
			strOf(t, raw, "SET", keys.MapTimes(m.Name()), "x")
			_, _, err = read(t.Context(), m, "k")
			assert.ErrorContains(t, err, "another type")
			assert.ErrorContains(t, err, keys.MapTimes(m.Name()))
		})
	}
}
