package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// call is a command, and what it has to come to.
type call struct {
	args, out string
	code      int
}

// check runs commands one after the other.
func check(t *testing.T, env []string, calls []call) {
	t.Helper()
	for _, c := range calls {
		got := runHere(t, env, strings.Fields(c.args)...)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		require.Equal(t, c.out, got.out, c.args)
	}
}

func keysLike(t *testing.T, s *rueidissontest.Server, pattern string) []string {
	t.Helper()
	c, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	defer c.Close()
	all, err := c.Do(t.Context(), c.B().Keys().Pattern(pattern).Build()).AsStrSlice()
	require.NoError(t, err)
	return all
}

func TestBarrierRemove(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=" + rueidissontest.NewServer(t).URL()}
	waiting := make(chan said, 1)
	go func() { waiting <- runHere(t, env, "barrier", "await", "b", "2") }() // ends with the barrier
	redistest.Eventually(t, func() bool { return runHere(t, env, "barrier", "info", "b").out == "1\n" }, redistest.Soon, time.Millisecond)
	check(t, env, []call{
		{"barrier rm b", "b: removed\n", 0},
		{"barrier rm b", "", exit.Refused},
		{"barrier rm b --json", `{"name":"b","found":false}` + "\n", exit.Refused},
		{"barrier info b", "", exit.Refused},
		{"barrier ls", "", 0},
		{"map put m k v", "", 0},
		{"barrier rm m", "", exit.Unavailable},
		{"barrier rm", "", exit.Usage},
	})
	require.Equal(t, exit.Lost, redistest.Done(t, waiting).code)
	check(t, env, []call{{"barrier await b 1", "0\n", 0}, {"barrier rm b --json", `{"name":"b","removed":true}` + "\n", 0}})
}

// TestElectionRemove: the term is forgotten, and its number is not given again. A leader is not forgotten.
func TestElectionRemove(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	term, err := server.NewClient(t).Election("e").Campaign(t.Context(), "v")
	require.NoError(t, err)
	got := runHere(t, env, "election", "rm", "e")
	require.Equal(t, exit.Unavailable, got.code)
	require.Contains(t, got.errors, "has a leader")
	require.NoError(t, term.Err())
	require.NoError(t, term.Resign(t.Context()))
	check(t, env, []call{
		{"election rm e", "e: removed\n", 0},
		{"election rm e", "", exit.Refused},
		{"election info e --json", `{"name":"e","found":false}` + "\n", exit.Refused},
		{"election ls", "", 0},
		{"lock l --fenced -- true", "", 0},
		{"election rm none --json", `{"name":"none","found":false}` + "\n", exit.Refused},
		{"sem set s 1", "1\n", 0},
		{"election rm s", "", exit.Unavailable},
	})
	again, err := server.NewClient(t).Election("e").Campaign(t.Context(), "v")
	require.NoError(t, err)
	require.Greater(t, again.Fence().Number(), term.Fence().Number())
	require.NoError(t, again.Resign(t.Context()))
	check(t, env, []call{{"election rm e --json", `{"name":"e","removed":true}` + "\n", 0}})
}

func TestMultimap(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=" + rueidissontest.NewServer(t).URL()}
	check(t, env, []call{
		{"multimap get m k", "", exit.Refused},
		{"multimap get m k --json", `{"name":"m","key":"k","found":false}` + "\n", exit.Refused},
		{"multimap put m k a b a", "3\n", 0},
		{"multimap put m k 7 --as int --json", `{"name":"m","key":"k","added":1}` + "\n", 0},
		{"multimap get m k", "a\nb\na\n7\n", 0},
		{"multimap get m k --json", `{"value":"a"}` + "\n" + `{"value":"b"}` + "\n" + `{"value":"a"}` + "\n" + `{"value":7}` + "\n", 0},
		{"multimap get m other", "", exit.Refused},
		{"multimap put m k x --set", "", exit.Unavailable},
		{"multimap put s k a a --set", "1\n", 0},
		{"multimap put s k a", "0\n", 0},
		{"multimap get s k", "a\n", 0},
		{"multimap info s --json", `{"name":"s","kind":"set multimap","held":false,"keys":1,"values":1,"ending":0,"remaining_ms":-1}` + "\n", 0},
		{"multimap get m k --codec text,json", "", exit.Unavailable},
		{"multimap put j k 1 --as int --codec json", "1\n", 0},
		{"multimap get j k --codec json", "1\n", 0},
		{"map put a-map k v", "", 0},
		{"multimap get a-map k", "", exit.Unavailable},
		{"multimap put a-map k v", "", exit.Unavailable},
		{"multimap put m k", "", exit.Usage},
		{"multimap put m k v --as date", "", exit.Usage},
		{"multimap get m k --codec none", "", exit.Usage},
		{"multimap get m", "", exit.Usage},
		{"multimap", "", exit.Usage},
	})
	require.Equal(t, said{out: "3\n"}, runWithInput(t, env, "one\ntwo\nthree", "multimap", "put", "in", "k", "-"))
	require.Equal(t, said{out: "one\ntwo\nthree\n"}, runHere(t, env, "multimap", "get", "in", "k"))
	require.Equal(t, said{out: "0\n"}, runWithInput(t, env, "", "multimap", "put", "in", "k", "-"))
	got := runHere(t, env, "multimap", "get", "m", "k", "--codec", "text,json")
	require.Equal(t, 4, strings.Count(got.errors, "cannot be decoded"), got.errors)
}

