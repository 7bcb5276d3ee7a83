package mapstore

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/entrycodec"
)

// Lifetime is how long an entry lives, and what it takes to say so.
type Lifetime struct {
	TTL  time.Duration // 0: for ever
	Idle time.Duration // 0: used or not
	Keep bool          // what it has

	Forever bool // TTL is 0 because somebody said so
}

// Stays reports whether nothing is said of how long an entry lives, or that it stays.
func (l Lifetime) Stays() bool { return l.TTL == 0 && l.Idle == 0 && !l.Keep }

// text returns how long an entry lives, for scripts.
func (l Lifetime) text() string {
	switch {
	case l.Keep:
		return "keep"
	case l.TTL > 0:
		return Decimal(core.Millis(l.TTL))
	}
	return ""
}

// added returns how long an entry lives that was added to, which else keeps its time.
func (l Lifetime) added() string {
	switch {
	case l.Keep:
		return ""
	case l.Forever:
		return "0"
	}
	return l.text()
}

// Touched returns the time to live that an entry is given without a write.
func (l Lifetime) Touched() string {
	if l.TTL == 0 && !l.Forever {
		return "="
	}
	return l.text()
}

// Config is what the options of a handle say.
type Config struct {
	Codecs entrycodec.Settings

	RequestIDs bool
	EntryLock  bool
	Entries    Lifetime
	Shards     int // of a sharded map
	Announce   bool
}
