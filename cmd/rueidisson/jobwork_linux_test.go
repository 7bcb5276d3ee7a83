package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestWorkersThatAreKilledLoseNoJob, whatever they were at.
func TestWorkersThatAreKilledLoseNoJob(t *testing.T) {
	w := newJobWorld(t)
	n := redistest.Count(t, 60, 1000)
	done := filepath.Join(t.TempDir(), "done")
	works := func() *process {
		return w.works(`body=$(cat); sleep 0.02; [ -z "$body" ] || echo "$body" >> '`+done+`'`, "--lease", "600ms", "--concurrency", "4", "--backoff", "100ms", "--attempts", "1000")
	}
	workers := []*process{works(), works()}
	var bodies []string
	for i := range n {
		bodies = append(bodies, "job "+strconv.Itoa(i))
	}
	w.adds(bodies...)
	kills := 0
	for end := time.Now().Add(10 * patience); w.number("EXISTS", "rueidisson_queue_body:{"+w.name+"}") != 0; kills++ {
		require.True(t, time.Now().Before(end))
		time.Sleep(150 * time.Millisecond)
		victim := kills % len(workers)
		workers[victim].signal(syscall.SIGKILL)
		require.Equal(t, -1, workers[victim].code())
		workers[victim] = works()
	}
	for _, p := range workers {
		p.signal(syscall.SIGKILL)
		p.code()
	}
	said, err := os.ReadFile(done)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	t.Logf("%d kills, %d of %d jobs were done again", kills, len(lines)-n, n)
	slices.Sort(lines)
	slices.Sort(bodies)
	require.Equal(t, bodies, slices.Compact(lines))
}

// TestAKilledWorkerTakesItsCommandAlong, and another worker has the job with its
// next attempt.
func TestAKilledWorkerTakesItsCommandAlong(t *testing.T) {
	w := newJobWorld(t)
	w.adds("one")
	first := w.works(waiter(`trap "" TERM HUP INT; echo "$$ $RUEIDISSON_ATTEMPT"`), "--lease", "1s")
	first.await("ready")
	number, attempt, _ := strings.Cut(first.said()[0], " ")
	require.Equal(t, "1", attempt)
	command := pid(t, number)
	require.NoError(t, syscall.Kill(command, 0))
	other := w.works(`cat; echo " $RUEIDISSON_ATTEMPT"`, "--lease", "1s")
	first.signal(syscall.SIGKILL)
	redistest.Eventually(t, func() bool { return syscall.Kill(command, 0) != nil || zombie(t, command) }, patience, 5*time.Millisecond)
	other.await("one 2")
	w.gone()
	other.signal(syscall.SIGTERM)
	require.Zero(t, other.code())
}
