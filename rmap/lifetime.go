package rmap

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// lifetime is how long an entry lives, and what it takes to say so.
type lifetime struct {
	ttl  time.Duration // 0: for ever
	idle time.Duration // 0: used or not
	keep bool          // what it has

	forever bool // ttl is 0 because somebody said so
}

// stays reports whether nothing is said of how long an entry lives, or that it stays.
func (l lifetime) stays() bool { return l.ttl == 0 && l.idle == 0 && !l.keep }

// text returns how long an entry lives, for scripts.
func (l lifetime) text() string {
	switch {
	case l.keep:
		return "keep"
	case l.ttl > 0:
		return decimal(core.Millis(l.ttl))
	}
	return ""
}

// added returns how long an entry lives that was added to, which else keeps its time.
func (l lifetime) added() string {
	switch {
	case l.keep:
		return ""
	case l.forever:
		return "0"
	}
	return l.text()
}

// touched returns the time to live that an entry is given without a write.
func (l lifetime) touched() string {
	if l.ttl == 0 && !l.forever {
		return "="
	}
	return l.text()
}
