package watchdog

import (
	"sync"
	"time"
)

// Margin is taken off every lease: trust ends this long before the server may
// let go, to cover the drift of two clocks and the time that it takes to stop.
func Margin(lease time.Duration) time.Duration {
	return max(lease/20, 2*time.Millisecond)
}

// Lease is one time to live on the server, as far as this process may trust
// it. It is live until it ends, once, with a cause. All methods may be called
// from any goroutine.
type Lease struct {
	length time.Duration // what a renewal asks for
	every  time.Duration // between renewals; 0: the lease is fixed
	ender  Ender

	mu       sync.Mutex
	until    Instant       // trusted until then
	renewed  time.Duration // start of the last attempt that was answered, on the monotonic clock
	stop     *Instant      // neither trust nor a renewal goes beyond; nil: no such end
	cause    error         // why it ended
	expiring chan struct{}
	due      time.Duration // when the next renewal starts, or the present attempt counts as failed
	flight   uint32        // counts attempts
	misses   uint32        // attempts since the last one that was answered
	ended    bool
	flying   bool
	warned   bool
	full     bool // what was asked for last reaches stop: there is nothing left to renew

	index int32         // place in the heap, -1: none; guarded by the watchdog's mutex
	next  time.Duration // when the watchdog has to look at it again; likewise
}

// Ender is told, once, that a lease has ended by Lose or by running out. It
// must not block.
type Ender interface{ LeaseEnded(cause error) }

// Init starts a lease that was won by an attempt which started then. With
// every = 0 it is fixed: never renewed. Stop, unless it is zero, is a hard end:
// renewals ask for no more than what is left until then, and trust ends by
// then. A Lease is part of what it is the lease of, so that a hold is one
// allocation; it must not be copied.
func (l *Lease) Init(started Instant, length, every time.Duration, stop Instant, ender Ender) {
	l.length, l.every, l.ender, l.index = length, every, ender, -1
	if stop != (Instant{}) {
		l.stop = &Instant{stop.Mono, stop.Wall}
	}
	l.renewed = started.Mono
	l.full = l.reaches(started, length)
	l.until = l.trust(started, length)
	l.due = l.firstDue()
}

// Length returns what a renewal asks for, unless the hard end comes first.
func (l *Lease) Length() time.Duration { return l.length }

// Ender returns whom the lease is part of.
func (l *Lease) Ender() Ender { return l.ender }

// Kept reports whether the watchdog renews the lease for as long as it is
// wanted.
func (l *Lease) Kept() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.every > 0 && l.stop == nil
}

// ask returns what a renewal that starts now asks for.
func (l *Lease) ask(now Instant) time.Duration {
	if l.stop == nil {
		return l.length
	}
	return min(l.length, l.stop.Mono-now.Mono, l.stop.Wall-now.Wall)
}

// reaches reports whether d from started leaves nothing to renew.
func (l *Lease) reaches(started Instant, d time.Duration) bool {
	return l.stop != nil && l.stop.Reached(started.Add(d))
}

// trust returns until when an answer of d to what started then may be trusted. Where
// the hard end comes first, no more than what is left until then was asked for.
func (l *Lease) trust(started Instant, d time.Duration) Instant {
	if l.stop != nil {
		d = min(d, l.stop.Mono-started.Mono, l.stop.Wall-started.Wall)
	}
	return started.Add(d - Margin(d))
}

// Left returns how long the lease is still trusted, never below zero.
func (l *Lease) Left(now Instant) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return 0
	}
	return max(0, min(l.until.Mono-now.Mono, l.until.Wall-now.Wall))
}

// Trusted reports whether the time of trust has not run out, also of a lease
// that has ended for another reason.
func (l *Lease) Trusted(now Instant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.until.Reached(now)
}

// Ended reports whether the lease has ended, and why.
func (l *Lease) Ended() (cause error, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause, l.ended
}

