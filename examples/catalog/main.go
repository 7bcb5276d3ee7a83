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
	"time"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
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
	var s settings
	return crew.Program{Name: "catalog", Flags: s.flags, Check: s.check, Show: func(ctx context.Context) ([]string, error) {
		c, err := start(ctx, s, stderr)
		if err != nil {
			return nil, err
		}
		c.report(stdout)
		return c.problems(), nil
	}}.Run(args, stderr)
}

const maxPages = 32

func (s *settings) flags(f *flag.FlagSet) {
	f.IntVar(&s.pages, "pages", 3, "processes that show the page")
	f.DurationVar(&s.lasts, "for", 3*time.Second, "how long prices change")
	f.DurationVar(&s.every, "every", 50*time.Millisecond, "how often one does")
	f.DurationVar(&s.slow, "slow", 100*time.Millisecond, "how long the store takes")
	crew.Addr(f, &s.addr)
	f.BoolVar(&s.tracked, "tracked", false, "let the server tell the near caches, and not who writes")
}

func (s *settings) check() error {
	switch {
	case s.pages < 1 || s.pages > maxPages:
		return fmt.Errorf("-pages %d is not between 1 and %d", s.pages, maxPages)
	case s.lasts < 0 || s.slow < 0 || s.every < time.Millisecond:
		return errors.New("-for and -slow are not negative, and -every is a millisecond or more")
	}
	return nil
}
