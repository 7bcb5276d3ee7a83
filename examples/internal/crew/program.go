package crew

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
)

// What an example exits with, if not with 0.
const (
	ExitWrong  = 1 // it went otherwise than it should
	ExitUsage  = 2 // its flags cannot be understood
	ExitFailed = 3 // it could not be run
)

// Program is an example: its flags, and what it does.
type Program struct {
	Name  string
	Flags func(f *flag.FlagSet)
	Check func() error // what is wrong with the flags
	// Show does it, until ctx ends with Ctrl-C. Problems are what must not be.
	Show func(ctx context.Context) (problems []string, err error)
}

// Run does what args ask for and returns the exit code. What is wrong it says on
// stderr.
func (p Program) Run(args []string, stderr io.Writer) int {
	switch err := p.parse(args, stderr); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	problems, err := p.Show(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return ExitFailed
	}
	for _, problem := range problems {
		fmt.Fprintf(stderr, "%s: %s\n", p.Name, problem)
	}
	if len(problems) > 0 {
		return ExitWrong
	}
	return 0
}

func (p Program) parse(args []string, stderr io.Writer) error {
	f := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	f.SetOutput(stderr)
	p.Flags(f)
	if err := f.Parse(args); err != nil {
		return err // the flag package has said it
	}
	err := p.Check()
	if f.NArg() > 0 {
		err = fmt.Errorf("what is %q? There are only flags", strings.Join(f.Args(), " "))
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		f.Usage()
	}
	return err
}
