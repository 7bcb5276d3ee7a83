package send

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// LongestSleep caps every sleep of a waiter, unless Config.LongestSleep says
// otherwise, since a message is a hint and may be lost. It is jittered, so that
// the waiters of a fleet spread.
const LongestSleep = 5 * time.Second

// Nap returns how long to sleep when so much is left.
func (s *Sender) Nap(left time.Duration) time.Duration {
	if most := cmp.Or(s.LongestSleep, LongestSleep); left < 0 || left >= most {
		return jittered(most)
	}
	return left + time.Millisecond // the server expires at the next millisecond
}

// jittered returns d, up to a tenth less.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// Sleep waits for d, a poke, or the end.
func (s *Sender) Sleep(ctx context.Context, d time.Duration, poke <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-poke:
	case <-ctx.Done():
	case <-s.Closing():
	}
	return s.Over(ctx)
}

// Over returns why a wait has ended, if it has.
func (s *Sender) Over(ctx context.Context) error {
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return s.Open()
}