func TestMapSharded(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=" + rueidissontest.NewServer(t).URL()}
	check(t, env, []call{
		{"map get s k --sharded", "", exit.Refused},
		{"map ls s --sharded", "", 0},
		{"map put s k v --sharded", "", exit.Usage},
		{"map put s k v --shards 3", "", exit.Usage},
		{"map put s k v --sharded --shards 0", "", exit.Usage},
		{"map put s k v --sharded --shards 3", "", 0},
		{"map put s k v --sharded --shards 4", "", exit.Usage},
		{"map put s l 7 --sharded --as int", "", 0},
		{"map get s l --sharded", "7\n", 0},
		{"map get s k", "", exit.Unavailable},
		{"map get s k --sharded --cache", "", exit.Usage},
		{"map watch s --sharded --cache", "", exit.Usage},
		{"map dead s --sharded", "", exit.Usage},
		{"map ls s --sharded --match k", "k\tv\n", 0},
		{"map ls --sharded", "s\n", 0},
		{"map ls --sharded --match t*", "", 0},
		{"map ls --sharded --match s* --json", `{"name":"s","kind":"sharded map"}` + "\n", 0},
		{"map ls --sharded --scan 0", "", exit.Usage},
		{"map ls s --sharded --scan 9", "", exit.Usage},
		{"map ls", "", exit.Usage},
		{"map info s --json", `{"name":"s","kind":"sharded map","held":false,"shards":3,"entries":2,"remaining_ms":-1}` + "\n", 0},
		{"map rm s k --sharded", "1\n", 0},
		{"map put plain k v", "", 0},
		{"map get plain k --sharded", "", exit.Unavailable},
		{"map get plain k --sharded --force", "", exit.Unavailable},
		{"map rm s --all --cache", "", exit.Unavailable},
		{"map rm s --all", "s: removed\n", 0},
		{"map info s", "", exit.Refused},
	})
	require.Contains(t, runHere(t, env, "map", "put", "s", "k", "v", "--sharded").errors, "--shards N makes one")
	require.Zero(t, runHere(t, env, "map", "put", "s", "k", "v", "--sharded", "--shards", "2").code)
	require.Contains(t, runHere(t, env, "map", "get", "s", "k").errors, "give --sharded")
	require.Contains(t, runHere(t, env, "map", "get", "plain", "k", "--sharded").errors, "leave --sharded out")
}

func TestMapRemoveAll(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	c := server.NewClient(t)
	require.NoError(t, rmap.NewCache[string, string](c, "bound").SetMaxSize(t.Context(), 9, rmap.LRU))
	check(t, env, []call{
		{"map rm m --all", "", exit.Refused},
		{"map rm m --all --json", `{"name":"m","found":false}` + "\n", exit.Refused},
		{"map rm m", "", exit.Usage},
		{"map put m k v", "", 0},
		{"map rm m k --all", "", exit.Usage},
		{"map get m k", "v\n", 0},
		{"map info m --json", `{"name":"m","kind":"map","held":false,"entries":1,"remaining_ms":-1}` + "\n", 0},
		{"map rm m --all --json", `{"name":"m","removed":true}` + "\n", 0},
		{"map get m k", "", exit.Refused},
		{"map put bound k v --cache", "", 0},
		{"map rm bound --all", "bound: removed\n", 0},
		{"sem set s 1", "1\n", 0},
		{"map rm s --all", "", exit.Unavailable},
		{"map info s", "", exit.Unavailable},
	})
	require.Empty(t, keysLike(t, server, "*bound*options*"), "its bound is removed, too")
}

