// Command testrun runs go test -json and prints what go test prints without -json, and then where the time went:
//
//	go run ./internal/testrun [-within 1h] [-keep results.json] go test -json -race ./...
//
// As the tests run it prints a line for each package, whatever failed tests have said, and why tests were skipped. At the
// end come the ten slowest packages and tests, and with which counts tests ran that say so (see Count in package
// redistest).
//
// It fails where go test fails, and where that succeeds although a test has not. A run that takes longer than -within is
// ended, and has failed. With -keep the events are also written to a file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// options are the command line.
type options struct {
	within  time.Duration // no limit if zero
	keep    string        // no file if empty
	command []string
}

func main() {
	var o options
	flag.DurationVar(&o.within, "within", 0, "how long the run may take")
	flag.StringVar(&o.keep, "keep", "", "file to write the events to")
	flag.Parse()
	o.command = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	if len(o.command) == 0 {
		return errors.New("no command, which is go test -json with what it is to test")
	}
	kept, err := keep(o.keep)
	if err != nil {
		return err
	}
	ctx, cancel := limited(ctx, o.within)
	defer cancel()
	report := newReport(stdout)
	err = errors.Join(follow(ctx, o.command, kept, report), kept.Close())
	report.end()
	return errors.Join(err, context.Cause(ctx), report.problem())
}

func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("ended after %v, which is how long it may take", d))
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

func keep(file string) (io.WriteCloser, error) {
	if file == "" {
		return discard{io.Discard}, nil
	}
	return os.Create(file)
}

// patience is for processes that were asked to end.
const patience = 10 * time.Second

// follow runs the command until it ends, or until ctx does: then everything that it has started ends with it, for which
// it gets a process group of its own.
func follow(ctx context.Context, command []string, kept io.Writer, r *report) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	out, in := io.Pipe()
	cmd.Stdout = in
	ended := make(chan error, 1)
	go func() { // ends with the command
		err := cmd.Run()
		in.Close()
		ended <- err
	}()
	err := gotest.Read(io.TeeReader(out, kept), r.add, r.print)
	out.CloseWithError(err) // so that the command does not wait for a reader that has given up
	return errors.Join(err, <-ended)
}
