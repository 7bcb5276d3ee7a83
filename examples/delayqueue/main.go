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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

const (
	exitWrong  = 1
	exitUsage  = 2
	exitFailed = 3
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
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := open(ctx, s, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "delayqueue:", err)
		return exitFailed
	}
	b.report(stdout)
	problems := b.problems()
	for _, problem := range problems {
		fmt.Fprintln(stderr, "delayqueue:", problem)
	}
	if len(problems) > 0 {
		return exitWrong
	}
	return 0
}

const mostOrders = 1000

// parse reads the flags. What is wrong with them it says itself.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("delayqueue", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.orders, "orders", 60, "how many orders there are")
	f.DurationVar(&s.within, "within", 3*time.Second, "how long an order may stay unpaid")
	f.Float64Var(&s.pay, "pay", 0.5, "which part of them is paid")
	f.StringVar(&s.addr, "addr", "", "host:port or URL of a real server (default: one inside of this process)")
	if err := f.Parse(args); err != nil {
		return s, err // the flag package has said it
	}
	err := s.check(f.Args())
	if err != nil {
		fmt.Fprintln(stderr, "delayqueue:", err)
		f.Usage()
	}
	return s, err
}

func (s *settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("what is %q? There are only flags", strings.Join(rest, " "))
	case s.orders < 1 || s.orders > mostOrders:
		return fmt.Errorf("-orders %d is not between 1 and %d", s.orders, mostOrders)
	case s.within < time.Millisecond:
		return fmt.Errorf("-within %v is less than a millisecond", s.within)
	case s.pay < 0 || s.pay > 1:
		return fmt.Errorf("-pay %v is not between 0 and 1", s.pay)
	}
	return nil
}
