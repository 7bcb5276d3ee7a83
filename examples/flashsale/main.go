// Command flashsale sells one product to many buyers at once, from several
// processes, and shows what a lock is for.
//
//	go run ./examples/flashsale
//	go run ./examples/flashsale -strategy none
//	go run ./examples/flashsale -kill
//	go run ./examples/flashsale -addr 127.0.0.1:6379 -json
//
// The stock is a number in Redis. Each buyer reads it, thinks for a moment, and
// writes it back, one lower. With -strategy none the buyers do so all at once,
// read the same number, and are sold the same piece. With -strategy lock they do
// it inside of a lock that all processes share.
//
// It needs no server: without -addr one runs inside of this process, and the
// processes that serve the buyers reach it over TCP. Those are real ones, this
// program started again, each with a client of its own.
//
// Exit codes: 0 the sale went as it should, 1 something was oversold under a lock
// or a buyer was not served, 2 the flags cannot be understood, 3 the sale could
// not be held.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

const (
	exitWrong  = 1
	exitUsage  = 2
	exitFailed = 3
)

func main() {
	crew.Join(asCounter, "flashsale: a counter", serve)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run holds the sale that args ask for and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := hold(ctx, s, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "flashsale:", err)
		return exitFailed
	}
	return show(r, s.json, stdout, stderr)
}

// show prints the result and says whether the sale went as it should.
func show(r *result, asJSON bool, stdout, stderr io.Writer) int {
	print := report
	if asJSON {
		print = reportJSON
	}
	if err := print(stdout, r); err != nil {
		fmt.Fprintln(stderr, "flashsale:", err)
		return exitFailed
	}
	for _, problem := range r.Problems {
		fmt.Fprintln(stderr, "flashsale:", problem)
	}
	if len(r.Problems) > 0 {
		return exitWrong
	}
	return 0
}
