package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// process is a counter, seen from the one that started it.
type process struct {
	number int
	cmd    *exec.Cmd
	in     io.WriteCloser
	over   chan struct{} // closed when it has ended
}

// startProcess starts a counter. What it says goes to events until stop is
// closed; the last event is that it has ended.
func startProcess(number int, events chan<- event, stop <-chan struct{}, stderr io.Writer) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{number: number, cmd: exec.Command(self), over: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asCounter+"=1")
	p.cmd.Stderr = stderr
	p.cmd.SysProcAttr = attributes()
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	// Ends with the process.
	go func() {
		// Linux kills the counter when the thread that started it ends, not the
		// process. This one is kept until the counter has ended. It is unlocked
		// then: a thread that ended with us would take along what else was
		// started on it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.listen(out, events, stop)
			close(p.over)
		}
	}()
	return p, <-started
}

// listen passes on what the process says, and that it has ended.
func (p *process) listen(out io.Reader, events chan<- event, stop <-chan struct{}) {
	decoder := json.NewDecoder(out)
	for {
		var e event
		if decoder.Decode(&e) != nil {
			break
		}
		p.tell(e, events, stop)
	}
	_, _ = io.Copy(io.Discard, out) // a line that is no event must not block it
	_ = p.cmd.Wait()
	p.tell(event{Kind: ended, Err: p.cmd.ProcessState.String()}, events, stop)
}

func (p *process) tell(e event, events chan<- event, stop <-chan struct{}) {
	e.Process = p.number
	select {
	case events <- e:
	case <-stop:
	}
}

func (p *process) order(o order) error {
	return p.sayTo(json.NewEncoder(p.in).Encode(o))
}

func (p *process) start() error {
	_, err := io.WriteString(p.in, goLine+"\n")
	return p.sayTo(err)
}

func (p *process) sayTo(err error) error {
	if err != nil {
		return fmt.Errorf("process %d: %w", p.number, err)
	}
	return nil
}

// kill ends the process with SIGKILL.
func (p *process) kill() error { return p.cmd.Process.Kill() }

// endPatience is what a process may take to end when its input has.
const endPatience = 5 * time.Second

// end asks the process to end, and makes it.
func (p *process) end() {
	_ = p.in.Close()
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-p.over:
	case <-timer.C:
		_ = p.kill() // refused only if it has ended meanwhile
		<-p.over
	}
}
