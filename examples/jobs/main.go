// Command jobs takes orders through three processes, paid, packed and mailed, each
// of which works on a reliable queue and hands on to the next, while one of them is
// killed every second.
//
//	go run ./examples/jobs
//	go run ./examples/jobs -kill 200ms
//	go run ./examples/jobs -plain
//	go run ./examples/jobs -addr 127.0.0.1:6379
//
// A process that dies had orders in its hands. When their leases are over they are
// another's, here its successor's, as their next attempt: each order is handled at
// least once in each place. Handed on it is once: the process that adds an order to
// the next queue does so under a dedup key, so that one who died between that and the
// acknowledgement has not added a second. The letter is no business of Redis: whoever
// sends it dies behind the post office's counter or before, and nobody knows. So the
// post office is told the number of the order, and sends one letter for each.
//
// With -plain it does not look at the number; then some customers get two letters,
// mostly, and the program says so.
//
// Some orders find no box at first, and are tried again. Some have no address: they
// are buried, and should be mailed never.
//
// It needs no server: without -addr one runs inside of this process, and the others
// reach it over TCP. Those are real processes, this program started again.
//
// Exit codes: 0 every order was mailed exactly as often as it should, 1 some were not,
// 2 the flags cannot be understood, 3 the line could not be run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

func main() {
	crew.Join(asPlace, "jobs: a place", serve)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	orders      int
	every, kill time.Duration
	addr        string
	plain       bool
}

// run takes the orders that args ask for through the line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	return crew.Program{Name: "jobs", Flags: s.flags, Check: s.check, Show: func(ctx context.Context) ([]string, error) {
		l, err := start(ctx, s, stderr)
		if err != nil {
			return nil, err
		}
		l.report(stdout)
		return l.problems(), nil
	}}.Run(args, stderr)
}

const mostOrders = 1_000_000

func (s *settings) flags(f *flag.FlagSet) {
	f.IntVar(&s.orders, "orders", 2000, "orders")
	f.DurationVar(&s.every, "every", 4*time.Millisecond, "how often one comes in")
	f.DurationVar(&s.kill, "kill", time.Second, "how often a process is killed; 0: never")
	crew.Addr(f, &s.addr)
	f.BoolVar(&s.plain, "plain", false, "let the post office send every letter that it is given")
}

func (s *settings) check() error {
	switch {
	case s.orders < 1 || s.orders > mostOrders:
		return fmt.Errorf("-orders %d is not between 1 and %d", s.orders, mostOrders)
	case s.every < 0 || s.kill < 0:
		return errors.New("-every and -kill are not negative")
	}
	return nil
}
