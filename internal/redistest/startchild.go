package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/proc"
)

// Child is a process that [StartChild] started.
type Child struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *lines
	stderr *lockedBuffer
	exited chan struct{}
	err    error // of the process, once exited is closed
}

// StartChild runs this test binary again, as the child of that name (see [Children]), with env ("KEY=value") added to
// its environment. It is killed when the test ends; what it wrote to standard error is logged if the test failed.
func StartChild(t testing.TB, name string, env ...string) *Child {
	t.Helper()
	return StartChildOf(t, os.Args[0], name, env...)
}

// StartChildOf is [StartChild] with another test binary, such as one of a library that was changed.
func StartChildOf(t testing.TB, binary, name string, env ...string) *Child {
	t.Helper()
	c := &Child{t: t, name: name, stderr: &lockedBuffer{}, lines: newLines(), exited: make(chan struct{})}
	c.cmd = exec.Command(binary, "-test.run=^$")
	c.cmd.Env = append(append(os.Environ(), env...), childName+"="+name)
	c.cmd.Stderr = c.stderr
	c.cmd.SysProcAttr = attributes(false)
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = in
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("redistest: child %s: %v", name, err)
	}
	go c.read(out) // ends with the child, which the cleanup kills and waits for
	t.Cleanup(c.end)
	return c
}

// read collects the child's lines until it ends. Wait comes after: it closes the pipe.
func (c *Child) read(out io.Reader) {
	defer close(c.exited)
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, maxLine)
	for scan.Scan() {
		c.lines.add(scan.Text())
	}
	c.err = c.cmd.Wait()
	c.lines.close()
}

func (c *Child) end() {
	c.Kill()
	c.in.Close()
	if text := c.stderr.String(); c.t.Failed() && text != "" {
		c.t.Logf("standard error of child %s:\n%s", c.name, text)
	}
}

// PID returns the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Send sends one line to the child.
func (c *Child) Send(format string, args ...any) {
	c.check(io.WriteString(c.in, fmt.Sprintf(format, args...)+"\n"))
}

func (c *Child) check(_ int, err error) {
	if err != nil {
		c.t.Errorf("redistest: child %s: %v", c.name, err)
	}
}

// CloseInput closes the child's standard input: its Hear returns false once it has heard what was sent.
func (c *Child) CloseInput() { c.in.Close() }

// Next waits for the child's next line. It fails the test if the child ends or stays silent for half a minute.
func (c *Child) Next() string {
	c.t.Helper()
	return c.Await("")
}

// Await waits for a line that starts with prefix, leaving out those before it, and returns the whole line. It fails the
// test if the child ends or stays silent for half a minute.
func (c *Child) Await(prefix string) string {
	c.t.Helper()
	line, ok := c.AwaitFor(prefix, Soon)
	if !ok {
		c.t.Fatalf("redistest: child %s said nothing like %q; it said %q and on standard error:\n%s",
			c.name, prefix, c.lines.all(), c.stderr)
	}
	return line
}

// AwaitFor is Await with a bound of one's own; false means that no such line came within it.
func (c *Child) AwaitFor(prefix string, d time.Duration) (line string, ok bool) {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	for {
		line, ok, more := c.lines.next()
		if ok && strings.HasPrefix(line, prefix) {
			return line, true
		}
		if ok {
			continue
		}
		if more == nil {
			return "", false
		}
		select {
		case <-more:
		case <-deadline.C:
			return "", false
		}
	}
}

// Stop stops the child with SIGSTOP and returns when it stands still.
func (c *Child) Stop() {
	err := c.cmd.Process.Signal(syscall.SIGSTOP)
	if err == nil {
		err = proc.AwaitStopped(c.PID(), Soon)
	}
	c.check(0, err)
}

// Cont continues a stopped child with SIGCONT.
func (c *Child) Cont() { c.check(0, c.cmd.Process.Signal(syscall.SIGCONT)) }

// Signal sends any other signal.
func (c *Child) Signal(sig os.Signal) { c.check(0, c.cmd.Process.Signal(sig)) }

// Kill ends the child with SIGKILL and returns when it is gone. Killing an ended child is fine.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // refuses by itself when the process has been waited for
	<-c.exited
}

// Wait waits until the child has ended by itself and returns its exit code, -1 if a signal ended it. It fails the test
// after half a minute.
func (c *Child) Wait() int {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(Soon):
		c.t.Fatalf("redistest: child %s has not ended; it said %q", c.name, c.lines.all())
	}
	var exit *exec.ExitError
	if c.err != nil && !errors.As(c.err, &exit) {
		c.t.Fatalf("redistest: child %s: %v", c.name, c.err)
	}
	return c.cmd.ProcessState.ExitCode()
}

// lines is what a child said, and how far it has been read.
type lines struct {
	mu     sync.Mutex
	said   []string
	read   int
	closed bool
	more   chan struct{} // closed and replaced when something is added
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, line)
	close(l.more)
	l.more = make(chan struct{})
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.more)
}

// next takes a line. Without one, more is closed when there is something new; it is nil when nothing will come.
func (l *lines) next() (line string, ok bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read < len(l.said) {
		l.read++
		return l.said[l.read-1], true, nil
	}
	if l.closed {
		return "", false, nil
	}
	return "", false, l.more
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.said...)
}

// lockedBuffer can be read while the child still writes.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
