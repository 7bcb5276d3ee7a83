package engine

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// watch looks after those who wait for a key inside of this process, of whom
// first is the next one: a nested call that was not given the context of the
// hold waits for itself, in silence. One timer does for all of them, so that
// waiting costs none.
func (e *Engine) watch(l *local, first *handover.Waiter[*Held]) {
	time.AfterFunc(e.WatchdogTimeout, func() {
		if !e.begin() {
			return
		}
		defer e.tasks.Done()
		next := l.queue.Front()
		if next == nil || e.Open() != nil {
			return
		}
		if next == first { // all the time
			e.suspect(e.holder(func(h *Held) bool { return h.local == l }))
		}
		e.watch(l, next)
	})
}

// suspect is for a wait that has lasted for a watchdog timeout. If one hold has
// stood in its way for as long, its holder may well be the one who waits: the
// log names the way out, once for each hold.
func (e *Engine) suspect(h *Held) {
	if h == nil || !h.suspicious() {
		return
	}
	e.Logger.Warn("a lock is waited for that this client holds itself: "+
		"a nested call re-enters only if it is given the context of the hold (Hold.Context, or lock.Do's)",
		"name", h.Key().Name, "owner", h.Owner(), "held", (e.Now().Mono - h.since).Round(time.Millisecond))
}

// holder is the hold of this client that stands in the way, or nil. It looks at
// all holds, which is cheap for once in a watchdog timeout.
func (e *Engine) holder(is func(*Held) bool) (found *Held) {
	e.dog.Each(func(lease *watchdog.Lease) {
		if h, ok := grantOf(lease).(*Held); ok && is(h) {
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
