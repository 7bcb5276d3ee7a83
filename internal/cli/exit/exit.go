package exit

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
	Refused       = 1   // by a rate limit, a latch that is armed: an answer, as grep(1) and test(1) give it
	Usage         = 64  // EX_USAGE
	Unavailable   = 69  // EX_UNAVAILABLE
	NotAcquired   = 75  // EX_TEMPFAIL: try again later
	Lost          = 76  // EX_PROTOCOL, by its number: the one after EX_TEMPFAIL
	NoRate        = 78  // EX_CONFIG
	NotExecutable = 126 // as env(1), timeout(1) and the shells
	NotFound      = 127
	Signal        = 128 // plus the signal's number
	Highest       = 255
)

// Error is an end of the program with another code than 0.
type Error struct {
	Code   int
	Err    error // nil: there is nothing to say
	Report any   // what --json says; nil: the error
}

func (e *Error) Error() string { return fmt.Sprintf("exit code %d: %v", e.Code, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// JSON returns what --json says of the end.
func (e *Error) JSON() any {
	if e.Report != nil {
		return e.Report
	}
	return struct {
		Error string `json:"error"`
		Exit  int    `json:"exit"`
	}{e.Err.Error(), e.Code}
}

// Usagef returns the ending for a command line that cannot be understood.
func Usagef(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// Failed returns the ending for an error of the library.
func Failed(err error) error {
	var end *Error
	if errors.As(err, &end) {
		return err
	}
	code := Unavailable
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		code = NotAcquired
	case errors.Is(err, lock.ErrLost):
		code = Lost
	case errors.Is(err, ratelimiter.ErrNoRate):
		code = NoRate
	case errors.Is(err, rueidisson.ErrInvalidArgument), errors.Is(err, ratelimiter.ErrExceedsBurst), errors.Is(err, reliable.ErrOtherTerms):
		code = Usage
	}
	return &Error{Code: code, Err: err}
}
