//go:build unix

package main

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
)

// mapOf runs one command of map on a cache.
func (w world) mapOf(code int, args ...string) []string {
	w.t.Helper()
	got := runHere(w.t, []string{envRedis + "=" + w.url}, append([]string{"map", args[0], w.name, "--cache"}, args[1:]...)...)
	require.Equal(w.t, code, got.code, "%q: %s", args, got.errors)
	return strings.FieldsFunc(got.out, func(r rune) bool { return r == '\n' })
}

// newCacheWorld is newWorld, and a cache of that name that goes with the test.
func newCacheWorld(t *testing.T) (world, *rmap.Cache[string, string]) {
	w := newWorld(t)
	m := rmap.NewCache[string, string](w.client(), w.name)
	t.Cleanup(func() {
		all := []string{w.name, keys.MapTimes(w.name), keys.MapRests(w.name), keys.MapAccesses(w.name), keys.MapOptions(w.name), keys.SweepLatch(w.name)}
		assert.NoError(t, w.plain.Do(context.Background(), w.plain.B().Del().Key(all...).Build()).Error())
	})
	return w, m
}

// entryShown is a line of ls --json.
type entryShown struct {
	Key, Value string
	TTL        *int64 `json:"ttl_ms"`
	Idle       *int64 `json:"idle_ms"`
}

func TestMapOfACache(t *testing.T) {
	w, m := newCacheWorld(t)
	assert.Empty(t, w.mapOf(exit.Refused, "get", "a"))
	assert.Empty(t, w.mapOf(0, "put", "a", "1", "--ttl", "1h"))
	assert.Empty(t, w.mapOf(0, "put", "b", "2", "--idle", "1h", "--ttl", "2h"))
	built := start(t, w.url, "map", "put", w.name, "c", "3", "--cache")
	assert.Zero(t, built.code(), built.errors())
	assert.Equal(t, []string{"2"}, w.mapOf(0, "get", "b"))
	v, there, err := m.Get(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, []any{"1", true}, []any{v, there}, "the library reads what the tool has written")

	got := map[string]entryShown{}
	for _, line := range w.mapOf(0, "ls", "--json") {
		var e entryShown
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		got[e.Key] = e
	}
	require.Len(t, got, 3)
	const hour = int64(time.Hour / time.Millisecond)
	between := func(ms *int64, low, high int64) {
		t.Helper()
		require.NotNil(t, ms)
		assert.True(t, *ms > low && *ms <= high, *ms)
	}
	between(got["a"].TTL, hour/2, hour)
	between(got["b"].TTL, hour, 2*hour)
	between(got["b"].Idle, hour/2, hour)
	for _, none := range []*int64{got["a"].Idle, got["c"].TTL, got["c"].Idle} {
		between(none, -2, -1)
	}
	assert.Equal(t, "3", got["c"].Value)
	assert.Equal(t, []string{"c\t3"}, w.mapOf(0, "ls", "--match", "c*"))

	require.NoError(t, m.Put(t.Context(), "d", "4", rmap.WithTTL(time.Millisecond)))
	require.Eventually(t, func() bool { _, there, err := m.Get(t.Context(), "d"); return err == nil && !there }, patience, time.Millisecond)
	assert.Empty(t, w.mapOf(exit.Refused, "get", "d"), "what has expired is not there")
	assert.Len(t, w.mapOf(0, "ls"), 3)
	assert.Equal(t, []string{"2"}, w.mapOf(0, "rm", "a", "b", "d"))
	assert.Equal(t, []string{"0"}, w.mapOf(exit.Refused, "rm", "a"))

	require.NoError(t, w.plain.Do(t.Context(), w.plain.B().Hset().Key(w.name).FieldValue().FieldValue("c", "short").Build()).Error())
	assert.Empty(t, w.mapOf(exit.Unavailable, "get", "c"), "no entry of a cache")
	assert.Empty(t, w.mapOf(exit.Unavailable, "get", "c", "--force"), "no entry of a cache")
	assert.Empty(t, w.mapOf(exit.Unavailable, "ls"))
}

