// Command delayqueue has orders time out unless they are paid, though the process that
// took them is killed meanwhile.
//
//	go run ./examples/delayqueue
//	go run ./examples/delayqueue -orders 200 -pay 0.8
//	go run ./examples/delayqueue -addr 127.0.0.1:6379
//
// There are two processes beside this one. The shop takes orders, and offers each to a
// delayed queue, from which it is due when the time to pay is over. The clerk takes from
// that queue what was not paid, and cancels it. This process pays: it removes an order
// from the queue, and whoever comes first, it or the clerk, decides.
//
// When the shop has taken all orders it is killed with SIGKILL. Nobody on the server
// moves what is due; the clerk does, since it waits for it.
//
// It needs no server: without -addr one runs inside of this process, and the others
// reach it over TCP. Those are real processes, this program started again.
//
// Exit codes: 0 each order was paid or canceled, once, 1 otherwise, 2 the flags cannot be
// understood, 3 the shop could not be opened.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

func main() {
	crew.Join(asMember, "delayqueue: a process", serve)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	orders int
	within time.Duration
	pay    float64
	addr   string
}

// run opens the shop that args ask for and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	return crew.Program{Name: "delayqueue", Flags: s.flags, Check: s.check, Show: func(ctx context.Context) ([]string, error) {
		b, err := open(ctx, s, stderr)
		if err != nil {
			return nil, err
		}
		b.report(stdout)
		return b.problems(), nil
	}}.Run(args, stderr)
}

const mostOrders = 1000

func (s *settings) flags(f *flag.FlagSet) {
	f.IntVar(&s.orders, "orders", 60, "how many orders there are")
	f.DurationVar(&s.within, "within", 3*time.Second, "how long an order may stay unpaid")
	f.Float64Var(&s.pay, "pay", 0.5, "which part of them is paid")
	crew.Addr(f, &s.addr)
}

func (s *settings) check() error {
	switch {
	case s.orders < 1 || s.orders > mostOrders:
		return fmt.Errorf("-orders %d is not between 1 and %d", s.orders, mostOrders)
	case s.within < time.Millisecond:
		return fmt.Errorf("-within %v is less than a millisecond", s.within)
	case s.pay < 0 || s.pay > 1:
		return fmt.Errorf("-pay %v is not between 0 and 1", s.pay)
	}
	return nil
}
