package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestHelpOfLatch(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"latch": {"latch", "--help"}}
	for _, command := range []string{"set", "down", "await", "info", "rm"} {
		files["latch-"+command] = []string{"latch", command, "--help"}
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

func TestLatch(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	latch := func(args string) said { return runHere(t, env, append([]string{"latch"}, strings.Fields(args)...)...) }
	for _, c := range []struct {
		args, out string
		code      int
	}{
		{"info a", "", exit.Refused},
		{"await a", "0\n", 0},
		{"down a", "0\n", 0},
		{"set a 5", "5\n", 0},
		{"set a 9", "5\n", exit.Refused},
		{"set a 9 --json", `{"name":"a","count":5,"armed":false}` + "\n", exit.Refused},
		{"await a --wait 0", "", exit.NotAcquired},
		{"await a --wait 50ms", "", exit.NotAcquired},
		{"down a", "4\n", 0},
		{"down a --party p", "3\n", 0},
		{"down a --party p", "3\n", 0},
		{"info a --json", `{"name":"a","count":3}` + "\n", 0},
		{"down a 2 --json", `{"name":"a","count":1}` + "\n", 0},
		{"down a 7", "0\n", 0},
		{"await a --wait 0", "0\n", 0},
		{"await a --wait 1m --json", `{"name":"a","count":0}` + "\n", 0},
		{"set a 2 --json", `{"name":"a","count":2,"armed":true}` + "\n", 0},
		{"set a", "", exit.Usage},
		{"set a many", "", exit.Usage},
		{"set a 0", "", exit.Usage},
		{"set a 2147483648", "", exit.Usage},
		{"down a 0", "", exit.Usage},
		{"down a 2 --party p", "", exit.Usage},
		{"down", "", exit.Usage},
		{"await a --wait -1s", "", exit.Usage},
		{"await a b", "", exit.Usage},
		{"up a", "", exit.Usage},
		{"", "", exit.Usage},
	} {
		got := latch(c.args)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		require.Equal(t, c.out, got.out, c.args)
		require.Equal(t, c.code == 0 || c.code == exit.Refused, got.errors == "", "%s: %s", c.args, got.errors)
	}
	require.Equal(t, exit.Usage, runHere(t, env, "latch", "down", "a", "--party", "").code)
	require.Equal(t, "2\n", latch("info a").out)
}

// TestAWaitOfLatchEnds when the latch opens, and with the context, as by a signal.
func TestAWaitOfLatchEnds(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	require.Zero(t, runHere(t, env, "latch", "set", "a", "1").code)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var out, errors strings.Builder
	require.NotZero(t, cli.Run(ctx, []string{"latch", "await", "a"}, strings.NewReader(""), &out, &errors, env))
	require.Empty(t, out.String())
	done := make(chan said, 1)
	go func() { done <- runHere(t, env, "latch", "await", "a") }()
	require.Zero(t, runHere(t, env, "latch", "down", "a").code)
	got := <-done
	require.Zero(t, got.code, got.errors)
	require.Equal(t, "0\n", got.out)
}

// TestLatchAwaitArmed: a latch that was never armed is not open. It is waited for until it is armed, and until it opens.
func TestLatchAwaitArmed(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, url := server.Client(t), "redis://"+server.Addr()
	env, name := []string{envRedis + "=" + url}, redistest.Name(t)
	of := openAt(t, url).Latch(name)
	await := func(flags ...string) said {
		return runHere(t, env, append([]string{"latch", "await", name, "--armed"}, flags...)...)
	}
	listens := func(n int64) {
		redistest.Eventually(t, func() bool {
			numbers, err := client.Do(t.Context(), client.B().PubsubNumsub().Channel("redisson_countdownlatch__channel__{"+name+"}").Build()).AsIntMap()
			return err == nil && numbers["redisson_countdownlatch__channel__{"+name+"}"] >= n
		}, patience, time.Millisecond)
	}
	for _, wait := range []string{"0", "50ms"} {
		got := await("--wait", wait)
		require.Equal(t, said{exit.NotAcquired, "", "rueidisson: the latch was not armed\n"}, got)
	}
	done := make(chan said, 1)
	go func() { done <- await("--json") }()
	listens(1)
	armed, err := of.TrySetCount(t.Context(), 1)
	require.NoError(t, err)
	require.True(t, armed)
	for _, wait := range []string{"0", "50ms"} {
		got := await("--wait", wait)
		require.Equal(t, said{exit.NotAcquired, "", "rueidisson: the latch is not open\n"}, got)
	}
	require.Empty(t, done)
	_, err = of.CountDown(t.Context())
	require.NoError(t, err)
	require.Equal(t, said{out: `{"name":"` + name + `","count":0}` + "\n"}, <-done)
	require.Equal(t, said{out: "0\n"}, await("--wait", "0"), "it has opened before")
	require.Equal(t, said{out: "0\n"}, await("--wait", "1m"), "it has opened before")
}

// TestLatchAwaitArmedHearsOfALatchThatOpensAtOnce: as Java arms and opens one, of which nothing stays but two messages.
func TestLatchAwaitArmedHearsOfALatchThatOpensAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, env := server.Client(t), []string{envRedis + "=redis://" + server.Addr()}
	done := make(chan said, 1)
	go func() { done <- runHere(t, env, "latch", "await", "ready", "--armed") }()
	redistest.Eventually(t, func() bool { return waits(t, client, "") }, patience, time.Millisecond)
	for _, message := range []string{"1", "0"} {
		require.NoError(t, client.Do(t.Context(), client.B().Publish().Channel("redisson_countdownlatch__channel__{ready}").Message(message).Build()).Error())
	}
	require.Equal(t, said{out: "0\n"}, <-done)
}

// TestLatchAwaitArmedSeesAnArmingOfWhichNoMessageCame.
func TestLatchAwaitArmedSeesAnArmingOfWhichNoMessageCame(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, env := server.Client(t), []string{envRedis + "=redis://" + server.Addr()}
	done := make(chan said, 1)
	go func() { done <- runHere(t, env, "latch", "await", "ready", "--armed") }()
	redistest.Eventually(t, func() bool { return waits(t, client, "") }, patience, time.Millisecond)
	require.NoError(t, client.Do(t.Context(), client.B().Set().Key("ready").Value("1").Build()).Error())
	time.Sleep(2 * time.Second) // it has looked meanwhile, and waits for the opening
	require.Empty(t, done)
	require.Zero(t, runHere(t, env, "latch", "down", "ready").code)
	require.Equal(t, said{out: "0\n"}, <-done)
}
