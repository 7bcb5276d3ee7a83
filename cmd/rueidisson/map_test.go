package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestHelpOfMap(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"map": {"map", "--help"}}
	for _, command := range []string{"get", "put", "rm", "ls", "watch", "dead", "redrive", "purge"} {
		files["map-"+command] = []string{"map", command, "--help"}
	}
	for name, args := range files {
		got := runHere(t, nil, args...)
		assert.Zero(t, got.code)
		file := filepath.Join("testdata", "help", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.out, "go test -update writes it anew")
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	do := func(args string) said {
		return runHere(t, []string{envRedis + "=" + server.URL()}, append([]string{"map"}, strings.Fields(args)...)...)
	}
	for _, c := range []struct {
		args, out string
		code      int
	}{
		{"get m a", "", 1},
		{"rm m a", "0\n", 1},
		{"ls m", "", 0},
		{"put m a text", "", 0},
		{"get m a", "text\n", 0},
		{"get m a --json", `{"name":"m","key":"a","value":"text"}` + "\n", 0},
		{"put m a 120 --as int", "", 0},
		{"ls m", "a\t120\n", 0},
		{"ls m --json", `{"key":"a","value":120}` + "\n", 0},
		{"get m a --codec text,bytes", "x\n", 0}, // 120 of msgpack
		{"get m a --codec text,json", "", exit.Unavailable},
		{"ls m --codec text,json", "", exit.Unavailable},
		{"put m b 1.5 --as float", "", 0},
		{"get m b", "1.5\n", 0},
		{"put m b true --as bool", "", 0},
		{"get m b --json", `{"name":"m","key":"b","value":true}` + "\n", 0},
		{`put m b {"n":9007199254740993,"a":["x"]} --as json`, "", 0},
		{"put m b /0E= --as base64", "", 0},
		{"get m b", "/0E=\n", 0},
		{"get m b --json", `{"name":"m","key":"b","value":"/0E=","base64":true}` + "\n", 0},
		{"ls m --match b*", "b\t/0E=\n", 0},
		{"rm m a b none --json", `{"name":"m","removed":2}` + "\n", 0},

		{`put j 1 {"n":9007199254740993,"a":["x"]} --as json --codec json`, "", 0},
		{"get j 1 --codec json", `{"a":["x"],"n":9007199254740993}` + "\n", 0},
		{"ls j --codec json --json", `{"key":"1","value":{"a":["x"],"n":9007199254740993}}` + "\n", 0},
		{"ls j", "\"1\"\t{\"a\":[\"x\"],\"n\":9007199254740993}\n", exit.Unavailable}, // shown below, not here
		{"put k 1 5 --as int --codec kryo5", "", 0},
		{"get k 1 --codec kryo5", "5\n", 0},
		{"put k 1 5 --codec kryo5", "", 0},
		{"get k 1 --codec kryo5 --json", `{"name":"k","key":"1","value":"5"}` + "\n", 0},
		{"put l 1 5 --as int --codec text,jackson", "", 0},
		{"get l 1 --codec text,bytes", `["java.lang.Long",5]` + "\n", 0},
		{"get l 1 --codec text,jackson", "5\n", 0},
		{"put l 1 5 --as int --codec text,jackson-msgpack:java.util.Date", "", 0},
		{"get l 1 --codec text,jackson-msgpack", "5\n", 0},

		{"get m a --codec xml", "", exit.Usage},
		{"ls j --match 1 --codec json", "", exit.Usage},
		{"put m a b --as number", "", exit.Usage},
		{"put m a b --as int", "", exit.Usage},
		{"put m a {}{} --as json", "", exit.Usage},
		{"put m a b --ttl 1s", "", exit.Usage},
		{"put m a b --idle 1s", "", exit.Usage},
		{"put m a b --native --idle 1s", "", exit.Usage},
		{"put m a b --cache --native", "", exit.Usage},
		{"put m a b --cache --ttl 0s", "", exit.Usage},
		{"put m a b --cache --ttl 1us", "", exit.Usage},
		{"watch m", "", exit.Usage},
		{"watch m --native", "", exit.Usage},
		{"watch m --cache --for 0s", "", exit.Usage},
		{"watch --cache", "", exit.Usage},
		{"put m a", "", exit.Usage},
		{"get m", "", exit.Usage},
		{"rm m", "", exit.Usage},
		{"ls", "", exit.Usage},
		{"look m", "", exit.Usage},
		{"", "", exit.Usage},
	} {
		got := do(c.args)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		if c.args != "ls j" {
			require.Equal(t, c.out, got.out, c.args)
		}
		require.Equal(t, c.code <= 1, got.errors == "", "%s: %s", c.args, got.errors)
	}
	assert.Contains(t, do("get m a --native").errors, "HPEXPIRE")
}

