package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestHelpOfBarrier(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"barrier": {"barrier", "--help"}}
	for _, command := range []string{"await", "info", "reset"} {
		files["barrier-"+command] = []string{"barrier", command, "--help"}
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

func TestBarrier(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	barrier := func(args string) said {
		return runHere(t, env, append([]string{"barrier"}, strings.Fields(args)...)...)
	}
	arriving := func(args string) <-chan said {
		done := make(chan said, 1)
		go func() { done <- barrier(args) }() // ends with the barrier, or its --wait
		redistest.Eventually(t, func() bool { return barrier("info a").out == "1\n" }, redistest.Soon, time.Millisecond)
		return done
	}
	for _, c := range []struct {
		args, out string
		code      int
	}{
		{"info a", "", exit.Refused},
		{"info a --json", `{"name":"a","found":false}` + "\n", exit.Refused},
		{"reset a", "a: nobody waits\n", exit.Refused},
		{"reset a --json", `{"name":"a","reset":false}` + "\n", exit.Refused},
		{"await a 1", "0\n", 0},
		{"info a", "0\n", 0},
		{"info a --json", `{"name":"a","waiting":0}` + "\n", 0},
		{"await a 1 --json", `{"name":"a","before":0}` + "\n", 0},
		{"await a 2 --wait 50ms", "", exit.NotAcquired},
		{"await a 2 --wait 0", "", exit.Usage},
		{"await a", "", exit.Usage},
		{"await a many", "", exit.Usage},
		{"await a 0", "", exit.Usage},
		{"info", "", exit.Usage},
		{"reset a b", "", exit.Usage},
		{"", "", exit.Usage},
	} {
		got := barrier(c.args)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		require.Equal(t, c.out, got.out, c.args)
	}
	first := arriving("await a 2")
	require.Equal(t, "1\n", barrier("await a 2").out)
	require.Equal(t, "0\n", redistest.Done(t, first).out)
	first = arriving("await a 2")
	require.Equal(t, exit.Usage, barrier("await a 3").code, "the other waits for two")
	require.Equal(t, said{out: "a: reset\n"}, barrier("reset a"))
	require.Equal(t, exit.Lost, redistest.Done(t, first).code)
}

// TestRemove: the objects are gone, and who asks again is told that there was none.
func TestRemove(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	do := func(args string) said { return runHere(t, env, strings.Fields(args)...) }
	for _, kind := range []string{"sem", "permit", "latch"} {
		name := "of-" + kind
		require.Zero(t, do(kind+" set "+name+" 3").code)
		require.Equal(t, said{out: name + ": removed\n"}, do(kind+" rm "+name))
		require.Equal(t, said{code: exit.Refused}, do(kind+" info "+name))
		require.Equal(t, said{code: exit.Refused, out: name + ": there was none\n"}, do(kind+" rm "+name))
		require.Equal(t, said{code: exit.Refused, out: `{"name":"` + name + `","removed":false}` + "\n"}, do(kind+" rm "+name+" --json"))
		require.Equal(t, exit.Usage, do(kind+" rm").code)
	}
	require.Zero(t, do("permit set ids 1").code)
	p, err := server.NewClient(t).PermitSemaphore("ids").Acquire(t.Context())
	require.NoError(t, err)
	require.Equal(t, exit.Unavailable, do("sem rm ids").code, "it has permits with ids")
	require.NoError(t, p.Err())
	require.Zero(t, do("permit rm ids").code)
	require.Zero(t, do("latch set soon 2 --ttl 1h").code)
	require.Equal(t, exit.Usage, do("latch set late 2 --ttl 0").code)
}