// TestMapInfoOfNearCaches: an announced near cache has a subscription on the server, a tracked one has nothing.
func TestMapInfoOfNearCaches(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := []string{envRedis + "=redis://" + server.Addr()}
	c, err := rueidisson.Open("redis://" + server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(t.Context())) })
	require.NoError(t, rmap.New[string, string](c, "m", rmap.WithAnnounce()).Put(t.Context(), "k", "v"))
	tracked := nearcache.New(rmap.New[string, string](c, "m"))
	defer tracked.Close()
	_, _, err = tracked.Get(t.Context(), "k")
	require.NoError(t, err)
	require.NotContains(t, runHere(t, env, "map", "info", "m").out, "announced caches")
	near := nearcache.New(rmap.New[string, string](c, "m", rmap.WithAnnounce()), nearcache.WithAnnounced())
	defer near.Close()
	redistest.Eventually(t, func() bool {
		_, _, err := near.Get(t.Context(), "k")
		require.NoError(t, err)
		return strings.Contains(runHere(t, env, "map", "info", "m").out, "announced caches  1\n")
	}, redistest.Soon, 10*time.Millisecond)
	require.Contains(t, runHere(t, env, "map", "info", "m", "--json").out, `"announced_caches":1`)
}

func TestQueueInfoAndRemove(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	c := server.NewClient(t)
	_, err := queue.NewBounded[string](c, "bounded").TrySetCapacity(t.Context(), 3)
	require.NoError(t, err)
	_, err = queue.NewBounded[string](c, "bounded").Offer(t.Context(), "v")
	require.NoError(t, err)
	_, err = queue.NewRing[string](c, "ring").TrySetCapacity(t.Context(), 3)
	require.NoError(t, err)
	_, err = queue.NewRing[string](c, "ring").Offer(t.Context(), "v")
	require.NoError(t, err)
	_, err = queue.NewPriority[string](c, "priority").Offer(t.Context(), "v", 1)
	require.NoError(t, err)
	for _, name := range []string{"bounded", "ring"} { // what waits is removed, too, although another kind shows
		_, err = queue.NewDelayed[string](c, name).Offer(t.Context(), "later", time.Hour)
		require.NoError(t, err)
	}
	check(t, env, []call{
		{"queue info q", "", exit.Refused},
		{"queue rm q", "", exit.Refused},
		{"queue rm q --json", `{"name":"q","found":false}` + "\n", exit.Refused},
		{"queue add q a b", "2\n", 0},
		{"queue info q --json", `{"name":"q","kind":"queue","held":false,"entries":2,"remaining_ms":-1}` + "\n", 0},
		{"queue rm q --delayed", "q: there was none\n", exit.Refused},
		{"queue rm q --bounded", "", exit.Unavailable},
		{"queue rm q --bounded --delayed", "", exit.Usage},
		{"queue rm q --delayed --redisson", "", exit.Usage},
		{"queue rm q x", "", exit.Usage},
		{"queue rm q", "q: removed\n", 0},
		{"queue len q", "0\n", 0},
		{"queue add d a --delayed --delay 1h", "1\n", 0},
		{"queue add d now", "1\n", 0},
		{"queue rm d --delayed --json", `{"name":"d","removed":true}` + "\n", 0},
		{"queue len d", "1\n", 0},
		{"queue add d a --delayed --delay 1h", "1\n", 0},
		{"queue rm d", "d: removed\n", 0},
		{"queue len d", "0\n", 0},
		{"queue add e a --delayed --delay 1h --redisson", "1\n", 0},
		{"queue rm e", "e: removed\n", 0},
		{"queue rm bounded", "bounded: removed\n", 0},
		{"queue rm ring", "ring: removed\n", 0},
		{"queue rm priority", "priority: removed\n", 0},
		{"map put m k v", "", 0},
		{"queue rm m", "", exit.Unavailable},
		{"map rm m --all", "m: removed\n", 0},
	})
	left := keysLike(t, server, "*")
	left = slices.DeleteFunc(left, func(key string) bool { return strings.Contains(key, "request") || strings.Contains(key, "lane") })
	require.Empty(t, left)
}

// TestDelayedDoesNotComeIntoBounded: what waits would come into the queue past its capacity, and change that.
func TestDelayedDoesNotComeIntoBounded(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	_, err := queue.NewBounded[string](server.NewClient(t), "b").TrySetCapacity(t.Context(), 1)
	require.NoError(t, err)
	check(t, env, []call{
		{"queue add b v --delayed --delay 1h", "", exit.Unavailable},
		{"queue add b v --delayed --delay 1h --redisson", "", exit.Unavailable},
		{"queue take b --delayed", "", exit.Unavailable},
		{"queue drain b --delayed", "", exit.Unavailable},
		{"queue len b --delayed", "0\n", 0},
		{"queue add b v --bounded", "1\n", 0},
	})
	require.Contains(t, runHere(t, env, "queue", "add", "b", "v", "--delayed", "--delay", "1h").errors, "bounded queue")
}
