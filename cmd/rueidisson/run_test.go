package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

var update = flag.Bool("update", false, "write the help texts as they are now")

func toolPath() string { return os.Args[0] }

// said is what a run in this process came to.
type said struct {
	code        int
	out, errors string
}

func runHere(t *testing.T, env []string, args ...string) said {
	t.Helper()
	return runWithInput(t, env, "", args...)
}

func runWithInput(t *testing.T, env []string, input string, args ...string) said {
	t.Helper()
	var out, errors heard
	code := cli.Run(t.Context(), args, strings.NewReader(input), &out, &errors, append(env, "PATH="+os.Getenv("PATH")))
	return said{code, out.String(), errors.String()}
}

// heard is what the tool and its CMD write to, as they share a file: the whole of
// each write, and both at the same time.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestAMessageIsOneWrite: CMD has the same standard error, and writes to it when it
// likes. No line of the tool's is torn by that.
func TestAMessageIsOneWrite(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	for _, args := range [][]string{
		{"lock", "x", "--redis", s.URL(), "--lease", "300ms", "--grace", "0", "--", "sleep", "60"},
		{"lock", "x", "--redis", s.URL(), "--lease", "300ms", "--grace", "0", "--json", "--", "sleep", "60"},
		{"take"},
	} {
		var out, errors writes
		assert.NotZero(t, cli.Run(t.Context(), args, nil, &out, &errors, []string{"PATH=" + os.Getenv("PATH")}))
		assert.NotEmpty(t, errors)
		for _, line := range errors {
			assert.True(t, strings.HasSuffix(line, "\n"), line)
		}
	}
}

// writes is what was written, each write by itself. CMD of its tests writes nothing.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"root":         {"--help"},
		"lock":         {"lock", "--help"},
		"inspect":      {"help", "inspect"},
		"force-unlock": {"force-unlock", "-h"},
		"elect":        {"elect", "--help"},
		"observe":      {"observe", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runHere(t, []string{envRedis + "=redis://user:secret@10.0.0.5:6379"}, args...)
			assert.Zero(t, got.code)
			assert.Empty(t, got.errors)
			file := filepath.Join("testdata", "help", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got.out, "go test -update writes it anew")
			assert.NotContains(t, got.out, "secret")
		})
	}
}

func TestFlagsStandBeforeTheCommandOrBehindTheName(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	hold, err := s.NewClient(t).Lock("orders").Lock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, hold.Unlock(t.Context())) }) // behind the parallel subtests
	for _, args := range []string{
		"--redis URL lock orders --wait 0 -- true",
		"--redis URL --wait 0 lock orders -- true",
		"--redis=URL --wait=0 --grace 1s --watchdog 20s lock orders -- true",
		"--wait 1s --json lock --redis URL orders -- true",
		"lock orders --redis URL --wait 1s -- true",
		"lock --redis URL --wait 1s --lease 1s orders -- true",
		"--export --redis URL lock orders --wait 0 -- true",
		"--json lock orders --wait 0 --export --redis URL -- true",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			got := runHere(t, nil, strings.Fields(strings.ReplaceAll(args, "URL", s.URL()))...)
			assert.Equal(t, exit.NotAcquired, got.code, got.errors)
		})
	}
	for _, args := range []string{"--embedded lock orders -- true", "lock orders --embedded -- true"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			got := runHere(t, []string{envRedis + "=" + s.URL()}, strings.Fields(args)...)
			assert.Zero(t, got.code, got.errors)
		})
	}
}

func TestTheFlagRulesOverTheEnvironment(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	got := runHere(t, []string{envRedis + "=redis://127.0.0.1:1"}, "inspect", "x", "--redis", s.URL())
	assert.Zero(t, got.code, got.errors)
	got = runHere(t, []string{envRedis + "=redis://127.0.0.1:1", envRedis + "=" + s.URL()}, "inspect", "x")
	assert.Zero(t, got.code, got.errors)
}

