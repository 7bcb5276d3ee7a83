package locking

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// briefFor is how long the shared holds of a process are brief after it was told
// that somebody waits to have the lock alone: others come and go meanwhile, of
// whom it learns with its next try only.
const briefFor = time.Second

// isBrief reports whether a shared hold that is won then is brief.
func (l *local) isBrief(now watchdog.Instant) bool { return int64(now.Mono) < l.brief.Load() }

// hinted takes the kind's own word: to who shares, that somebody waits to have
// the lock alone; to who does not, that it is the turn of those who share.
func (c *waiter) hinted(tried Tried) {
	switch {
	case tried.Hint == 0:
	case c.ask.Shared:
		c.local.brief.Store(int64(tried.Started.Mono + briefFor))
	default:
		c.gives = !tried.Free
	}
}

// sharers reports whether others of this process wait to share what this one
// wants to have alone.
func (c *waiter) sharers() bool { return !c.ask.Shared && c.local.queue.Sharers() }

// giveWay lets those go first, and waits behind them for the turn. If they have
// left, this goroutine has it still.
func (c *waiter) giveWay(ctx context.Context) (turn handover.Turn[*Held], err error) {
	c.gives = false
	w := c.place()
	defer c.e.places.Put(w) // its channel is empty on every path
	if !c.local.queue.Yield(w) {
		return turn, nil
	}
	c.turn = false
	return c.behind(ctx, w)
}
