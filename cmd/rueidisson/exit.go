package main

import (
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// The exit codes in addition to those of the command that lock runs: sysexits(3) where
// it has one that fits, the shells' for what became of a command.
const (
	exitRefused       = 1   // by a rate limit, a latch that is armed: an answer, as grep(1) and test(1) give it
	exitUsage         = 64  // EX_USAGE
	exitUnavailable   = 69  // EX_UNAVAILABLE
	exitNotAcquired   = 75  // EX_TEMPFAIL: try again later
	exitLost          = 76  // EX_PROTOCOL, by its number: the one after EX_TEMPFAIL
	exitNoRate        = 78  // EX_CONFIG
	exitNotExecutable = 126 // as env(1), timeout(1) and the shells
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal's number
	mostCode          = 255
)

// ending is an end of the program with another code than 0.
type ending struct {
	code   int
	err    error // nil: there is nothing to say
	report any   // what --json says; nil: the error
}

func (e *ending) Error() string { return fmt.Sprintf("exit code %d: %v", e.code, e.err) }
func (e *ending) Unwrap() error { return e.err }

// json returns what --json says of the end.
func (e *ending) json() any {
	if e.report != nil {
		return e.report
	}
	return struct {
		Error string `json:"error"`
		Exit  int    `json:"exit"`
	}{e.err.Error(), e.code}
}

// usage returns the ending for a command line that cannot be understood.
func usage(format string, args ...any) error {
	return &ending{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// failed returns the ending for an error of the library.
func failed(err error) error {
	var end *ending
	if errors.As(err, &end) {
		return err
	}
	code := exitUnavailable
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		code = exitNotAcquired
	case errors.Is(err, lock.ErrLost):
		code = exitLost
	case errors.Is(err, ratelimiter.ErrNoRate):
		code = exitNoRate
	case errors.Is(err, rueidisson.ErrInvalidArgument), errors.Is(err, ratelimiter.ErrExceedsBurst), errors.Is(err, reliable.ErrOtherTerms):
		code = exitUsage
	}
	return &ending{code: code, err: err}
}
