package run

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// Interrupted is why a wait was ended by a signal.
type Interrupted struct{ Signal os.Signal }

func (i Interrupted) Error() string { return "interrupted: " + i.Signal.String() }

func interruptBy(interrupt context.CancelCauseFunc, sig os.Signal) {
	if slices.Contains(EndingSignals, sig) {
		interrupt(Interrupted{sig})
	}
}

func interruptedBy(waiting context.Context) (os.Signal, bool) {
	var i Interrupted
	if !errors.As(context.Cause(waiting), &i) {
		return nil, false
	}
	return i.Signal, true
}

func signalCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exit.Signal + int(n)
	}
	return exit.Signal
}

// Interruptible returns a context that a signal ends, too; see interruptedBy.
func Interruptible(ctx context.Context) (waiting context.Context, stop func()) {
	waiting, interrupt := context.WithCancelCause(ctx)
	relay := Catch(func(sig os.Signal) { interruptBy(interrupt, sig) })
	return waiting, func() {
		relay.Stop()
		interrupt(nil)
	}
}

// UnlessInterrupted runs do under a context that a signal ends, too: then that
// is how it ended.
func UnlessInterrupted(ctx context.Context, do func(ctx context.Context) error) error {
	waiting, stop := Interruptible(ctx)
	defer stop()
	err := do(waiting)
	if sig, ok := interruptedBy(waiting); ok && err != nil {
		return &exit.Error{Code: signalCode(sig), Err: context.Cause(waiting)}
	}
	return err
}

// UnlessOver returns err, unless it came of an end that was asked for.
func UnlessOver(waiting context.Context, err error) error {
	switch sig, ok := interruptedBy(waiting); {
	case ok && sig == os.Interrupt:
		return nil
	case ok:
		return &exit.Error{Code: signalCode(sig), Err: context.Cause(waiting)}
	}
	return err
}
