package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Peer is a JVM with one Redisson client. It is safe for concurrent use.
type Peer struct {
	id      string
	version string
	conn    *conn
	cmd     *exec.Cmd
	stdin   io.Closer
	said    *tail
	done    chan struct{} // closed when the process has been waited for
}

// Start builds the program if need be, starts a JVM and waits until Redisson is connected. The JVM is
// closed at the end of the test, and what it logged is shown if the test failed.
//
// Without a JDK or Maven the test is skipped, or fails if RUEIDISSON_REQUIRE_SERVERS is 1. Everything
// else that goes wrong fails the test.
func Start(t testing.TB, o Options) *Peer {
	t.Helper()
	p, err := start(t.Context(), o)
	if errors.Is(err, errNoTools) {
		skip(t, os.Getenv("RUEIDISSON_REQUIRE_SERVERS") == "1", err)
	}
	if err != nil {
		t.Fatalf("interop: start Redisson %s: %v", o.version(), err)
	}
	t.Cleanup(func() {
		p.Close()
		if t.Failed() {
			t.Logf("Redisson %s %s logged:\n%s", p.version, p.id, p.said)
		}
	})
	return p
}

func start(ctx context.Context, o Options) (*Peer, error) {
	java, err := javaTool(ctx, "java")
	if err != nil {
		return nil, err
	}
	folder, err := project()
	if err != nil {
		return nil, err
	}
	jar, err := build(ctx, folder, o.version())
	if err != nil {
		return nil, err
	}
	p, err := launch(java, jar, o)
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx); err != nil {
		p.Kill()
		return nil, fmt.Errorf("%w\n%s", err, p.said)
	}
	return p, nil
}

// launch starts the process. By default it has a small heap, and a compiler that is quick rather than good: a test
// starts several of them on a small machine.
func launch(java, jar string, o Options) (*Peer, error) {
	args := []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"}
	if o.Full {
		args = nil
	}
	cmd := exec.Command(java, append(append(args, "-jar", jar), o.args()...)...)
	if len(o.Env) > 0 {
		cmd.Env = append(os.Environ(), o.Env...)
	}
	dieWithParent(cmd)
	said := &tail{}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Peer{conn: newConn(stdin), cmd: cmd, stdin: stdin, said: said, done: make(chan struct{})}
	go p.run(stdout) // ends with the process
	return p, nil
}

func (p *Peer) run(stdout io.Reader) {
	defer close(p.done)
	p.conn.read(stdout)
	p.cmd.Wait() // after the last read, as StdoutPipe demands; its error is the exit code, told by said
}

func (p *Peer) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyIn)
	defer cancel()
	var first answer
	select {
	case first = <-p.conn.ready:
	case <-ctx.Done():
		return fmt.Errorf("not ready: %w", context.Cause(ctx))
	}
	if first.err != nil {
		return first.err
	}
	if len(first.reply) != 2 {
		return fmt.Errorf("ready line with %d words", len(first.reply))
	}
	p.id, p.version = first.reply[0].Text, first.reply[1].Text
	return nil
}

// ID returns the id of the Redisson client, the first part of its owner texts.
func (p *Peer) ID() string { return p.id }

// Version returns that of Redisson, as its jar says.
func (p *Peer) Version() string { return p.version }

// Do runs an operation on a Java thread: its words are object, operation, name and arguments, as the
// README of interop/java lists them. It returns when Java has answered or ctx ends; in the second case
// the thread stays busy with it, see [Peer.Interrupt].
//
// An exception is a *[JavaError]; after the end of the JVM the error is [ErrEnded].
func (p *Peer) Do(ctx context.Context, thread string, words ...string) (Reply, error) {
	reply, err := p.conn.do(ctx, append([]string{thread}, words...))
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", thread, words, err)
	}
	return reply, nil
}

// Call makes a call as [Peer.Do] does, for operations with one value or none: it returns the value as text, empty if the
// operation is void, and [ErrNull] for null.
func (p *Peer) Call(ctx context.Context, thread string, words ...string) (string, error) {
	reply, err := p.Do(ctx, thread, words...)
	if err != nil || len(reply) == 0 {
		return "", err
	}
	return reply.Text()
}

// Owner returns the owner text of a Java thread, <client id>:<thread id>.
func (p *Peer) Owner(ctx context.Context, thread string) (string, error) {
	return p.Call(ctx, thread, "peer", "owner")
}

// ThreadID returns Java's number of a thread, the second part of its owner text.
func (p *Peer) ThreadID(ctx context.Context, thread string) (int64, error) {
	reply, err := p.Do(ctx, thread, "peer", "threadId")
	if err != nil {
		return 0, err
	}
	return reply.Int()
}

// Interrupt interrupts what the thread is doing, as Java's Thread.interrupt does; false if it is idle.
// Of the lock operations, LockInterruptibly and those with a wait end by it; Lock does not. They end with
// InterruptedException, or with RedisException if Redisson was just talking to the server.
func (p *Peer) Interrupt(ctx context.Context, thread string) (bool, error) {
	reply, err := p.Do(ctx, thread, "peer", "interrupt")
	if err != nil {
		return false, err
	}
	return reply.Bool()
}

// Kill ends the JVM with SIGKILL, as a crash would, and returns when it is gone.
func (p *Peer) Kill() {
	p.cmd.Process.Kill() // an error means that it has ended already
	<-p.done
}

// Signal sends a signal, such as SIGSTOP and SIGCONT for a pause, to the JVM.
func (p *Peer) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Close ends the JVM in good order: Redisson is shut down, what it holds is left to its lease. One that
// does not end is killed. Close may be called again, and after [Peer.Kill].
func (p *Peer) Close() {
	p.stdin.Close()
	timer := time.NewTimer(closesIn)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
	}
}