// eventShown is a line of watch --json.
type eventShown struct {
	Time       time.Time
	Event, Key string
	Value, Old any
	Base64     bool
	OldBase64  bool `json:"old_base64"`
}

// awaitWatchers waits until so many hear all events of the cache, and who writes tells of them.
func (w world) awaitWatchers(n int64) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		heard := int64(0)
		for _, kind := range []string{"created", "updated", "removed", "expired"} {
			counts, err := w.plain.Do(w.t.Context(), w.plain.B().PubsubNumsub().Channel(keys.Prefix("redisson_map_cache_"+kind, w.name)).Build()).AsIntMap()
			if err != nil {
				return false
			}
			for _, c := range counts {
				heard += c
			}
		}
		return heard == 4*n && w.number("HEXISTS", keys.MapOptions(w.name), "has-listeners") == 1
	}, patience, 5*time.Millisecond)
}

func TestMapWatch(t *testing.T) {
	w, _ := newCacheWorld(t)
	m := rmap.NewCache[string, any](w.client(), w.name)
	p := start(t, w.url, "map", "watch", w.name, "--cache")
	j := start(t, w.url, "map", "watch", "--json", w.name, "--cache")
	w.awaitWatchers(2)
	require.NoError(t, m.Put(t.Context(), "a", "x"))
	p.awaitLine(0, "created\ta\tx")
	require.NoError(t, m.Put(t.Context(), "a", 7))
	p.awaitLine(0, "updated\ta\t7\tx")
	_, err := m.Remove(t.Context(), "a")
	require.NoError(t, err)
	p.awaitLine(0, "removed\ta\t7")
	require.NoError(t, m.Put(t.Context(), "b", []byte{0xff}, rmap.WithTTL(time.Millisecond)))
	p.awaitLine(0, "expired\tb\t/w==")
	text := rmap.NewCache[string, string](w.client(), w.name, rmap.WithCodec(codec.Text))
	require.NoError(t, text.Put(t.Context(), "c", "\u00c1"))
	p.awaitError("cannot be decoded")
	require.NoError(t, m.Put(t.Context(), "d", "y"))
	p.awaitLine(0, "created\td\ty")

	j.awaitLine(0, ".*\"d\".*")
	var events []eventShown
	for _, line := range j.said() {
		var ev eventShown
		require.NoError(t, json.Unmarshal([]byte(line), &ev), line)
		assert.WithinDuration(t, time.Now(), ev.Time, time.Minute)
		events = append(events, eventShown{Event: ev.Event, Key: ev.Key, Value: ev.Value, Old: ev.Old, Base64: ev.Base64})
	}
	for _, want := range []eventShown{
		{Event: "created", Key: "a", Value: "x"}, {Event: "updated", Key: "a", Value: 7.0, Old: "x"}, {Event: "removed", Key: "a", Value: 7.0},
		{Event: "created", Key: "b", Value: "/w==", Base64: true}, {Event: "expired", Key: "b", Value: "/w==", Base64: true},
		{Event: "created", Key: "d", Value: "y"},
	} {
		assert.Contains(t, events, want)
	}
	p.signal(syscall.SIGINT)
	assert.Zero(t, p.code())
	j.signal(syscall.SIGTERM)
	assert.Equal(t, exit.Signal+int(syscall.SIGTERM), j.code())
}

func TestMapWatchEndsInTimeAndWithItsServer(t *testing.T) {
	w, _ := newCacheWorld(t)
	assert.Empty(t, w.mapOf(0, "watch", "--for", "50ms"))
	lone := worldOn(t, redistest.Start(t))
	p := start(t, lone.url, "map", "watch", lone.name, "--cache")
	lone.awaitWatchers(1)
	lone.server.Kill()
	lone.server.Restart()
	p.awaitLine(0, "gap")
	p.signal(syscall.SIGINT)
	assert.Zero(t, p.code())
}
