package multilock

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// voice is whether a member of a red lock answers in time. It is shared by all
// who use the handle, so that only the first waits for a member that does not.
type voice struct {
	silent atomic.Bool  // it did not, when it was asked last
	asking atomic.Bool  // somebody finds out whether it does again
	told   atomic.Int64 // the restart that the log knows of, in seconds
}

// errSilent says that a member does not answer in time.
var errSilent = errors.New("no answer within the member timeout")

func (v *voice) heard() { v.silent.Store(false) }

var aliveCommand = scripts.NewCommand("EXISTS", scripts.Safe)

// refused returns a member's refusal. That of one which was silent may be word of
// this process alone, where a goroutine waits for it: then its server is asked
// for a sign of life, by one goroutine at a time.
func (v *voice) refused(ctx context.Context, m member, err error) error {
	switch restarted := (*RestartedError)(nil); {
	case !v.silent.Load():
		return err
	case !passing(err) || errors.As(err, &restarted):
		v.heard() // it has answered
		return err
	case !errors.Is(err, ErrNotAcquired):
		return err
	}
	if !v.asking.CompareAndSwap(false, true) {
		return errSilent
	}
	defer v.asking.Store(false)
	if _, dead := m.e.Run(ctx, aliveCommand, []string{m.key.Name}, nil); dead != nil {
		return dead
	}
	v.heard()
	return err
}
