package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	stock, buyers, procs int
	runs                 []strategy
	strategy             strategy // of the sale that is held
	addr                 string
	think                time.Duration
	kill, json           bool
}

const (
	maxProcs  = 64
	maxBuyers = 1_000_000
)

// parse reads the flags. What is wrong with them it says itself.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	var name string
	f := flag.NewFlagSet("flashsale", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.stock, "stock", 1500, "pieces for sale")
	f.IntVar(&s.buyers, "buyers", 2000, "buyers, who come all at once")
	f.IntVar(&s.procs, "procs", 4, "processes that serve them")
	f.StringVar(&name, "strategy", "lock", "what keeps buyers apart, or several, with commas:\n"+strategyHelp())
	f.StringVar(&s.addr, "addr", "", "host:port or URL of a real server (default: one inside of this process)")
	f.DurationVar(&s.think, "think", time.Millisecond, "how long a buyer thinks between reading the stock and writing it back")
	f.BoolVar(&s.kill, "kill", false, "kill one process with SIGKILL while it holds the lock")
	f.BoolVar(&s.json, "json", false, "print each result as a line of JSON")
	if err := f.Parse(args); err != nil {
		return s, err // the flag package has said it
	}
	err := s.choose(name)
	if err == nil {
		err = s.check(f.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, "flashsale:", err)
		f.Usage()
	}
	return s, err
}

func (s *settings) choose(name string) (err error) {
	if s.runs, err = strategiesNamed(name); err == nil {
		s.strategy = s.runs[0]
	}
	return err
}

func (s *settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("what is %q? There are only flags", strings.Join(rest, " "))
	case s.stock < 1:
		return fmt.Errorf("-stock %d is below 1", s.stock)
	case s.buyers < 1 || s.buyers > maxBuyers:
		return fmt.Errorf("-buyers %d is not between 1 and %d", s.buyers, maxBuyers)
	case s.procs < 1 || s.procs > maxProcs:
		return fmt.Errorf("-procs %d is not between 1 and %d", s.procs, maxProcs)
	case s.think < 0:
		return fmt.Errorf("-think %v is negative", s.think)
	case s.kill && (len(s.runs) > 1 || !s.strategy.held):
		return fmt.Errorf("-kill needs a lock that the process can die with, not -strategy %s", s.runs[len(s.runs)-1].name)
	case s.kill && s.procs < 2:
		return errors.New("-kill needs a process that goes on: at least -procs 2")
	}
	return nil
}

// share returns how many of the buyers a process serves.
func (s *settings) share(process int) int {
	n := s.buyers / s.procs
	if process < s.buyers%s.procs {
		n++
	}
	return n
}