func TestEntriesOfAnotherCodecAreToldAndTheOthersShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	name := redistest.Name(t)
	require.NoError(t, client.Do(t.Context(), client.B().Hset().Key(name).FieldValue().
		FieldValue("a", "\xa3one").FieldValue("b", "\xc1").FieldValue("c", "\xa1").Build()).Error())
	got := runHere(t, []string{envRedis + "=redis://" + server.Addr()}, "map", "ls", name)
	assert.Equal(t, exit.Unavailable, got.code)
	assert.Equal(t, "a\tone\n", got.out)
	assert.Contains(t, got.errors, `key "b"`)
	assert.Contains(t, got.errors, `key "c"`)

	require.NoError(t, client.Do(t.Context(), client.B().Set().Key(name).Value("text").Build()).Error())
	got = runHere(t, []string{envRedis + "=redis://" + server.Addr()}, "map", "get", name, "a")
	assert.Equal(t, exit.Unavailable, got.code)
	assert.Contains(t, got.errors, "WRONGTYPE")
}

// TestMapBesideAReliableQueue: both may have one name, since such a queue has no key of that name.
func TestMapBesideAReliableQueue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := []string{envRedis + "=redis://" + server.Addr()}
	require.Zero(t, runHere(t, env, "job", "add", "both", "x").code)
	got := runHere(t, env, "map", "put", "both", "k", "v")
	assert.Zero(t, got.code, got.errors)
	require.NoError(t, server.Client(t).Do(t.Context(), server.Client(t).B().Lpush().Key("list").Element("x").Build()).Error())
	got = runHere(t, env, "map", "put", "list", "k", "v")
	assert.Equal(t, exit.Unavailable, got.code)
	assert.Contains(t, got.errors, "an object of another kind")
}

func TestInspectOfMaps(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, env := server.Client(t), []string{envRedis + "=redis://" + server.Addr()}
	do := func(args ...string) {
		t.Helper()
		require.NoError(t, client.Do(t.Context(), client.B().Arbitrary(args...).Build()).Error())
	}
	do("HSET", "prices", "apple", "120", "pear", "2")
	assert.Equal(t, said{out: "name     prices\nkind     map\nentries  2\n"}, runHere(t, env, "inspect", "prices"))
	do("HSET", "pages", "a", "packed")
	do("ZADD", "redisson__timeout__set:{pages}", "1", "a")
	do("HSET", "{pages}:redisson_options", "max-size", "100")
	assert.Equal(t, said{out: `{"name":"pages","kind":"cache","held":false,"entries":1,"max_size":100,"remaining_ms":-1}` + "\n"},
		runHere(t, env, "inspect", "pages", "--json"))
	do("HSET", "{pages}:redisson_options", "max-size", "0", "rueidisson-max-bytes", "4000", "rueidisson-bytes", "7")
	assert.Equal(t, said{out: `{"name":"pages","kind":"cache","held":false,"entries":1,"max_bytes":4000,"bytes":7,"remaining_ms":-1}` + "\n"},
		runHere(t, env, "inspect", "pages", "--json"))
	assert.Equal(t, said{out: "name       pages\nkind       cache\nentries    1\nmax bytes  4000\nbytes      7\n"}, runHere(t, env, "inspect", "pages"))
	do("DEL", "prices", "pages", "redisson__timeout__set:{pages}", "{pages}:redisson_options")
}

// TestInspectDoesNotReadAllOfAMap: a look at a map costs what a look at a
// lock does.
func TestInspectDoesNotReadAllOfAMap(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	const fill = `for i = 1, 5000 do redis.call('HSET', KEYS[1], i, 'v') end`
	require.NoError(t, client.Do(t.Context(), client.B().Eval().Script(fill+" return 1").Numkeys(1).Key("large").Build()).Error())
	got := runHere(t, []string{envRedis + "=redis://" + server.Addr()}, "inspect", "large")
	assert.Contains(t, got.out, "entries  5000")
	stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
	require.NoError(t, err)
	assert.NotContains(t, stats, "cmdstat_hgetall")
	require.NoError(t, client.Do(t.Context(), client.B().Del().Key("large").Build()).Error())
}

// TestMapCommandRefusesANameOfAnotherKind: nothing is written, unless --force is given.
func TestMapCommandRefusesANameOfAnotherKind(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	do := func(code int, args ...string) said {
		t.Helper()
		got := runHere(t, []string{envRedis + "=" + server.URL()}, append([]string{"map"}, args...)...)
		assert.Equal(t, code, got.code, "%s: %s", args, got.errors)
		return got
	}
	do(0, "put", "cache", "k", "v", "--cache")
	do(0, "put", "plain", "k", "v")
	for _, c := range [][]string{
		{"put", "cache", "l", "w"}, {"get", "cache", "k"}, {"rm", "cache", "k"}, {"ls", "cache"}, {"put", "cache", "l", "w", "--native"},
		{"put", "plain", "l", "w", "--cache"}, {"get", "plain", "k", "--cache"}, {"rm", "plain", "k", "--cache"}, {"ls", "plain", "--cache"},
	} {
		got := do(exit.Unavailable, c...)
		assert.Empty(t, got.out, c)
		assert.Contains(t, got.errors, "another kind", c)
		assert.Contains(t, got.errors, "--force", c)
	}
	assert.Equal(t, "k\tv\n", do(0, "ls", "cache", "--cache").out)
	assert.Equal(t, "k\tv\n", do(0, "ls", "plain").out)
	do(0, "put", "plain", "l", "w", "--cache", "--force")
	do(exit.Unavailable, "get", "plain", "l", "--codec", "text,json")
	assert.Equal(t, "1\n", do(0, "rm", "plain", "l", "--force").out)
}
