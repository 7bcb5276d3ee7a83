// Command flashsale sells one product to many buyers at once, from several
// processes, and shows what a lock is for.
//
//	go run ./examples/flashsale
//	go run ./examples/flashsale -strategy none
//	go run ./examples/flashsale -strategy semaphore
//	go run ./examples/flashsale -kill
//	go run ./examples/flashsale -addr 127.0.0.1:6379 -json
//
// The stock is a number in Redis. Each buyer reads it, thinks for a moment, and
// writes it back, one lower. With -strategy none the buyers do so all at once,
// read the same number, and are sold the same piece. With -strategy lock they do
// it inside of a lock that all processes share. With -strategy semaphore the
// pieces are permits of a semaphore, which each buyer takes one of, and nobody
// waits; the lock is run beside it.
//
// It needs no server: without -addr one runs inside of this process, and the
// processes that serve the buyers reach it over TCP. Those are real ones, this
// program started again, each with a client of its own.
//
// Exit codes: 0 the sale went as it should, 1 something was oversold, other than
// by none, or a buyer was not served, 2 the flags cannot be understood, 3 the sale could
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

// run holds the sales that args ask for and returns the exit code.
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
	var all []*result
	for _, s.strategy = range s.runs {
		r, err := hold(ctx, s, stderr)
		if err != nil {
			fmt.Fprintln(stderr, "flashsale:", err)
			return exitFailed
		}
		all = append(all, r)
	}
	return show(all, s.json, stdout, stderr)
}

// show prints the results and says whether the sales went as they should.
func show(all []*result, asJSON bool, stdout, stderr io.Writer) int {
	print := report
	if asJSON {
		print = reportJSON
	}
	if err := print(stdout, all); err != nil {
		fmt.Fprintln(stderr, "flashsale:", err)
		return exitFailed
	}
	code := 0
	for _, r := range all {
		for _, problem := range r.Problems {
			fmt.Fprintln(stderr, "flashsale:", problem)
			code = exitWrong
		}
	}
	return code
}
