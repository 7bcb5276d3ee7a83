package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// collectionVerbs are the commands of package collections.
var collectionVerbs = map[string][]string{
	"counter": {"add", "get", "set"}, "id": {"next"}, "bloom": {"init", "add", "has", "info", "rm"},
	"set": {"add", "rm", "has", "ls"}, "zset": {"add", "top", "rank"}, "keys": {"ls", "count", "rm"},
}

func TestHelpOfCollections(t *testing.T) {
	t.Parallel()
	files := map[string][]string{}
	for noun, verbs := range collectionVerbs {
		files[noun] = []string{noun, "--help"}
		for _, verb := range verbs {
			files[noun+"-"+verb] = []string{noun, verb, "--help"}
		}
		assert.Equal(t, exit.Usage, runHere(t, nil, noun).code)
		assert.Equal(t, exit.Usage, runHere(t, nil, noun, "nosuch").code)
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

// onTopologies runs a test on the embedded server, a real one, and a cluster.
func onTopologies(t *testing.T, do func(t *testing.T, env []string)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		do(t, []string{envRedis + "=" + rueidissontest.NewServer(t).URL()})
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		do(t, []string{envRedis + "=redis://" + redistest.Start(t).Addr()})
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		do(t, []string{envRedis + "=redis://" + redistest.StartCluster(t).Addrs()[0]})
	})
}

