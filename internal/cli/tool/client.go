package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// WithClient runs do on a client of its own.
func (t *Tool) WithClient(do func(c *rueidisson.Client) error) error {
	c, err := t.Connect()
	if err != nil {
		return err
	}
	err = do(c)
	bounded, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	undone := c.Close(bounded) // it holds nothing; what it could not give back in time is forfeited
	if errors.Is(err, rueidisson.ErrDeferred) {
		err = t.atLast(err, undone)
	}
	if err == nil {
		return nil
	}
	return exit.Failed(err)
}

// atLast returns the outcome of a command that was deferred. Its process ends, and the
// client has tried once more as it closed.
func (t *Tool) atLast(err, undone error) error {
	switch {
	case undone == nil:
		t.Say("the server refused at first, and took it at last")
		return nil
	case errors.Is(undone, rueidisson.ErrOutcomeUnknown):
		return fmt.Errorf("it may have been done: %w", undone)
	}
	return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("not done; it may be called again: %w", errors.Join(withoutDeferred(err)...))}
}

// withoutDeferred returns what err wraps in addition to ErrDeferred, in whose place the
// tool says what it is worth to its caller.
func withoutDeferred(err error) (rest []error) {
	var both interface{ Unwrap() []error }
	if !errors.As(err, &both) {
		return []error{err}
	}
	for _, part := range both.Unwrap() {
		if part != rueidisson.ErrDeferred {
			rest = append(rest, part)
		}
	}
	return rest
}

// CloseTimeout is for giving back what a wait that has ended may have won.
const CloseTimeout = 5 * time.Second
