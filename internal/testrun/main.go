// Command testrun runs go test -json and prints what go test prints without -json, and then where the time went:
//
//	go run ./internal/testrun [-within 1h] [-timeout 10m] [-keep events.json] [-part test-go -results DIR] go test -json -race ./...
//	go run ./internal/testrun -sum -results DIR test-go test-bench
//
// As the tests run it prints a line for each package, whatever failed tests have said, and why tests were skipped. At the
// end come the ten slowest packages and tests, and with which counts tests ran that say so (see Count in package
// redistest).
//
// It fails where go test fails, and where that succeeds although a test has not. A run that takes longer than -within is
// ended, and has failed. With -keep the events are also written to a file.
//
// Before the tests it measures how fast the machine is (package pace), and chooses by that how many packages are tested
// at once. Both limits, of the run and of the tests of a package, are those of the fastest machine: a slow one has more
// time.
//
// With -part and -results it leaves what came of the part in a file. -sum prints the sum of the parts that are named:
// how many tests passed, failed and were skipped, the rounds that were repeated because the machine stood still, and for
// each failed test the command that repeats it. It fails if a part failed or left no file.
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

	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/testrun/gotest"
)

// options are the command line.
type options struct {
	within  time.Duration // no limit if zero
	timeout time.Duration // of each package; that of go test if zero
	keep    string        // no file if empty
	part    string        // what the results are of
	results string        // no folder if empty
	sum     bool
	command []string
}

func main() {
	var o options
	flag.DurationVar(&o.within, "within", 0, "how long the run may take on a fast machine")
	flag.DurationVar(&o.timeout, "timeout", 0, "how long the tests of one package may take on a fast machine")
	flag.StringVar(&o.keep, "keep", "", "file to write the events to")
	flag.StringVar(&o.part, "part", "", "name of this part of a run")
	flag.StringVar(&o.results, "results", "", "folder for the results of the parts")
	flag.BoolVar(&o.sum, "sum", false, "print the sum of the parts that are named")
	flag.Parse()
	o.command = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := run
	if o.sum {
		do = sum
	}
	if err := do(ctx, o, os.Stdout); err != nil {
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
	ctx, cancel := limited(ctx, pace.Scale(o.within))
	defer cancel()
	report := newReport(stdout)
	began := time.Now()
	err = errors.Join(follow(ctx, o, kept, report), kept.Close())
	report.end()
	err = errors.Join(err, context.Cause(ctx), report.problem())
	return errors.Join(err, leave(o, report, time.Since(began), err))
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
func follow(ctx context.Context, o options, kept io.Writer, r *report) error {
	cmd := exec.CommandContext(ctx, o.command[0], o.command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), paced(r.out, o.timeout)...)
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
