//go:build linux

// Command busy runs a command on a machine that it makes slow:
//
//	go run ./internal/busy make test
//
// Two spinning processes for each processor run beside the command. All processes of the command's session are stopped
// for 20 ms of every 40. A process that something else has stopped is left alone, so tests may stop processes themselves.
// The exit code is the command's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const (
	slice = 20 * time.Millisecond
	// longest bounds a spinning process whose parent was killed.
	longest = 4 * time.Hour
	// spinning is the argument by which this command starts itself as a spinning process.
	spinning = "spin-until-parent-ends"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "busy: no command; usage: busy CMD [ARG...]")
		os.Exit(2)
	}
	if os.Args[1] == spinning {
		spin()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, 2*runtime.NumCPU(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "busy:", err)
	}
	os.Exit(code)
}

// spin computes until its parent ends.
func spin() {
	parent := os.Getppid()
	for end := time.Now().Add(longest); os.Getppid() == parent && time.Now().Before(end); {
		for n := 0; n < 1_000_000; n++ {
			runtime.KeepAlive(n)
		}
	}
}

// run runs the command beside the spinning processes, and returns its exit code when it has ended.
func run(ctx context.Context, spinners int, command []string) (code int, err error) {
	beside, err := startSpinners(spinners)
	defer endAll(beside)
	if err != nil {
		return 1, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the command
	return slow(ctx, cmd.Process.Pid, ended)
}

// slow stops and continues the session until its first process has ended. Where ctx ends before, the session is told to
// end.
func slow(ctx context.Context, session int, ended <-chan error) (code int, err error) {
	s := &suite{session: session}
	defer s.resume()
	for interrupted := ctx.Done(); ; {
		select {
		case err := <-ended:
			return exitCode(err)
		case <-interrupted:
			s.resume()
			s.signal(syscall.SIGTERM)
			interrupted = nil
		case <-time.After(slice):
		}
		s.stop()
		time.Sleep(slice)
		s.resume()
	}
}

func startSpinners(n int) (all []*exec.Cmd, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for range n {
		cmd := exec.Command(self, spinning)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		if err := cmd.Start(); err != nil {
			return all, err
		}
		all = append(all, cmd)
	}
	return all, nil
}

func endAll(all []*exec.Cmd) {
	for _, cmd := range all {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	default:
		return 1, err
	}
}
