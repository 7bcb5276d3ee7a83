//go:build linux

package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == spinning {
		spin()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestBusyReturnsTheExitCodeOfTheCommand(t *testing.T) {
	t.Parallel()
	code, err := run(t.Context(), 1, []string{"sh", "-c", "exit 3"})
	require.NoError(t, err)
	require.Equal(t, 3, code)
	code, err = run(t.Context(), 1, []string{"/no/such/command"})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, 127, code)
}

// session starts a shell with a child of its own in a session of their own, and returns both pids.
func session(t *testing.T, child string) (parent, pid int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", child+" & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		all := byDepth(processes(cmd.Process.Pid))
		if len(all) != 2 {
			return false
		}
		parent, pid = all[0].pid, all[1].pid
		return true
	}, time.Minute, time.Millisecond)
	require.Equal(t, cmd.Process.Pid, parent, "parents come first")
	return parent, pid
}

func becomes(t *testing.T, pid int, stopped bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		p, ok := read(pid)
		return ok && (p.state == 'T') == stopped
	}, time.Minute, time.Millisecond)
}

func TestStopAndResumeReachEveryProcessOfTheSession(t *testing.T) {
	t.Parallel()
	parent, child := session(t, "sleep 600")
	s := &suite{session: parent}
	s.stop()
	becomes(t, parent, true)
	becomes(t, child, true)
	s.resume()
	becomes(t, parent, false)
	becomes(t, child, false)
}

func TestAProcessThatATestHasStoppedStaysStopped(t *testing.T) {
	t.Parallel()
	parent, child := session(t, "sleep 600")
	require.NoError(t, syscall.Kill(child, syscall.SIGSTOP))
	becomes(t, child, true)
	s := &suite{session: parent}
	for range 3 {
		s.stop()
		becomes(t, parent, true)
		s.resume()
		becomes(t, parent, false)
	}
	p, ok := read(child)
	require.True(t, ok)
	require.Equal(t, byte('T'), p.state)
}

// TestAStopThatATestHasJustSentStaysSent: the child has no turn on a processor before the session is stopped and resumed.
func TestAStopThatATestHasJustSentStaysSent(t *testing.T) {
	t.Parallel()
	parent, child := session(t, "while :; do :; done")
	require.NoError(t, syscall.Setpriority(syscall.PRIO_PROCESS, child, 19))
	beside, err := startSpinners(2 * runtime.NumCPU())
	defer endAll(beside)
	require.NoError(t, err)
	s := &suite{session: parent}
	for range 50 {
		require.NoError(t, syscall.Kill(child, syscall.SIGSTOP))
		s.stop()
		s.resume()
		becomes(t, child, true)
		require.NoError(t, syscall.Kill(child, syscall.SIGCONT))
		becomes(t, child, false)
	}
}
