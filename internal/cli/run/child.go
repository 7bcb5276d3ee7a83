package run

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Child is CMD while it runs.
type Child struct {
	cmd   *exec.Cmd
	group bool          // it has a process group of its own, which signals go to
	Done  chan struct{} // closed when it has ended
}

// Start starts CMD, with a process group of its own or not, and returns when it
// runs, or cannot.
func Start(cmd *exec.Cmd, group bool) (*Child, error) {
	c := &Child{cmd: cmd, group: group, Done: make(chan struct{})}
	cmd.SysProcAttr = childAttributes(c.group)
	started := make(chan error)
	// Ends with CMD.
	go func() {
		// Linux kills CMD when the thread that started it ends, not the process.
		// This one is kept for as long as CMD runs. It goes on after that: it may
		// have started others before.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // what became of it is in ProcessState
			close(c.Done)
		}
	}()
	return c, <-started
}

// pass passes on a signal that the tool got.
func (c *Child) pass(sig os.Signal) {
	if !c.group && fromTerminal(sig) {
		return // the terminal has sent it to CMD as well
	}
	c.Signal(sig)
}

// Signal sends a signal to CMD, if it has not ended.
func (c *Child) Signal(sig os.Signal) {
	select {
	case <-c.Done:
		return // its number may be somebody else's by now
	default:
	}
	if c.group {
		signalGroup(c.cmd.Process.Pid, sig)
		return
	}
	_ = c.cmd.Process.Signal(sig) // it may have just ended
}

// End asks CMD to end, and makes it when grace is over. It returns when it has.
func (c *Child) End(grace time.Duration) {
	c.Signal(syscall.SIGTERM)
	wake(c) // one that is stopped would not hear of it
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.Done:
		return
	case <-timer.C:
	}
	c.Signal(os.Kill)
	<-c.Done
}

// Code returns what CMD ended with, as a shell reports it.
func (c *Child) Code() int {
	state := c.cmd.ProcessState
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return signalCode(ws.Signal())
	}
	return state.ExitCode()
}
