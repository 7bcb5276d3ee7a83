package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is CMD while it runs.
type child struct {
	cmd   *exec.Cmd
	group bool          // it has a process group of its own, which signals go to
	done  chan struct{} // closed when it has ended
}

// startChild starts CMD, with a process group of its own or not, and returns when it
// runs, or cannot.
func startChild(cmd *exec.Cmd, group bool) (*child, error) {
	c := &child{cmd: cmd, group: group, done: make(chan struct{})}
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
			close(c.done)
		}
	}()
	return c, <-started
}

// pass passes on a signal that the tool got.
func (c *child) pass(sig os.Signal) {
	if !c.group && fromTerminal(sig) {
		return // the terminal has sent it to CMD as well
	}
	c.signal(sig)
}

// signal sends a signal to CMD, if it has not ended.
func (c *child) signal(sig os.Signal) {
	select {
	case <-c.done:
		return // its number may be somebody else's by now
	default:
	}
	if c.group {
		signalGroup(c.cmd.Process.Pid, sig)
		return
	}
	_ = c.cmd.Process.Signal(sig) // it may have just ended
}

// end asks CMD to end, and makes it when grace is over. It returns when it has.
func (c *child) end(grace time.Duration) {
	c.signal(syscall.SIGTERM)
	wake(c) // one that is stopped would not hear of it
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return
	case <-timer.C:
	}
	c.signal(os.Kill)
	<-c.done
}

// code returns what CMD ended with, as a shell reports it.
func (c *child) code() int {
	state := c.cmd.ProcessState
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return signalCode(ws.Signal())
	}
	return state.ExitCode()
}