// TestCollections: each command, its answers, and what it refuses.
func TestCollections(t *testing.T) {
	t.Parallel()
	onTopologies(t, func(t *testing.T, env []string) {
		check(t, env, []call{
			{"counter get hits", "0\n", 0},
			{"counter add hits", "1\n", 0},
			{"counter add hits 9007199254740992", "9007199254740993\n", 0},
			{"counter add hits --json -- -9007199254740990", `{"name":"hits","value":3}` + "\n", 0},
			{"counter set hits 40", "40\n", 0},
			{"counter get hits --json", `{"name":"hits","value":40}` + "\n", 0},
			{"counter add hits 9223372036854775807", "", exit.Usage},
			{"counter add hits 1.5", "", exit.Usage},
			{"counter add hits 1 2", "", exit.Usage},
			{"counter set hits", "", exit.Usage},
			{"counter get", "", exit.Usage},

			{"id next orders", "1\n", 0},
			{"id next orders", "5001\n", 0},
			{"id next orders -n 2 --json", `{"id":10001}` + "\n" + `{"id":10002}` + "\n", 0},
			{"id next orders -n 0", "", exit.Usage},
			{"id next orders -n x", "", exit.Usage},
			{"id next", "", exit.Usage},

			{"bloom info seen", "", exit.Refused},
			{"bloom info seen --json", `{"name":"seen","found":false}` + "\n", exit.Refused},
			{"bloom rm seen", "", exit.Refused},
			{"bloom add seen a", "", exit.NoRate},
			{"bloom has seen a", "", exit.NoRate},
			{"bloom init seen 1000 --p 0.001", "seen: made\n", 0},
			{"bloom init seen 1000 --json", `{"name":"seen","made":false}` + "\n", 0},
			{"bloom init seen 1001", "", exit.Unavailable},
			{"bloom init seen 0", "", exit.Usage},
			{"bloom init seen x", "", exit.Usage},
			{"bloom init other 10 --p 1.5", "", exit.Usage},
			{"bloom add seen a b a", "2\n", 0},
			{"bloom add seen a c --json", `{"name":"seen","added":1}` + "\n", 0},
			{"bloom has seen a c", "true\ta\ntrue\tc\n", 0},
			{"bloom has seen a none", "true\ta\nfalse\tnone\n", exit.Refused},
			{"bloom has seen none --json", `{"value":"none","has":false}` + "\n", exit.Refused},
			{"bloom add seen 42 --as int --codec msgpack", "1\n", 0},
			{"bloom has seen 42", "false\t42\n", exit.Refused},
			{"bloom has seen 42 --as int --codec msgpack", "true\t42\n", 0},
			{"bloom info seen --json", `{"name":"seen","n":1000,"p":0.001,"bits":14377,"hashes":10,"count":4,"remaining_ms":-1}` + "\n", 0},
			{"bloom add seen", "", exit.Usage},
			{"bloom add seen x --as int", "", exit.Usage},
			{"bloom add seen x --codec none", "", exit.Usage},
			{"bloom rm seen", "seen: removed\n", 0},
			{"bloom has seen a", "", exit.NoRate},

			{"set rm users ann", "0\n", exit.Refused},
			{"set ls users", "", 0},
			{"set add users ann bob ann", "2\n", 0},
			{"set add users bob --json", `{"name":"users","added":0}` + "\n", 0},
			{"set has users ann bob", "true\tann\ntrue\tbob\n", 0},
			{"set has users eve --json", `{"value":"eve","has":false}` + "\n", exit.Refused},
			{"set rm users bob none", "1\n", 0},
			{"set ls users", "ann\n", 0},
			{"set ls users --json", `{"value":"ann"}` + "\n", 0},
			{"set add users ann --ttl 1m", "", exit.Usage},
			{"set add users ann --cache", "", exit.Unavailable},
			{"set add sessions 4711 --cache --ttl 0", "", exit.Usage},
			{"set add sessions 4711 --cache --ttl 1h", "1\n", 0},
			{"set add sessions 4712 --cache", "1\n", 0},
			{"set has sessions 4711 4712 --cache", "true\t4711\ntrue\t4712\n", 0},
			{"set rm sessions 4712 --cache --json", `{"name":"sessions","removed":1}` + "\n", 0},
			{"set ls sessions --cache", "4711\n", 0},
			{"set ls sessions", "", exit.Unavailable},
			{"set add ms 7 --as int --codec msgpack", "1\n", 0},
			{"set ls ms --codec msgpack --json", `{"value":7}` + "\n", 0},
			{"set add users", "", exit.Usage},

			{"zset top points", "", 0},
			{"zset rank points ann", "", exit.Refused},
			{"zset rank points ann --json", `{"name":"points","found":false}` + "\n", exit.Refused},
			{"zset add points 120 ann 90.5 bob 1e3 eve", "3\n", 0},
			{"zset add points 121 ann --json", `{"name":"points","added":0}` + "\n", 0},
			{"zset top points", "1000\teve\n121\tann\n90.5\tbob\n", 0},
			{"zset top points 1 --lowest", "90.5\tbob\n", 0},
			{"zset top points 1 --json", `{"rank":0,"score":1000,"value":"eve"}` + "\n", 0},
			{"zset rank points bob", "2\n", 0},
			{"zset rank points bob --lowest --json", `{"name":"points","rank":0,"score":90.5}` + "\n", 0},
			{"zset add points --incr -- -0.5 bob 1 ann", "90\n122\n", 0},
			{"zset add points 1 ann --incr --json", `{"score":123,"value":"ann"}` + "\n", 0},
			{"zset add points 1", "", exit.Usage},
			{"zset add points x ann", "", exit.Usage},
			{"zset add points inf ann", "", exit.Usage},
			{"zset top points 0", "", exit.Usage},
			{"zset add users 1 ann", "", exit.Unavailable},
			{"set ls points --cache", "", exit.Unavailable},

			{"keys ls users", "users\n", 0},
			{"keys ls user[s] --json", `{"name":"users"}` + "\n", 0},
			{"keys ls none*", "", 0},
			{"keys ls u*s --type set", "users\n", 0},
			{"keys ls u*s --type hash", "", 0},
			{"keys count user*", "1\n", 0},
			{"keys count user* --json", `{"pattern":"user*","count":1}` + "\n", 0},
			{"keys rm user*", "", exit.Usage},
			{"keys rm * --yes", "", exit.Usage},
			{"keys rm users --yes --pace 2", "", exit.Usage},
			{"keys ls users --type", "", exit.Usage},
			{"keys ls users --type none", "", exit.Usage},
			{"keys ls [", "", exit.Usage},
			{"keys ls", "", exit.Usage},
			{"keys rm user* --yes", "1\n", 0},
			{"keys rm user* --yes --json", `{"pattern":"user*","removed":0}` + "\n", exit.Refused},
			{"set has users ann", "false\tann\n", exit.Refused},
		})
		require.Zero(t, runHere(t, env, "keys", "rm", "*", "--yes", "--all", "--pace", "0.9").code)
		check(t, env, []call{{"keys count *", "0\n", 0}})
	})
}

func value(t *testing.T, raw rueidis.Client, key string) string {
	t.Helper()
	msg := redistest.Do(t, raw, "GET", key)
	text, err := msg.ToString()
	require.NoError(t, err)
	return text
}

