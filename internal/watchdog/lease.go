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
	// Value is what the renewer needs to know; the watchdog does not look at it.
	Value any

	length time.Duration // what a renewal asks for
	every  time.Duration // between renewals; 0: the lease is fixed
	ender  Ender

	mu       sync.Mutex
	until    Instant // trusted until then
	renewed  Instant // start of the last attempt that was answered
	end      error   // why it ended
	ended    bool
	flight   uint64 // counts attempts
	flying   bool
	misses   int // attempts since the last one that was answered
	warned   bool
	expiring chan struct{}

	next  time.Duration // when the watchdog has to look at it again; guarded by the watchdog's mutex
	due   time.Duration // when the next renewal starts, or the present attempt counts as failed
	index int           // place in the heap, -1: none; guarded by the watchdog's mutex
}

// Ender is told, once, that a lease has ended by Lose or by running out. It
// must not block.
type Ender interface{ LeaseEnded(cause error) }

// Init starts a lease that was won by an attempt which started then. With
// every = 0 it is fixed: never renewed. A Lease is part of what it is the
// lease of, so that a hold is one allocation; it must not be copied.
func (l *Lease) Init(value any, started Instant, length, every time.Duration, ender Ender) {
	l.Value, l.length, l.every, l.ender, l.index = value, length, every, ender, -1
	l.renewed, l.until = started, started.Add(length-Margin(length))
	l.due = l.firstDue()
}

// Length is what a renewal asks for.
func (l *Lease) Length() time.Duration { return l.length }

// Kept reports whether the watchdog renews the lease.
func (l *Lease) Kept() bool { return l.every > 0 }

// Left is how long the lease is still trusted, never below zero.
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
	return l.end, l.ended
}

// Check compares the clocks now. A lease whose trust has run out ends here
// with cause, on the caller's goroutine, whether or not the watchdog's timer
// has fired yet.
func (l *Lease) Check(now Instant, cause error) (error, bool) {
	l.mu.Lock()
	if l.ended || !l.until.Reached(now) {
		defer l.mu.Unlock()
		return l.end, l.ended
	}
	l.mu.Unlock()
	l.Lose(cause)
	return l.Ended()
}

// Lose ends the lease with cause, if it is live, and tells the ender.
func (l *Lease) Lose(cause error) {
	if l.finish(cause) {
		l.ender.LeaseEnded(cause)
	}
}

// Finish ends the lease, if it is live, without telling the ender: the caller is
// about to release what it stood for. It reports whether it was live.
func (l *Lease) Finish(cause error) bool { return l.finish(cause) }

func (l *Lease) finish(cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.ended, l.end = true, cause
	return true
}

// Expiring is closed when renewals have failed for half of the lease. On a
// fixed lease it never is.
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

// grow never takes trust away: answers may arrive out of order.
func (l *Lease) grow(started Instant, d time.Duration) {
	if until := started.Add(d - Margin(d)); until.Mono > l.until.Mono {
		l.until = until
	}
	if started.Mono < l.renewed.Mono {
		return
	}
	l.renewed = started
	if l.warned { // the trouble is over; the next one closes a channel of its own
		l.warned, l.expiring = false, nil
	}
}

// answered takes the good answer to an attempt. Flying ends only with the
// present attempt: a late answer to an earlier one still counts as trust.
func (l *Lease) answered(flight uint64, started Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grow(started, l.length)
	l.misses = 0
	if flight == l.flight {
		l.flying = false
	}
	l.due = l.firstDue()
}

// missed ends an attempt without an answer; the next one starts at retry.
func (l *Lease) missed(flight uint64, retry time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if flight == l.flight && l.flying {
		l.flying, l.due = false, retry
		l.misses++
	}
}

// launch starts an attempt that counts as failed at deadline.
func (l *Lease) launch(deadline time.Duration) (flight uint64, misses int) {
	if l.flying {
		l.misses++ // the attempt before was never answered
	}
	l.flight++
	l.flying, l.due = true, deadline
	return l.flight, l.misses
}

// firstDue is a period after the last answered attempt, rounded up to a grid
// of a tenth of the period, so that leases of one time fall due together.
func (l *Lease) firstDue() time.Duration {
	if l.every == 0 {
		return never
	}
	grid := max(l.every/10, time.Millisecond)
	due := l.renewed.Mono + l.every
	return due + (grid-due%grid)%grid
}

// hurry makes the next renewal due.
func (l *Lease) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.every > 0 && !l.flying {
		l.due = 0
	}
}

// place says when somebody has to look at the lease again. The caller holds
// the watchdog's mutex.
func (l *Lease) place(now Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = l.wake(now)
}

// wake is that moment on the monotonic clock. After a suspension the wall
// clock reaches until first.
func (l *Lease) wake(now Instant) time.Duration {
	at := min(l.due, l.until.Mono, now.Mono+l.until.Wall-now.Wall)
	if l.every > 0 && !l.warned {
		at = min(at, l.warning())
	}
	return at
}

func (l *Lease) warning() time.Duration { return l.renewed.Mono + l.length/2 }

// warn fires the early warning once its time has come.
func (l *Lease) warn(now time.Duration) {
	if l.every == 0 || l.warned || now < l.warning() {
		return
	}
	l.warned = true
	if l.expiring != nil {
		close(l.expiring)
	}
}
