package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestHelpOfQueue(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"queue": {"queue", "--help"}}
	for _, command := range []string{"add", "take", "peek", "len", "ls", "drain", "keep"} {
		files["queue-"+command] = []string{"queue", command, "--help"}
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

func TestQueue(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	do := func(args string) said {
		return runHere(t, []string{envRedis + "=" + server.URL()}, append([]string{"queue"}, strings.Fields(args)...)...)
	}
	raw, err := rueidis.NewClient(server.ClientOption())
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key("redisson_bqs:{b}").Value("2").Build()).Error())
	for _, c := range []struct {
		args, out string
		code      int
	}{
		{"take q", "", 1},
		{"peek q", "", 1},
		{"drain q", "", 1},
		{"take q --wait 10ms", "", exit.NotAcquired},
		{"peek q --wait 10ms", "", exit.NotAcquired},
		{"peek q --wait 60ms --last", "", exit.NotAcquired},
		{"take q --wait 10ms --last", "", exit.NotAcquired},
		{"len q", "0\n", 0},
		{"ls q", "", 0},
		{"add q one two", "2\n", 0},
		{"add q zero --first --json", `{"name":"q","size":3}` + "\n", 0},
		{"add q 4 --as int", "4\n", 0},
		{"ls q", "zero\none\ntwo\n4\n", 0},
		{"ls q --json", "{\"value\":\"zero\"}\n{\"value\":\"one\"}\n{\"value\":\"two\"}\n{\"value\":4}\n", 0},
		{"peek q", "zero\n", 0},
		{"peek q --last --json", `{"name":"q","value":4}` + "\n", 0},
		{"take q --json", `{"name":"q","value":"zero"}` + "\n", 0},
		{"take q --wait 1m", "one\n", 0},
		{"take q --last", "4\n", 0},
		{"take q --codec json", "", exit.Unavailable}, // it is msgpack
		{"len q --json", `{"name":"q","size":1}` + "\n", 0},
		{"drain q --codec json", "", exit.Unavailable},
		{"drain q", "two\n", 0},
		{"add j {\"n\":1} --as json --codec json", "1\n", 0},
		{"take j --codec json", "{\"n\":1}\n", 0},
		{"add j /0E= --as base64", "1\n", 0},
		{"take j --json", `{"name":"j","value":"/0E=","base64":true}` + "\n", 0},

		{"add b one --bounded", "1\n", 0},
		{"add b two three --bounded --wait 1s", "", exit.NotAcquired},
		{"ls b --bounded", "one\ntwo\n", 0},
		{"add b four --bounded --wait 0s", "", exit.NotAcquired},
		{"take b --bounded --codec json", "", exit.Unavailable},
		{"take b --bounded", "two\n", 0}, // the other went to the tail
		{"drain b --bounded --json", "{\"value\":\"one\"}\n", 0},
		{"take b --bounded", "", 1},
		{"add b one two --bounded", "2\n", 0},
		{"add none one --bounded", "", exit.NoRate},

		{"add d late --delayed --delay 1h", "1\n", 0},
		{"add d soon --delayed --delay 0s", "2\n", 0},
		{"take d --delayed", "soon\n", 0},
		{"add d shared --delayed --redisson --delay 1h", "1\n", 0},
		{"len d --delayed --redisson", "1\n", 0},
		{"len d --redisson", "", exit.Usage},
		{"take d --delayed", "", 1},
		{"take d --delayed --wait 10ms", "", exit.NotAcquired},
		{"len d --delayed", "1\n", 0},
		{"len d", "0\n", 0},
		{"add d now --delayed --delay 200ms", "2\n", 0},
		{"peek d --delayed --wait 1m", "now\n", 0},
		{"peek d --wait 1m", "now\n", 0},
		{"drain d --delayed", "now\n", 0},
		{"keep d --for 10ms", "", 0},
		{"keep d e f --for 10ms", "", 0},

		{"add q", "", exit.Usage},
		{"add q a --delayed", "", exit.Usage},
		{"add q a --delay 1s", "", exit.Usage},
		{"add q a --delayed --delay -1s", "", exit.Usage},
		{"add q a --wait 1s", "", exit.Usage},
		{"add q a --bounded --wait -1s", "", exit.Usage},
		{"add q a --bounded --first", "", exit.Usage},
		{"add q a --bounded --delayed", "", exit.Usage},
		{"add q a --as int", "", exit.Usage},
		{"add q a --codec xml", "", exit.Usage},
		{"take q --wait -1s", "", exit.Usage},
		{"peek q --wait -1s", "", exit.Usage},
		{"take q --last --bounded", "", exit.Usage},
		{"take q --last --delayed", "", exit.Usage},
		{"take", "", exit.Usage},
		{"len a b", "", exit.Usage},
		{"keep", "", exit.Usage},
		{"keep q --for 0s", "", exit.Usage},
		{"keep q --bounded", "", exit.Usage},
		{"look q", "", exit.Usage},
		{"", "", exit.Usage},
	} {
		got := do(c.args)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		require.Equal(t, c.out, got.out, c.args)
		require.Equal(t, c.code <= 1, got.errors == "", "%s: %s", c.args, got.errors)
	}
	got := do("ls d --delayed")
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\tlate\n$`, got.out)
	got = do("ls d --delayed --json")
	require.Regexp(t, `^\{"value":"late","due_ms":3[56]\d{5}\}\n$`, got.out)
	for _, args := range []string{"take --delayed d", "--delayed len d"} { // switches stand anywhere
		require.NotEqual(t, exit.Usage, do(args).code, args)
	}
}

// TestAnElementIsTakenOnlyIfItIsShown.
func TestAnElementIsTakenOnlyIfItIsShown(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	require.Zero(t, runHere(t, env, "queue", "add", "q", "a", "b", "c").code)
	var errs strings.Builder
	for _, args := range [][]string{{"queue", "take", "q"}, {"queue", "take", "q", "--last"}, {"queue", "drain", "q"}} {
		require.Equal(t, exit.Unavailable, cli.Run(t.Context(), args, strings.NewReader(""), closedPipe{}, &errs, env), args)
	}
	require.Contains(t, errs.String(), "nobody reads")
	require.Equal(t, "a\nb\nc\n", runHere(t, env, "queue", "ls", "q").out)
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// TestATakeThatWaits as a program of its own, ended by a signal, or by an element.
func TestATakeThatWaits(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := "redis://" + server.Addr()
	env := []string{envRedis + "=" + url}
	ended := start(t, url, "queue", "take", "q", "--wait", "1h")
	awaitBlocked(t, server)
	ended.signal(syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), ended.code())
	require.Zero(t, runHere(t, env, "queue", "add", "q", "first").code)
	require.Equal(t, "first\n", runHere(t, env, "queue", "take", "q").out)

	taker := start(t, url, "queue", "take", "d", "--delayed", "--wait", "1h")
	awaitBlocked(t, server)
	require.Zero(t, runHere(t, env, "queue", "add", "d", "due", "--delayed", "--delay", "50ms").code)
	taker.await("due")
	require.Zero(t, taker.code())
}

// TestAWaitEndsWithItsServer, and that is no answer of an empty queue.
func TestAWaitEndsWithItsServer(t *testing.T) {
	t.Parallel()
	for how, asked := range map[string]string{
		"take": "blpop", "take --last": "brpop", "take --bounded": "blmove", "take --delayed": "blpop", "peek": "lindex",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			if how == "take --bounded" {
				c := worldOn(t, server).client()
				set, err := queue.NewBounded[string](c, "q").TrySetCapacity(t.Context(), 1)
				require.NoError(t, err)
				require.True(t, set)
			}
			p := start(t, "redis://"+server.Addr(), slices.Concat([]string{"queue"}, strings.Fields(how), []string{"q", "--wait", "3s"})...)
			awaitCommand(t, server, asked)
			server.Kill()
			require.Equal(t, exit.Unavailable, p.code(), p.errors())
		})
	}
}

func awaitBlocked(t *testing.T, server *redistest.Server) {
	t.Helper()
	awaitCommand(t, server, "blpop")
}

// awaitCommand waits until that is the last command of a connection.
func awaitCommand(t *testing.T, server *redistest.Server, name string) {
	t.Helper()
	c := server.Client(t, func(o *rueidis.ClientOption) { o.ForceSingleClient = true })
	redistest.Eventually(t, func() bool {
		list, err := c.Do(t.Context(), c.B().ClientList().Build()).ToString()
		return err == nil && strings.Contains(list, "cmd="+name)
	}, redistest.Soon, 5*time.Millisecond)
}

// TestKeepMovesWhatIsDue, until it is told to end.
func TestKeepMovesWhatIsDue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := "redis://" + server.Addr()
	env := []string{envRedis + "=" + url}
	for _, name := range []string{"a", "b"} {
		require.Zero(t, runHere(t, env, "queue", "add", name, "due", "--delayed", "--delay", "1s").code) // which ends before
	}
	time.Sleep(1100 * time.Millisecond)
	require.Equal(t, "0\n", runHere(t, env, "queue", "len", "a").out)
	keeper := start(t, url, "queue", "keep", "a", "b")
	for _, name := range []string{"a", "b"} {
		require.Equal(t, "due\n", runHere(t, env, "queue", "take", name, "--wait", "30s").out)
	}
	keeper.signal(syscall.SIGINT)
	require.Zero(t, keeper.code())
	client := server.Client(t)
	require.NoError(t, client.Do(t.Context(), client.B().Set().Key("c").Value("text").Build()).Error())
	require.Zero(t, runHere(t, env, "queue", "add", "c", "due", "--delayed", "--delay", "0s").code)
	got := runHere(t, env, "queue", "keep", "b", "c")
	require.Equal(t, exit.Unavailable, got.code)
	require.Contains(t, got.errors, "WRONGTYPE")
}

// TestQueueOfAnotherKindIsLeftAlone: what goes past the number of free places changes a capacity for good.
func TestQueueOfAnotherKindIsLeftAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := []string{envRedis + "=redis://" + server.Addr()}
	client, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(context.Background()) })
	bounded := queue.NewBounded[string](client, "bounded")
	_, err = bounded.TrySetCapacity(t.Context(), 4)
	require.NoError(t, err)
	ring := queue.NewRing[string](client, "ring")
	_, err = ring.TrySetCapacity(t.Context(), 2)
	require.NoError(t, err)
	for name, says := range map[string]string{"bounded": "give --bounded", "ring": "only programs write"} {
		for _, full := range []bool{false, true} { // an empty one has no list
			for _, command := range [][]string{{"add", name, "x"}, {"add", name, "x", "--first"}, {"take", name}, {"take", name, "--wait", "1s"}, {"drain", name}} {
				got := runHere(t, env, append([]string{"queue"}, command...)...)
				assert.Equal(t, exit.Unavailable, got.code, command)
				assert.Contains(t, got.errors, says, command)
			}
			if !full {
				_, err = bounded.Offer(t.Context(), "a")
				require.NoError(t, err)
				_, err = ring.Offer(t.Context(), "a")
				require.NoError(t, err)
			}
		}
	}
	free, err := bounded.Free(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 2, free, "two were offered by the program")
}
