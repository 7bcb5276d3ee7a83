package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

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
