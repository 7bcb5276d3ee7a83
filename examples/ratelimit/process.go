package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a server, seen from the one that started it.
type process struct {
	cmd    *exec.Cmd
	url    string
	cancel context.CancelFunc
}

const (
	startPatience = 15 * time.Second
	// endPatience is what a process may take to end when its input has, before
	// it is killed.
	endPatience = 5 * time.Second
)

// startProcess starts a server and returns when it serves. It lives until end,
// not until ctx ends: the last requests are answered.
func startProcess(ctx context.Context, o order, stderr io.Writer) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &process{cmd: exec.CommandContext(life, self), cancel: cancel}
	p.cmd.Env = append(os.Environ(), asServer+"=1")
	p.cmd.Stderr = stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	p.cmd.Cancel = in.Close
	p.cmd.WaitDelay = endPatience
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if err := p.await(ctx, in, out, o); err != nil {
		p.end()
		return nil, fmt.Errorf("a server: %w", err)
	}
	return p, nil
}

// await gives the order and waits until it is carried out, or ctx ends.
func (p *process) await(ctx context.Context, in io.Writer, out io.Reader, o order) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	// Without the process there is an end to what it says.
	defer context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })()
	if err := json.NewEncoder(in).Encode(o); err != nil {
		return err
	}
	var said ready
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if said.Err != "" {
		return errors.New(said.Err)
	}
	p.url = said.URL
	return nil
}

// end asks the process to end, makes it, and returns when it has.
func (p *process) end() {
	p.cancel()
	_ = p.cmd.Wait() // it has said itself what was wrong
}

// lockedWriter lets several processes write to one standard error.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
