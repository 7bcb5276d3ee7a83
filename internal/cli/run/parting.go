package run

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/cli/tool"
)

const (
	// parting is for giving the lock back when CMD has ended. A caller of the
	// tool waits for CMD, and not for a server that is silent.
	parting = 750 * time.Millisecond
)

var errSilent = errors.New("the server does not answer in time; what is held is left to its lease")

// within waits for f until ctx ends. If f goes on after that, it ends with
// the process.
func within(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errSilent
	}
}

// leaving is for as long as the tool stays, from now on.
func (r result) leaving() (context.Context, context.CancelFunc) {
	if r.over.IsZero() {
		return context.WithTimeout(context.Background(), tool.CloseTimeout)
	}
	return context.WithDeadline(context.Background(), r.over.Add(parting))
}
