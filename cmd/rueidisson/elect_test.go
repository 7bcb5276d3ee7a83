//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/rueidissontest"
)

// elect runs a script as the leader.
func (w world) elect(script string, flags ...string) *process {
	w.t.Helper()
	return start(w.t, w.url, append(append([]string{"elect", w.name}, flags...), "--", "sh", "-c", script)...)
}

// awaitLines waits until standard output is that, from its beginning.
func (p *process) awaitLines(lines ...string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Join(p.said(), "|") == strings.Join(lines, "|") }, patience, 2*time.Millisecond, "%q", p.said())
}

func TestElectRunsACommandAsTheLeader(t *testing.T) {
	w := newWorld(t)
	seen := start(t, w.url, "observe", w.name)
	require.Eventually(t, func() bool { return len(seen.said()) == 1 }, patience, 2*time.Millisecond, "nobody leads")

	first := w.elect(`echo "$RUEIDISSON_FENCE $RUEIDISSON_REDIS ${RUEIDISSON_LOCK:-none}"; sleep 60`, "--value", "a:1")
	seen.awaitLines("", "a:1")
	second := w.elect(`trap 'exit 3' TERM; echo "$RUEIDISSON_FENCE"; while :; do sleep 0.05; done`, "--value", "b:2")
	refused := w.elect(`true`, "--wait", "0")
	assert.Equal(t, 75, refused.code())
	require.Eventually(t, func() bool { return w.number("LLEN", "redisson_lock_queue:{"+w.name+"}") == 1 }, patience, 2*time.Millisecond)
	first.signal(syscall.SIGTERM)
	assert.Equal(t, 128+15, first.code())
	require.Eventually(t, func() bool { return slices.Contains(seen.said(), "b:2") }, patience, 2*time.Millisecond)
	require.Eventually(t, func() bool { return len(second.said()) == 1 }, patience, 2*time.Millisecond, "its trap does not stand")
	second.signal(syscall.SIGTERM)
	assert.Equal(t, 3, second.code())
	fences := [2]int64{}
	for i, p := range []*process{first, second} {
		number, rest, _ := strings.Cut(p.said()[0], " ")
		fences[i], _ = strconv.ParseInt(number, 10, 64)
		if i == 0 {
			assert.Equal(t, w.url+" none", rest)
		}
	}
	assert.Positive(t, fences[0])
	assert.Greater(t, fences[1], fences[0])
	require.Eventually(t, func() bool { said := seen.said(); return len(said) > 3 && said[len(said)-1] == "" }, patience, 2*time.Millisecond, "%q", seen.said())
	seen.signal(syscall.SIGINT)
	assert.Zero(t, seen.code())
	assert.Empty(t, seen.errors())
}

func TestALeaderThatLosesItsTermIs76(t *testing.T) {
	w := newWorld(t)
	p := w.elect(`trap 'echo ending; exit 0' TERM; echo leads; while :; do sleep 0.05; done`, "--watchdog", "1500ms")
	p.await("leads")
	require.Zero(t, start(t, w.url, "force-unlock", w.name).code())
	assert.Equal(t, 76, p.code())
	p.await("ending")
	assert.Contains(t, p.errors(), fmt.Sprintf("election %q: hold was lost", w.name))
}

func TestObserveEndsWhenItIsTold(t *testing.T) {
	w := newWorld(t)
	p := start(t, w.url, "observe", w.name)
	p.await("")
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 143, p.code())
	short := start(t, w.url, "observe", w.name, "--for", "10ms")
	assert.Zero(t, short.code())
	assert.Empty(t, short.errors())
}

func TestObserveAsJSON(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	term, err := c.Election(w.name).Campaign(t.Context(), "\xff")
	require.NoError(t, err)
	p := start(t, w.url, "observe", w.name, "--json")
	require.Eventually(t, func() bool { return len(p.said()) == 1 }, patience, 2*time.Millisecond)
	require.NoError(t, term.Resign(t.Context()))
	require.Eventually(t, func() bool { return len(p.said()) == 2 }, patience, 2*time.Millisecond)
	for i, want := range []map[string]any{
		{"value": "/w==", "base64": true, "fence": float64(term.Fence().Number()), "owner": c.ID(), "gap": false},
		{"value": "", "fence": 0., "owner": "", "gap": false},
	} {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(p.said()[i]), &got))
		assert.NotEmpty(t, got["time"])
		delete(got, "time")
		assert.Equal(t, want, got)
	}
}

func TestElectShowsTheHostUnlessItIsTold(t *testing.T) {
	w := newWorld(t)
	host, err := os.Hostname()
	require.NoError(t, err)
	p := start(t, w.url, "elect", w.name, "--", "sleep", "60") // a shell that starts one may lose the signal
	for leader, err := range w.client().Election(w.name).Observe(t.Context()) {
		require.NoError(t, err)
		if !leader.None() {
			assert.Equal(t, host, leader.Value)
			break
		}
	}
	p.signal(syscall.SIGINT)
	assert.Equal(t, 128+2, p.code())
}

func TestElectRefusesWhatCannotBeShown(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + s.URL()}
	for _, args := range []string{
		"elect x --value= -- true", "elect x --wait -1s -- true", "elect x --lease 0 -- true", "elect x true", "observe", "observe x --for 0",
		"elect x --lease 1ms -- true", "observe  --for 1s",
	} {
		assert.Equal(t, 64, runHere(t, env, strings.Fields(args)...).code, args)
	}
	long := runHere(t, env, "elect", "x", "--value", strings.Repeat("x", 65537), "--", "true")
	assert.Equal(t, 64, long.code)
	assert.Equal(t, 69, runHere(t, []string{envRedis + "=redis://127.0.0.1:1"}, "observe", "x").code)
}