func TestWhatCannotBeUnderstoodIs64(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	for args, says := range map[string]string{
		"unlock x":                      `unknown command "unlock", was it force-unlock or lock?`,
		"map clear x":                   `unknown command "clear", was it rm?`,
		"limit list":                    "unknown command \"list\", was it ls?\n",
		"queue push x y":                `unknown command "push", was it add?`,
		"limti take x":                  `unknown command "limti", was it limit?`,
		"lock":                          "-- is needed",
		"lock x true":                   "-- is needed",
		"lock x":                        "-- is needed",
		"lock x --":                     "a CMD is needed",
		"lock -- true":                  "one NAME is needed",
		"lock x y -- true":              "one NAME is needed",
		"lock x --wait soon -- true":    "wait",
		"lock x --wait -1s -- true":     "negative",
		"lock x --wait -1 -- true":      "negative",
		"lock x -E 256 -- true":         "-E 256 is not between 0 and 255",
		"lock x -E no -- true":          "invalid argument",
		"lock x --lease 0 -- true":      "not positive",
		"lock x --lease 1ms -- true":    "below 10ms",
		"lock x --grace -1s -- true":    "negative",
		"lock x --watchdog 1ms -- true": "watchdog timeout",
		"lock x --nosuch -- true":       "unknown flag: --nosuch\n",
		"lock x --wiat 5s -- true":      "unknown flag: --wiat, was it --wait?",
		"lock x --embed -- true":        "unknown flag: --embed, was it --embedded?",
		"map ls x --cahce":              "unknown flag: --cahce, was it --cache?",
		"version x":                     "no arguments are needed, not 1",
		"lock x --embedded --redis redis:// -- true": "exclude",
		"lock x --redis http://x -- true":            "scheme",
		"inspect":                                    "one NAME",
		"inspect x y":                                "one NAME",
		"inspect x --embedded":                       "unknown flag",
		"force-unlock":                               "one NAME",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			got := runHere(t, []string{envRedis + "=" + s.URL()}, strings.Fields(args)...)
			assert.Equal(t, exit.Usage, got.code)
			assert.Contains(t, got.errors, says)
			assert.Contains(t, got.errors, "--help")
			assert.Empty(t, got.out)
		})
	}
	got := runHere(t, []string{envRedis + "=" + s.URL()}, "lock", "", "--", "true")
	assert.Equal(t, exit.Usage, got.code)
	assert.Contains(t, got.errors, "empty name")
}

func TestACommandThatCannotBeRunIsSaidBeforeAnyWait(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	hold, err := s.NewClient(t).Lock("x").Lock(t.Context())
	require.NoError(t, err)
	defer hold.Unlock(t.Context())
	got := runHere(t, nil, "lock", "x", "--redis", s.URL(), "--", "no-such-command-here")
	assert.Equal(t, exit.NotFound, got.code)
	got = runHere(t, nil, "lock", "x", "--redis", s.URL(), "--", "testdata/help/root.txt")
	assert.Equal(t, exit.NotExecutable, got.code)
}

func TestACommandThatFailsToStartGivesTheLockBack(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("not a program"), 0o755))
	got := runHere(t, nil, "lock", "x", "--redis", s.URL(), "--", broken)
	assert.Equal(t, exit.NotExecutable, got.code)
	locked, err := s.NewClient(t).Lock("x").Locked(t.Context())
	require.NoError(t, err)
	assert.False(t, locked)
}

func TestAKeyOfAnotherTypeIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	plain, name := server.Client(t), redistest.Name(t)
	require.NoError(t, plain.Do(t.Context(), plain.B().Set().Key(name).Value("v").Build()).Error())
	for _, args := range [][]string{{"lock", name, "--", "true"}, {"force-unlock", name}} {
		got := runHere(t, []string{envRedis + "=redis://" + server.Addr()}, args...)
		assert.Equal(t, exit.Unavailable, got.code, args)
		assert.Contains(t, got.errors, "WRONGTYPE", args)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	c := s.NewClient(t)
	env := []string{envRedis + "=" + s.URL()}
	assert.Equal(t, said{out: "name     orders\nkind     none\nwaiting  0\n"}, runHere(t, env, "inspect", "orders"))
	assert.Equal(t, said{out: `{"name":"orders","held":false,"count":0,"remaining_ms":0,"waiting":0}` + "\n"},
		runHere(t, env, "--json", "inspect", "orders"))

	hold, err := c.Lock("orders").Lock(t.Context(), lock.WithLease(time.Minute))
	require.NoError(t, err)
	defer hold.Unlock(t.Context())
	endWait := waitFor(t, s.NewClient(t), "orders")
	defer endWait()
	owner := ownerOf(t, c, "orders")
	assert.Equal(t, said{out: "name       orders\nkind       lock\nowner      " + owner + "\ncount      1\nremaining  1m0s\nwaiting    1\n"},
		runHere(t, env, "inspect", "orders"))
	assert.Equal(t, said{out: `{"name":"orders","kind":"lock","held":true,"owner":"` + owner + `","count":1,"remaining_ms":60000,` +
		`"holders":[{"owner":"` + owner + `","count":1,"remaining_ms":60000}],"waiting":1}` + "\n"},
		runHere(t, env, "inspect", "orders", "--json"))
}

func TestInspectOfAHoldWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + s.URL()}
	const owner = "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:7"
	redis(t, s, "HSET", "x", owner, "2")
	assert.Equal(t, said{out: "name       x\nkind       lock\nowner      " + owner + "\ncount      2\nremaining  without end\nwaiting    0\n"}, runHere(t, env, "inspect", "x"))
	assert.Contains(t, runHere(t, env, "inspect", "x", "--json").out, `"remaining_ms":-1`)
}

func ownerOf(t *testing.T, c *rueidisson.Client, name string) string {
	t.Helper()
	h, err := c.Lock(name).Holder(t.Context())
	require.NoError(t, err)
	return h.Owner
}

// waitFor waits for the lock until it is told to stop.
func waitFor(t *testing.T, c *rueidisson.Client, name string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Lock(name).Lock(ctx) // its holder outlasts it
	}()
	require.Eventually(t, func() bool {
		n, err := c.Lock(name).Waiting(t.Context())
		return err == nil && n == 1
	}, patience, time.Millisecond)
	return func() { cancel(); <-done }
}

func TestForceUnlock(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + s.URL()}
	c := s.NewClient(t)
	hold, err := c.Lock("orders").Lock(t.Context())
	require.NoError(t, err)
	assert.Equal(t, said{out: "orders: taken from its holder\n"}, runHere(t, env, "force-unlock", "orders"))
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	assert.Equal(t, said{out: "orders: nobody held it\n"}, runHere(t, env, "force-unlock", "orders"))
	assert.Equal(t, said{out: `{"name":"orders","released":false}` + "\n"}, runHere(t, env, "force-unlock", "orders", "--json"))
	_, err = c.Lock("orders").Lock(t.Context())
	require.NoError(t, err)
	assert.Equal(t, said{out: `{"name":"orders","released":true}` + "\n"}, runHere(t, env, "force-unlock", "orders", "--json"))
}

func TestErrorsAreJSONWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	got := runHere(t, nil, "--json", "inspect")
	assert.Equal(t, said{exit.Usage, "", `{"error":"one NAME is needed, not 0","exit":64}` + "\n"}, got)
}

func TestTheEndOfTheContextEndsTheCommand(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errors bytes.Buffer
	code := make(chan int)
	go func() {
		code <- cli.Run(ctx, []string{"lock", "x", "--redis", s.URL(), "--", "sleep", "60"},
			strings.NewReader(""), &out, &errors, os.Environ())
	}()
	c := s.NewClient(t)
	require.Eventually(t, func() bool {
		locked, err := c.Lock("x").Locked(t.Context())
		return err == nil && locked
	}, patience, time.Millisecond)
	cancel()
	assert.NotZero(t, <-code)
	locked, err := c.Lock("x").Locked(t.Context())
	require.NoError(t, err)
	assert.False(t, locked)
}

func TestRootAlonePrintsHelp(t *testing.T) {
	t.Parallel()
	assert.Equal(t, runHere(t, nil, "--help"), runHere(t, nil))
	assert.Zero(t, runHere(t, nil).code)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	assert.Equal(t, said{out: "rueidisson " + cli.Version() + " " + runtime.Version() + " " + platform + "\n"}, runHere(t, nil, "version"))
	assert.JSONEq(t, `{"version":"`+cli.Version()+`","go":"`+runtime.Version()+`","platform":"`+platform+`"}`, runHere(t, nil, "version", "--json").out)
}
