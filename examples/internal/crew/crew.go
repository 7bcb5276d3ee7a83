// Package crew lets a program start itself again, as processes of their own, and
// talk with them in lines of JSON: on their standard input, and on their
// standard output.
package crew

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Member is a process, seen from the one that started it.
type Member struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	orders *json.Encoder
	over   chan struct{} // closed when it has ended
}

// Start starts this program again, with the variable set that [Join] looks for.
// hear reads what the member says; what it leaves is thrown away. gone is called
// when the member has ended, with what became of it; nil is for nothing. The
// member lives until [Member.End], and not longer than this process.
func Start(variable string, stderr io.Writer, hear func(said *json.Decoder), gone func(state string)) (*Member, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m := &Member{cmd: exec.Command(self), over: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), variable+"=1")
	m.cmd.Stderr = stderr
	m.cmd.SysProcAttr = attributes()
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	m.orders = json.NewEncoder(m.in)
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	// Ends with the process.
	go func() {
		// Linux kills the member when the thread that started it ends, not the
		// process. This one is kept until the member has ended. It is unlocked
		// then: a thread that ended with us would take along what else was
		// started on it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := m.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		hear(json.NewDecoder(out))
		_, _ = io.Copy(io.Discard, out) // it must not wait for somebody to listen
		_ = m.cmd.Wait()                // what was wrong it has said itself
		if gone != nil {
			gone(m.cmd.ProcessState.String())
		}
		close(m.over)
	}()
	return m, <-started
}

// Tell sends something to the member, in a line of its own.
func (m *Member) Tell(what any) error { return m.orders.Encode(what) }

// Kill ends the member with SIGKILL.
func (m *Member) Kill() error { return m.cmd.Process.Kill() }

// endPatience is what a member may take to end when its input has.
const endPatience = 5 * time.Second

// End asks the member to end, makes it, and returns when it has.
func (m *Member) End() {
	_ = m.in.Close()
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-m.over:
	case <-timer.C:
		_ = m.Kill() // refused only if it has ended meanwhile
		<-m.over
	}
}
