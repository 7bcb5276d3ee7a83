// Command catalog shows a product page in three processes behind a slow store: a
// near cache in each of them, one load per product for all of them, and how old a
// price is on the page when somebody changes it.
//
//	go run ./examples/catalog
//	go run ./examples/catalog -tracked -addr 127.0.0.1:6379
//
// A page shows twelve products. A process reads each from its near cache; what is
// not there it reads from the map that all share; and what is not there either one
// of the processes loads from the store, which takes its time. Meanwhile prices
// change, in the store and in the map, and each process says when it first sees a
// price.
//
// Near caches are told by who writes (Announced), which costs a write the copies of
// one product. With -tracked the server tells them, and each write drops all copies
// of the map; that needs a real server, as the one inside of this process has no
// CLIENT TRACKING: there every page comes from the map, and the report says why.
//
// It needs no server: without -addr one runs inside of this process, and the others
// reach it over TCP. Those are real processes, this program started again.
//
// Exit codes: 0 every process saw the last prices, and nothing was loaded twice, 1
// otherwise, 2 the flags cannot be understood, 3 the catalog could not be opened.
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
	crew.Join(asPage, "catalog: a page", serve)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	pages       int
	lasts       time.Duration
	every, slow time.Duration
	addr        string
	tracked     bool
}

// run opens the catalog that args ask for and returns the exit code.
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
	c, err := start(ctx, s, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "catalog:", err)
		return exitFailed
	}
	c.report(stdout)
	problems := c.problems()
	for _, problem := range problems {
		fmt.Fprintln(stderr, "catalog:", problem)
	}
	if len(problems) > 0 {
		return exitWrong
	}
	return 0
}

const maxPages = 32

// parse reads the flags. What is wrong with them it says itself.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("catalog", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.pages, "pages", 3, "processes that show the page")
	f.DurationVar(&s.lasts, "for", 3*time.Second, "how long prices change")
	f.DurationVar(&s.every, "every", 50*time.Millisecond, "how often one does")
	f.DurationVar(&s.slow, "slow", 100*time.Millisecond, "how long the store takes")
	f.StringVar(&s.addr, "addr", "", "host:port or URL of a real server (default: one inside of this process)")
	f.BoolVar(&s.tracked, "tracked", false, "let the server tell the near caches, and not who writes")
	if err := f.Parse(args); err != nil {
		return s, err // the flag package has said it
	}
	err := s.check(f.Args())
	if err != nil {
		fmt.Fprintln(stderr, "catalog:", err)
		f.Usage()
	}
	return s, err
}

func (s *settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("what is %q? There are only flags", strings.Join(rest, " "))
	case s.pages < 1 || s.pages > maxPages:
		return fmt.Errorf("-pages %d is not between 1 and %d", s.pages, maxPages)
	case s.lasts < 0 || s.slow < 0 || s.every < time.Millisecond:
		return errors.New("-for and -slow are not negative, and -every is a millisecond or more")
	}
	return nil
}
