package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestTheCommandDoesNotOutliveAKilledTool(t *testing.T) {
	w := newWorld(t)
	p := w.sh(waiter(`trap "" TERM HUP INT; echo $$`))
	p.await("ready")
	command := pid(t, p.said()[0])
	require.NoError(t, syscall.Kill(command, 0))
	p.signal(syscall.SIGKILL)
	redistest.Eventually(t, func() bool { return syscall.Kill(command, 0) != nil || zombie(t, command) }, patience, 5*time.Millisecond)
}
