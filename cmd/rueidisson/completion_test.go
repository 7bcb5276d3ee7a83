package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// completed returns what a shell is offered, and how it goes on.
func completed(t *testing.T, env []string, words ...string) (offers []string, directive string) {
	t.Helper()
	got := runHere(t, env, append([]string{"__completeNoDesc"}, words...)...)
	require.Zero(t, got.code, got.errors)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

const (
	noFiles = ":4"
	files   = ":0"
)

// TestCompletionOfNames: those of the objects of the command, found on the server.
func TestCompletionOfNames(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, url := server.Client(t), "redis://"+server.Addr()
	c, env, ctx := openAt(t, url), []string{envRedis + "=" + url}, t.Context()
	hold, err := c.Lock("orders").Lock(ctx, lock.WithLease(time.Hour))
	require.NoError(t, err)
	defer func() { require.NoError(t, hold.Unlock(ctx)) }()
	require.NoError(t, c.Semaphore("orders-sem").SetPermits(ctx, 1))
	require.NoError(t, client.Do(ctx, client.B().Lpush().Key("orders-queue").Element("x").Build()).Error())
	require.NoError(t, client.Do(ctx, client.B().Zadd().Key("orders-prio").ScoreMember().ScoreMember(1, "x").Build()).Error())
	for _, key := range []string{"a*b", "a?c", "with space", "new\nline", "limit:{user}"} {
		require.NoError(t, client.Do(ctx, client.B().Set().Key(key).Value("1").Build()).Error())
	}
	_, err = reliable.New[string](c, "orders-jobs").Add(ctx, "x")
	require.NoError(t, err)
	for _, c := range []struct {
		words  []string
		offers []string
		then   string
	}{
		{[]string{"lock", ""}, []string{"orders"}, noFiles},
		{[]string{"lock", "--lease", "5", "or"}, []string{"orders"}, noFiles},
		{[]string{"lock", "x"}, nil, noFiles},
		{[]string{"lock", "orders", "--", ""}, nil, files},
		{[]string{"inspect", "or"}, []string{"orders", "orders-prio", "orders-queue", "orders-sem"}, noFiles},
		{[]string{"inspect", "orders", ""}, nil, noFiles},
		{[]string{"sem", "info", "o"}, []string{"orders-sem"}, noFiles},
		{[]string{"sem", "info", "a*"}, []string{"a*b"}, noFiles},
		{[]string{"limit", "peek", ""}, []string{"a*b", "a?c", "orders", "orders-sem"}, noFiles},
		{[]string{"queue", "take", ""}, []string{"orders-prio", "orders-queue"}, noFiles},
		{[]string{"queue", "keep", "x", "orders-q"}, []string{"orders-queue"}, noFiles},
		{[]string{"job", "ls", ""}, []string{"orders-jobs"}, noFiles},
		{[]string{"job", "ls", "x"}, nil, noFiles},
		{[]string{"job", "queues", ""}, nil, noFiles},
		{[]string{"topic", "publish", ""}, nil, noFiles},
		{[]string{"latch", "aw"}, []string{"await"}, noFiles},
		{[]string{"latch", "await", "x", "--ar"}, []string{"--armed"}, noFiles},
		{[]string{"job", "ls", "x", "--state", ""}, []string{"ready", "due", "behind", "leased", "dead"}, noFiles},
		{[]string{"lock", "x", "--wait", ""}, nil, noFiles},
		{[]string{"lock", "x", "--cacert", ""}, nil, files},
		{[]string{"limit", "peek", "x", "--key", ""}, nil, noFiles},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish"}, noFiles},
	} {
		var offers []string
		var then string
		redistest.Eventually(t, func() bool { // it gives up soon on a busy machine
			offers, then = completed(t, env, c.words...)
			return len(offers) >= len(c.offers)
		}, redistest.Soon, time.Millisecond, c.words)
		assert.ElementsMatch(t, c.offers, offers, c.words)
		assert.Equal(t, c.then, then, c.words)
	}
}

// TestCompletionOffersNoNameThatAShellWouldRun: bash puts what several names share into the line as it is, and evaluates
// the line with the next TAB.
func TestCompletionOffersNoNameThatAShellWouldRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, env := server.Client(t), []string{envRedis + "=redis://" + server.Addr()}
	for _, name := range []string{
		"$(touch${IFS}x)1", "$(touch${IFS}x)2", "`id`", "a;id", "a|id", "a&id", "a>x", "a<x", "(id)", "it's", `a"b`, `a\b`, "a!b",
		"--redis=redis://elsewhere", "-h", "~root", "#x", "plain", "orders:{eu}",
	} {
		require.NoError(t, client.Do(t.Context(), client.B().Xadd().Key(name).Id("*").FieldValue().FieldValue("f", "v").Build()).Error())
	}
	var offers []string
	redistest.Eventually(t, func() bool { // it gives up soon on a busy machine
		offers, _ = completed(t, env, "stream", "info", "")
		return len(offers) > 0
	}, redistest.Soon, time.Millisecond)
	assert.ElementsMatch(t, []string{"plain", "orders:{eu}"}, offers)
}

// TestCompletionIsSilentWithoutAServer, and does not wait for it.
func TestCompletionIsSilentWithoutAServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Pause()
	t.Cleanup(server.Resume)
	for _, address := range []string{"redis://127.0.0.1:1", "redis://" + server.Addr(), "http://x"} {
		redistest.Within(t, 500*time.Millisecond+redistest.Scaled(2*time.Second), func() time.Duration {
			began := time.Now()
			offers, then := completed(t, []string{envRedis + "=" + address}, "lock", "")
			assert.Empty(t, offers, address)
			assert.Equal(t, noFiles, then, address)
			return time.Since(began)
		})
	}
}

// TestCompletionScripts: the []string{"bash", "zsh", "fish"} that are here take them.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := runHere(t, nil, "completion", shell)
		require.Zero(t, got.code, got.errors)
		assert.Contains(t, got.out, "__complete", shell)
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		cmd := exec.Command(path, "-n")
		cmd.Stdin = strings.NewReader(got.out)
		said, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s: %s", shell, said)
	}
	for _, args := range [][]string{{"completion"}, {"completion", "csh"}, {"completion", "bash", "zsh"}} {
		got := runHere(t, nil, args...)
		assert.Equal(t, exit.Usage, got.code)
		assert.Contains(t, got.errors, "one of bash, zsh, fish is needed")
	}
}

// TestCompletionOffersSoManyNamesAtMost of a server that has more.
func TestCompletionOffersSoManyNamesAtMost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	fill := `for i = 1, 30000 do redis.call('set', 'k' .. i, '') end return 1`
	require.NoError(t, client.Do(t.Context(), client.B().Eval().Script(fill).Numkeys(0).Build()).Error())
	offers, _ := completed(t, []string{envRedis + "=redis://" + server.Addr()}, "inspect", "k")
	assert.LessOrEqual(t, len(offers), 200)
}