// TestCollectionsOfOtherKinds: a command does not take what belongs to something else, and leaves it as it was.
func TestCollectionsOfOtherKinds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := newOnServer(t, server.Addr())
	env := []string{envRedis + "=" + o.url}
	o.rated("rate", ratelimiter.PerHour(5))
	raw := server.Client(t)
	redistest.Do(t, raw, "SET", "text", "no number")
	redistest.Do(t, raw, "HSET", "hash", "f", "v")
	redistest.Do(t, raw, "SET", "hits", "7")
	before := value(t, raw, "rate")
	for _, args := range []string{
		"counter add rate", "counter set rate 1", "counter get rate", "counter add text", "counter set text 1", "counter set hash 1", "counter add hash",
		"id next hash", "id next text", "id next hits", "id next hits -n 3", "bloom init hash 10", "set add hash a", "set add text a --cache", "zset add hash 1 a", "zset top text", "set ls hash",
	} {
		got := runHere(t, env, strings.Fields(args)...)
		require.Equal(t, exit.Unavailable, got.code, "%s: %s", args, got.errors)
		require.Empty(t, got.out, args)
	}
	require.Equal(t, before, value(t, raw, "rate"))
	require.Equal(t, "7", value(t, raw, "hits"))
	require.Contains(t, runHere(t, env, "id", "next", "hits").errors, "it has no block size, as a counter")
	require.Contains(t, runHere(t, env, "counter", "set", "text", "1").errors, "--force replaces it")
	check(t, env, []call{
		{"keys ls hash --type hash", "hash\n", 0},
		{"bloom rm hash", "", exit.Refused}, // it is no filter
		{"keys ls hash --type hash", "hash\n", 0},
		{"counter set text 1 --force", "1\n", 0},
		{"counter set hash 2 --force", "2\n", 0},
	})
}

// TestACounterWhoseKindIsUnknown is left as it is: what the server does not say is no answer.
func TestACounterWhoseKindIsUnknown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	redistest.Do(t, raw, "SET", "hits", "7")
	redistest.Do(t, raw, "ACL", "SETUSER", "u", "on", ">word", "~*", "&*", "+@all", "-type")
	env := []string{envRedis + "=redis://u:word@" + server.Addr()}
	for _, args := range []string{"counter add hits", "counter set hits 1", "counter get hits"} {
		got := runHere(t, env, strings.Fields(args)...)
		require.Equal(t, exit.Unavailable, got.code, args)
		require.Contains(t, got.errors, "NOPERM", args)
		require.Contains(t, got.errors, `counter "hits"`, args)
	}
	require.Equal(t, "7", value(t, raw, "hits"))
	require.Equal(t, said{out: "1\n"}, runHere(t, env, "counter", "set", "hits", "1", "--force"))
}

// TestCollectionsWithoutAServer ends with 69, and says so in both ways.
func TestCollectionsWithoutAServer(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=redis://127.0.0.1:1"}
	for _, args := range []string{
		"counter add c", "counter get c", "counter set c 1", "id next i", "bloom init b 10", "bloom add b v", "bloom has b v", "bloom info b", "bloom rm b",
		"set add s v", "set rm s v", "set has s v", "set ls s", "set ls s --cache", "zset add z 1 v", "zset top z", "zset rank z v", "keys ls k", "keys count k", "keys rm k --yes",
	} {
		got := runHere(t, env, strings.Fields(args)...)
		require.Equal(t, exit.Unavailable, got.code, args)
		require.Contains(t, got.errors, "127.0.0.1:1", args)
		got = runHere(t, env, append(strings.Fields(args), "--json")...)
		require.Contains(t, got.errors, `"exit":69}`, args)
	}
}

