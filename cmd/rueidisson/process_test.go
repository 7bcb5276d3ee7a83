//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// patience bounds the waits for something that has to happen.
var patience = redistest.Soon

// process is the tool as a process of its own.
type process struct {
	t   *testing.T
	cmd *exec.Cmd

	mu     sync.Mutex
	out    []string // lines of standard output
	more   chan struct{}
	stderr strings.Builder
	ended  chan struct{}
	heard  chan struct{} // all that it will ever say was read
}

// start runs the tool without a controlling terminal.
func start(t *testing.T, url string, args ...string) *process {
	t.Helper()
	return startCommand(t, url, exec.Command(os.Args[0], args...))
}

func startCommand(t *testing.T, url string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, more: make(chan struct{}, 1), ended: make(chan struct{}), heard: make(chan struct{})}
	cmd.Env = append(os.Environ(), asTool+"=1", "TOOL="+os.Args[0], envRedis+"="+url)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	stdout, stderr := p.pipe(), p.pipe()
	cmd.Stdout, cmd.Stderr = stdout.write, stderr.write
	require.NoError(t, cmd.Start())
	stdout.write.Close()
	stderr.write.Close()
	var reading sync.WaitGroup
	reading.Go(func() { p.readLines(stdout.read) })
	reading.Go(func() { p.readErrors(stderr.read) })
	go func() { // ends with the pipes, to whose reading the cleanup sets an end
		reading.Wait()
		close(p.heard)
	}()
	go func() { // ends with the process, which the cleanup kills
		_ = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.ended
		stdout.read.SetReadDeadline(time.Now().Add(patience)) // CMD dies with the tool
		stderr.read.SetReadDeadline(time.Now().Add(patience))
		<-p.heard
		stdout.read.Close()
		stderr.read.Close()
		if t.Failed() {
			t.Logf("%q said %q and %q", cmd.Args[1:], p.said(), p.errors())
		}
	})
	return p
}

type pipe struct{ read, write *os.File }

func (p *process) pipe() pipe {
	r, w, err := os.Pipe()
	require.NoError(p.t, err)
	return pipe{r, w}
}

func (p *process) readLines(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		p.mu.Lock()
		p.out = append(p.out, lines.Text())
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
	}
}

func (p *process) readErrors(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		p.mu.Lock()
		p.stderr.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
	}
}

func (p *process) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.out)
}

func (p *process) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// await waits for a line on standard output.
func (p *process) await(line string) {
	p.t.Helper()
	timeout := time.After(patience)
	for !slices.Contains(p.said(), line) {
		select {
		case <-p.more:
		case <-timeout:
			p.t.Fatalf("%q was not said", line)
		}
	}
}

func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

// code waits for the end and returns the exit code.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("the tool has not ended")
	}
	select { // what it said last may still be on its way; a CMD that lives on may keep the pipes open
	case <-p.heard:
	case <-time.After(5 * time.Second):
	}
	return p.cmd.ProcessState.ExitCode()
}

// waiter is a script for CMD that says what it is sent. sh runs a trap when the
// command in the foreground is over, or at once in wait.
func waiter(traps string) string {
	return traps + `
echo ready
while :; do sleep 0.02; done`
}
