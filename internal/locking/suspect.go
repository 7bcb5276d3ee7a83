package locking

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// watch looks after those who wait for a key inside of this process, for the first
// time after that time: a nested call that was not given the context of the hold waits
// for itself, in silence, and those who share go past others that have kept them for a
// watchdog timeout. One timer does for all of them, so that waiting costs none. It was
// looked for a hold in the way at that time.
func (e *Engine) watch(l *local, after, looked time.Duration) {
	time.AfterFunc(after, func() {
		if !e.Tasks.Begin() {
			return
		}
		defer e.Tasks.Done()
		since, waits := l.queue.Front()
		if !waits || e.Open() != nil {
			return
		}
		now := e.Now().Mono
		if now-max(since, looked) >= e.WatchdogTimeout { // it may have waited for one hold all the time
			looked = now
			e.suspect(e.holder(func(h *Held) bool { return h.local == l }))
		}
		e.watch(l, l.goPast(now, e.WatchdogTimeout), looked)
	})
}

// goPast lets those who share go past others of their process if one of them has stood
// back for as long as patience. It returns when to look again.
func (l *local) goPast(now, patience time.Duration) time.Duration {
	switch since, some := l.queue.OldestSharer(); {
	case !some:
		return patience
	case now-since < patience:
		return since + patience - now
	case !l.queue.Overtake():
		return patience / 10 // one has the lock alone, for as long as it likes
	}
	return patience
}

// suspect is for a wait that has lasted for a watchdog timeout. If one hold has
// stood in its way for as long, its holder may well be the one who waits: the
// log names the way out, once for each hold.
func (e *Engine) suspect(h *Held) {
	if h == nil || !h.suspicious() {
		return
	}
	why := "a nested call re-enters only if it is given the context of the hold (Hold.Context, or lock.Do's)"
	if h.shared {
		why += "; without it, a second read hold waits for the writers that wait for the first, for a watchdog timeout"
	}
	e.Logger.Warn("a lock is waited for that this client holds itself: "+why,
		"name", h.Key().Shown(), "owner", h.Owner(), "held", (e.Now().Mono - h.since).Round(time.Millisecond))
}

// holder returns the hold of this client that stands in the way, or nil. It looks at
// all holds, which is cheap for once in a watchdog timeout.
func (e *Engine) holder(is func(*Held) bool) (found *Held) {
	e.EachLease(func(l *watchdog.Lease) {
		if h, ok := lease.GrantOf(l).(*Held); ok && is(h) {
			found = h
		}
	})
	return found
}

// suspicious reports, once, that the hold is older than a watchdog timeout: a
// chain of hand-overs is much shorter, so one seat has had it all the time.
func (h *Held) suspicious() bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.suspected || h.Seat == nil || h.Key().Kind == KindOrder || h.engine().Now().Mono-h.since < h.engine().WatchdogTimeout {
		return false
	}
	h.suspected = true
	return true
}
