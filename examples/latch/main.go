// Command latch starts a fleet of shards together: each of them loads its data,
// which takes as long as it takes, and none begins to serve before all are ready.
//
//	go run ./examples/latch
//	go run ./examples/latch -kill
//	go run ./examples/latch -kill -plain
//	go run ./examples/latch -addr 127.0.0.1:6379
//
// There are two latches. "ready" has a count for each shard, which the shard
// counts down when it has loaded; the coordinator waits for it. "start" has a count
// of one, which the coordinator counts down; the shards wait for it. Both are armed
// before the shards are started, since a latch that was never armed is open.
//
// With -kill a shard is killed with SIGKILL after it has reported, and started
// again: it loads and reports once more. As it does so by CountDownOnce, under its
// own name, it counts once, and the start still waits for all the others. With
// -plain shards report by CountDown: then it counts twice, and the fleet starts
// without one of its shards.
//
// It needs no server: without -addr one runs inside of this process, and the
// shards reach it over TCP. Those are real processes, this program started again.
//
// Exit codes: 0 all shards started together, 1 the fleet started without some of
// them, 2 the flags cannot be understood, 3 the fleet could not be started.
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
	crew.Join(asShard, "latch: a shard", serve)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	shards      int
	load        time.Duration
	addr        string
	kill, plain bool
}

// run starts the fleet that args ask for and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var s settings
	return crew.Program{Name: "latch", Flags: s.flags, Check: s.check, Show: func(ctx context.Context) ([]string, error) {
		f, err := start(ctx, s, stderr)
		if err != nil {
			return nil, err
		}
		f.report(stdout)
		return f.problems(), nil
	}}.Run(args, stderr)
}

const maxShards = 64

func (s *settings) flags(f *flag.FlagSet) {
	f.IntVar(&s.shards, "shards", 12, "processes that start together")
	f.DurationVar(&s.load, "load", 2*time.Second, "how long the slowest of them loads")
	crew.Addr(f, &s.addr)
	f.BoolVar(&s.kill, "kill", false, "kill a shard with SIGKILL after it has reported, and start it again")
	f.BoolVar(&s.plain, "plain", false, "let shards report by CountDown, which counts a shard that is started again twice")
}

func (s *settings) check() error {
	switch {
	case s.shards < 2 || s.shards > maxShards:
		return fmt.Errorf("-shards %d is not between 2 and %d", s.shards, maxShards)
	case s.load < 0:
		return fmt.Errorf("-load %v is negative", s.load)
	}
	return nil
}
