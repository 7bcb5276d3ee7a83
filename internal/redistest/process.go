package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rueidisson/rueidisson/internal/proc"
)

// process is one server: its folder, its port and, while it runs, its operating system process.
type process struct {
	binary string
	dir    string
	port   int
	args   []string // behind the configuration file on the command line

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
}

// setting is a line of the configuration file.
type setting []string

const startTries = 10

// launch starts a server on a free port, on another one if somebody else was faster to take it.
func launch(binary, dir string, settings func(port int) ([]setting, error), args ...string) (*process, error) {
	var last error
	for range startTries {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		p := &process{binary: binary, dir: dir, port: port, args: args}
		lines, err := settings(port)
		if err != nil {
			return nil, err
		}
		if err := p.configure(lines); err != nil {
			return nil, err
		}
		if last = p.start(); last == nil {
			return p, nil
		}
		if !strings.Contains(p.log(), "Address already in use") {
			return nil, last
		}
	}
	return nil, last
}

// configure writes the file that the server starts from and may rewrite (a Sentinel does).
func (p *process) configure(settings []setting) error {
	base := []setting{
		{"bind", "127.0.0.1"},
		{"port", strconv.Itoa(p.port)},
		{"dir", p.dir},
		{"logfile", p.path("server.log")},
	}
	var text strings.Builder
	for _, s := range append(base, settings...) {
		text.WriteString(s.String())
	}
	return os.WriteFile(p.path("server.conf"), []byte(text.String()), 0o600)
}

func (s setting) String() string {
	line := s[0]
	for _, value := range s[1:] {
		line += " " + strconv.Quote(value)
	}
	return line + "\n"
}

func (p *process) path(name string) string { return filepath.Join(p.dir, name) }

func (p *process) addr() string { return address(p.port) }

// start runs the server and waits until it answers.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command(p.binary, append([]string{p.path("server.conf")}, p.args...)...)
	cmd.SysProcAttr = attributes(true)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	exited := make(chan struct{})
	// Ends with the server, which kill ends; kill waits for it.
	go func() {
		defer close(exited)
		_ = cmd.Wait()
	}()
	p.cmd, p.exited = cmd, exited
	if err := p.ready(); err != nil {
		p.stop()
		return fmt.Errorf("redistest: %s on %s: %w\n%s", p.binary, p.addr(), err, p.log())
	}
	return nil
}

var errExited = errors.New("server ended at once")

// ready waits until our process, and not another one that has the port, answers and has loaded its data.
func (p *process) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), Soon)
	defer cancel()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	var failed error
	err := poll(ctx, func() error {
		select {
		case <-p.exited:
			failed = errExited
			return nil
		default:
		}
		got, err := info(p.addr())
		if err == nil && (got["process_id"] != pid || got["loading"] == "1") {
			err = fmt.Errorf("not ready: process %s, loading %s", got["process_id"], got["loading"])
		}
		return err
	})
	return errors.Join(err, failed)
}

// kill ends the server the hard way and waits until it is gone. Killing a dead one is fine.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
}

func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	// The process is ours and not yet waited for, or its group is empty: the number cannot be somebody else's.
	select {
	case <-p.exited:
	default:
		_ = killGroup(p.cmd.Process.Pid)
	}
	<-p.exited
	p.cmd = nil
}

func (p *process) signal(sig os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return fmt.Errorf("redistest: %v for the server on %s, which does not run", sig, p.addr())
	}
	return p.cmd.Process.Signal(sig)
}

// pause returns when the server has stopped: the kernel stops threads one by one, some time after the signal.
func (p *process) pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return proc.AwaitStopped(p.pid(), Soon)
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

const logTail = 4096

// log returns the end of what the server wrote, for error messages.
func (p *process) log() string {
	text, err := os.ReadFile(p.path("server.log"))
	if err != nil {
		return "no log: " + err.Error()
	}
	return string(text[max(0, len(text)-logTail):])
}