// TestCollectionsOfLines: - is the lines of standard input, and what is not printable is quoted.
func TestCollectionsOfLines(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=redis://" + redistest.Start(t).Addr()}
	require.Zero(t, runHere(t, env, "bloom", "init", "b", "1000").code)
	for _, c := range []struct {
		args, input string
		want        said
	}{
		{"set add s -", "a\nb c\r\n\na\nlast", said{out: "4\n"}},
		{"set has s -", "a\nlast\n", said{out: "true\ta\ntrue\tlast\n"}},
		{"set has s -", "a\nnone\n", said{code: exit.Refused, out: "true\ta\nfalse\tnone\n"}},
		{"set has s -", "", said{}},
		{"set rm s -", "a\n\n", said{out: "2\n"}},
		{"set add dash - -", "", said{out: "1\n"}},
		{"bloom add b -", "a\nb\na\n", said{out: "2\n"}},
		{"bloom has b -", "b\nc\n", said{code: exit.Refused, out: "true\tb\nfalse\tc\n"}},
		{"bloom add none -", "", said{code: exit.NoRate}},
		{"zset add z -", "1 ann\n2.5\tbob of many words\n", said{out: "2\n"}},
		{"zset add z - --incr", "1 ann\n", said{out: "2\n"}},
		{"zset top z -", "", said{code: exit.Usage}},
	} {
		got := runWithInput(t, env, c.input, strings.Fields(c.args)...)
		if got.code == exit.NoRate || got.code == exit.Usage {
			got.errors = ""
		}
		require.Equal(t, c.want, got, c.args)
	}
	require.Equal(t, said{out: "2.5\tbob of many words\n2\tann\n"}, runHere(t, env, "zset", "top", "z"))
	for args, input := range map[string]string{
		"zset add wrong -": "1 a\nno score\n", "zset add wrong - --incr": "1 a\nno score\n", "zset add wrong - --incr --json": "1 a\nno score\n2 b\n",
		"set add wrong - --as int": "1\nno\n", "zset add wrong - --as int": "1 2\n1 no\n", "zset add wrong - ": "1 a\n\n", "zset add wrong -  --incr": "1 a\ninf b\n",
	} {
		got := runWithInput(t, env, input, strings.Fields(args)...)
		require.Equal(t, exit.Usage, got.code, args)
		require.Contains(t, got.errors, "line 2 of standard input: ", args)
	}
	require.Contains(t, runWithInput(t, env, "1 a\ninf b\n", "zset", "add", "wrong", "-", "--incr").errors, "1 lines of standard input were done before")
	got := runHere(t, env, "zset", "add", "wrong", "1 2", "bob")
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.errors, `SCORE "1 2" is no number`)

	require.Equal(t, said{out: "1\n"}, runHere(t, env, "set", "add", "lines", "a\nb"))
	require.Equal(t, said{out: "\"a\\nb\"\n"}, runHere(t, env, "set", "ls", "lines"))
	require.Equal(t, said{out: `{"value":"a\nb"}` + "\n"}, runHere(t, env, "set", "ls", "lines", "--json"))
	require.Equal(t, said{out: "true\t\"a\\nb\"\n"}, runHere(t, env, "set", "has", "lines", "a\nb"))
	require.Equal(t, said{out: "1\n"}, runHere(t, env, "set", "add", "bytes", "/0E=", "--as", "base64", "--codec", "bytes"))
	require.Equal(t, said{out: `{"value":"/0E=","base64":true}` + "\n"}, runHere(t, env, "set", "ls", "bytes", "--json", "--codec", "bytes"))
	require.Equal(t, said{out: "1\n"}, runHere(t, env, "set", "add", "mixed", "text"))
	got = runHere(t, env, "set", "ls", "mixed", "--codec", "json")
	require.Equal(t, exit.Unavailable, got.code)
	require.Contains(t, got.errors, "cannot be decoded")

	got = runWithInput(t, env, "a\n"+strings.Repeat("x", 2<<20+1), "set", "add", "long", "-")
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.errors, "1 lines of standard input were done before")
}

// counting is a standard input of n different lines of a kilobyte, which are not in memory.
type counting struct {
	at, n int
	left  []byte // of a line
}

// lineOf returns the i-th line.
func lineOf(i int) string { return fmt.Sprintf("%07d%s", i, strings.Repeat("x", 1000)) }

func (c *counting) Read(p []byte) (n int, err error) {
	if len(c.left) == 0 && c.at == c.n {
		return 0, io.EOF
	}
	if len(c.left) == 0 {
		c.left = []byte(lineOf(c.at) + "\n")
		c.at++
	}
	n = copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// TestManyLines takes them as they come: they are not in memory, and nothing is said of them where no terminal is.
func TestManyLines(t *testing.T) {
	n := redistest.Count(t, 100_000, 1_000_000)
	server := redistest.Start(t)
	env := []string{envRedis + "=redis://" + server.Addr()}
	require.Zero(t, runHere(t, env, "bloom", "init", "seen", fmt.Sprint(n), "--p", "0.01").code)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	most := make(chan uint64, 1)
	go func() { // ends with ctx
		var seen uint64
		for ctx.Err() == nil {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			seen = max(seen, now.HeapInuse)
			time.Sleep(20 * time.Millisecond)
		}
		most <- seen
	}()
	var out, errors heard
	code := cli.Run(t.Context(), []string{"bloom", "add", "seen", "-"}, &counting{n: n}, &out, &errors, env)
	stop()
	require.Zero(t, code, errors.String())
	require.Empty(t, errors.String())
	require.Less(t, <-most, uint64(n)*1000*2/3)
	c, err := rueidisson.Open("redis://" + server.Addr())
	require.NoError(t, err)
	defer c.Close(t.Context())
	count, err := bloom.New[string](c, "seen").Count(t.Context())
	require.NoError(t, err)
	require.InEpsilon(t, n, count, 0.02)
	has, err := bloom.New[string](c, "seen").HasEach(t.Context(), lineOf(0), lineOf(n-1))
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, has)
}

// TestLinesThatASignalEnds: what was added stays, and is told.
func TestLinesThatASignalEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	cmd := exec.Command(os.Args[0], "set", "add", "s", "-")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	p := startCommand(t, "redis://"+server.Addr(), cmd)
	_, err = io.WriteString(in, "a\nb\n")
	require.NoError(t, err)
	redistest.Eventually(t, func() bool {
		n, _ := raw.Do(t.Context(), raw.B().Scard().Key("s").Build()).AsInt64()
		return n == 2
	}, patience, time.Millisecond)
	p.signal(syscall.SIGINT)
	require.Equal(t, exit.Signal+int(syscall.SIGINT), p.code())
	require.Contains(t, p.errors(), "2 lines of standard input were done before")
}