// Check compares the clocks now. A lease whose trust has run out ends here
// with cause, on the caller's goroutine, whether or not the watchdog's timer
// has fired yet.
func (l *Lease) Check(now Instant, cause error) (error, bool) {
	l.mu.Lock()
	if l.ended || !l.until.Reached(now) {
		defer l.mu.Unlock()
		return l.cause, l.ended
	}
	l.warn(now) // the watchdog has not come to it
	l.mu.Unlock()
	l.Lose(cause)
	return l.Ended()
}

// Lose ends the lease with cause, if it is live, and tells the ender.
func (l *Lease) Lose(cause error) {
	if l.Finish(cause) {
		l.ender.LeaseEnded(cause)
	}
}

// Finish ends the lease, if it is live, without telling the ender: the caller is
// about to release what it stood for. It reports whether it was live.
func (l *Lease) Finish(cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.ended, l.cause = true, cause
	return true
}

// Expiring returns a channel that is closed when renewals have failed for half of the lease. On a
// fixed lease, or one that reaches its hard end, it never is.
func (l *Lease) Expiring() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expiring == nil {
		l.expiring = make(chan struct{})
		if l.warned {
			close(l.expiring)
		}
	}
	return l.expiring
}

// Grown records that an attempt which started then made the server's time to
// live at least d.
func (l *Lease) Grown(started Instant, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grow(started, d)
}

// outlast makes the hard end no earlier than d after now, and returns what to
// ask the server for: a lease that has a hard end grows in steps of its length,
// one without grows at once.
func (l *Lease) outlast(now Instant, d time.Duration) (ask time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop == nil {
		return d
	}
	if stop := now.Add(d); stop.Mono > l.stop.Mono {
		*l.stop, l.full = stop, false
		if !l.flying {
			l.due = l.firstDue()
		}
	}
	return min(d, l.length)
}

// grow never takes trust away: answers may arrive out of order.
func (l *Lease) grow(started Instant, d time.Duration) {
	if until := l.trust(started, d); until.Mono > l.until.Mono {
		l.until = until
	}
	if started.Mono < l.renewed {
		return
	}
	l.renewed, l.full = started.Mono, l.reaches(started, d)
	if l.warned { // the trouble is over; the next one closes a channel of its own
		l.warned, l.expiring = false, nil
	}
}

// answered takes the good answer to an attempt that asked for d. Flying ends
// only with the present attempt: a late answer to an earlier one still counts
// as trust.
func (l *Lease) answered(flight uint32, started Instant, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grow(started, d)
	l.misses = 0
	if flight == l.flight {
		l.flying = false
	}
	l.due = l.firstDue()
}

// missed ends an attempt without an answer; the next one starts at retry.
func (l *Lease) missed(flight uint32, retry time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if flight == l.flight && l.flying {
		l.flying, l.due = false, retry
		l.misses++
	}
}

// firstDue returns a period after the last answered attempt, rounded up to a grid
// of a tenth of the period, so that leases of one time fall due together.
func (l *Lease) firstDue() time.Duration {
	if !l.renews() {
		return never
	}
	grid := max(l.every/10, time.Millisecond)
	due := l.renewed + l.every
	return due + (grid-due%grid)%grid
}

// renews reports whether there is a renewal to come.
func (l *Lease) renews() bool { return l.every > 0 && !l.full }

// hurry makes the next renewal due.
func (l *Lease) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renews() && !l.flying {
		l.due = 0
	}
}

// place says when, on the monotonic clock, somebody has to look at the lease again. After a suspension the wall clock
// reaches until first. The caller holds the watchdog's mutex.
func (l *Lease) place(now Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = min(l.due, l.until.Mono, now.Mono+l.until.Wall-now.Wall)
	if l.renews() && !l.warned {
		l.next = min(l.next, l.warning())
	}
}

func (l *Lease) warning() time.Duration { return l.renewed + l.length/2 }

// warn fires the early warning once its time has come, or all time is over.
func (l *Lease) warn(now Instant) {
	if !l.renews() || l.warned || now.Mono < l.warning() && !l.until.Reached(now) {
		return
	}
	l.warned = true
	if l.expiring != nil {
		close(l.expiring)
	}
}
