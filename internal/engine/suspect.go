package engine

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// suspect is for a wait that has lasted for a watchdog timeout. If one hold of
// this client has stood in its way for as long, the holder may well be the one
// who waits, in a nested call: the log names the way out, once for each hold.
// It returns when to look again.
func (c *contender) suspect(w *handover.Waiter[*Held]) (again <-chan struct{}) {
	if !c.local.queue.Leads(w) {
		return c.e.patience() // the one ahead of it says so
	}
	h := c.e.holder(c.key)
	if h == nil || !h.suspicious() {
		return c.e.patience()
	}
	c.e.Logger.Warn("a lock is waited for that this client holds itself: "+
		"a nested call re-enters only if it is given the context of the hold (Hold.Context, or lock.Do's)",
		"name", c.key.Name, "owner", h.Owner(), "held", (c.e.Now().Mono - h.since).Round(time.Millisecond))
	return nil
}

// holder is the hold of this client that has the turn of key, or nil. It looks
// at all holds, which is cheap for once in a watchdog timeout.
func (e *Engine) holder(key Key) (found *Held) {
	e.dog.Each(func(l *watchdog.Lease) {
		if h, ok := grantOf(l).(*Held); ok && h.local != nil && h.Key() == key {
			found = h
		}
	})
	return found
}

// suspicious reports, once, that the hold is older than a watchdog timeout: a
// chain of hand-overs is much shorter, so one seat has had it all the time.
func (h *Held) suspicious() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.suspected || h.seat == nil || h.e.Now().Mono-h.since < h.e.WatchdogTimeout {
		return false
	}
	h.suspected = true
	return true
}
