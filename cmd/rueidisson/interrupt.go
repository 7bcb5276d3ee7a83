package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
)

// interrupted is why a wait was ended by a signal.
type interrupted struct{ sig os.Signal }

func (i interrupted) Error() string { return "interrupted: " + i.sig.String() }

func interruptBy(interrupt context.CancelCauseFunc, sig os.Signal) {
	if slices.Contains(endingSignals, sig) {
		interrupt(interrupted{sig})
	}
}

func interruptedBy(waiting context.Context) (os.Signal, bool) {
	var i interrupted
	if !errors.As(context.Cause(waiting), &i) {
		return nil, false
	}
	return i.sig, true
}

func signalCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitSignal
}

// interruptible returns a context that a signal ends, too; see interruptedBy.
func interruptible(ctx context.Context) (waiting context.Context, stop func()) {
	waiting, interrupt := context.WithCancelCause(ctx)
	relay := startRelay(func(sig os.Signal) { interruptBy(interrupt, sig) })
	return waiting, func() {
		relay.stop()
		interrupt(nil)
	}
}

// unlessInterrupted runs do under a context that a signal ends, too: then that
// is how it ended.
func unlessInterrupted(ctx context.Context, do func(ctx context.Context) error) error {
	waiting, stop := interruptible(ctx)
	defer stop()
	err := do(waiting)
	if sig, ok := interruptedBy(waiting); ok && err != nil {
		return &ending{code: signalCode(sig), err: context.Cause(waiting)}
	}
	return err
}

// unlessOver returns err, unless it came of an end that was asked for.
func unlessOver(waiting context.Context, err error) error {
	switch sig, ok := interruptedBy(waiting); {
	case ok && sig == os.Interrupt:
		return nil
	case ok:
		return &ending{code: signalCode(sig), err: context.Cause(waiting)}
	}
	return err
}
