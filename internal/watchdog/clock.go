package watchdog

import "time"

// Instant is one moment on two clocks. The monotonic clock counts trust; it
// cannot be set, but it stands still while the machine is suspended. The wall
// clock goes on then, so it is looked at too, and the stricter of them rules.
type Instant struct {
	Mono time.Duration // since the clock's base
	Wall time.Duration // since the Unix epoch
}

// Add moves both clocks on by d.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{Mono: i.Mono + d, Wall: i.Wall + d}
}

// Reached reports whether i lies at or behind now on either clock.
func (i Instant) Reached(now Instant) bool {
	return now.Mono >= i.Mono || now.Wall >= i.Wall
}

// Clock tells the present moment.
type Clock func() Instant

// NewClock returns the machine's clock, which counts from base.
func NewClock(base time.Time) Clock {
	return func() Instant {
		now := time.Now()
		return Instant{Mono: now.Sub(base), Wall: time.Duration(now.UnixNano())}
	}
}
