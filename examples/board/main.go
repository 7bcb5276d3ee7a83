// Command board shows a leaderboard, counts of visits and visitors, and a "seen before"
// filter, which three processes feed while one of them is killed every few seconds.
//
//	go run ./examples/board
//	go run ./examples/board -for 1m -kill 5s -p 0.001
//	go run ./examples/board -addr 127.0.0.1:6379
//
// Each visit asks a Bloom filter whether the visitor was seen before, adds the visitor to an
// exact set and to a count of different visitors, adds one to a counter, and gives a player
// points in a sorted set. A process that is killed with SIGKILL leaves its last visit half
// done; another one takes its place.
//
// In the end the filter is compared with the exact set: it has to find each member, and of
// the names that are no member about the part -p at most.
//
// It needs no server: without -addr one runs inside of this process, and the others
// reach it over TCP. Those are real processes, this program started again. On a terminal
// the board is drawn over and over, elsewhere there is a line each second.
//
// Exit codes: 0 the filter agrees with the set, 1 otherwise, 2 the flags cannot be
// understood, 3 it could not be run.
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
	crew.Join(asFeeder, "board: a feeder", serve)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	last, kill time.Duration
	p          float64
	addr       string
}

// run shows the board that args ask for and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	return crew.Program{Name: "board", Flags: s.flags, Check: s.check, Show: func(ctx context.Context) ([]string, error) {
		g, err := play(ctx, s, stdout, stderr)
		if err != nil {
			return nil, err
		}
		g.report(stdout)
		return g.problems(), nil
	}}.Run(args, stderr)
}

const longest = time.Hour

func (s *settings) flags(f *flag.FlagSet) {
	f.DurationVar(&s.last, "for", 15*time.Second, "how long visitors come")
	f.DurationVar(&s.kill, "kill", 3*time.Second, "how often a process is killed; 0: never")
	f.Float64Var(&s.p, "p", 0.01, "which part of other names the filter may find")
	crew.Addr(f, &s.addr)
}

func (s *settings) check() error {
	switch {
	case s.last <= 0 || s.last > longest:
		return fmt.Errorf("-for %v is not above 0, and %v at most", s.last, longest)
	case s.kill < 0:
		return fmt.Errorf("-kill %v is negative", s.kill)
	case !(s.p > 0 && s.p < 1):
		return fmt.Errorf("-p %v is not between 0 and 1", s.p)
	}
	return nil
}
