package mapcache

import (
	"cmp"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Life is how long an entry lives.
type Life struct {
	TTL  time.Duration // 0: for ever
	Idle time.Duration // 0: used or not
	Keep bool          // as long as the one that is there

	Forever bool // no TTL, also in place of one that has some
}

// Ends returns when an entry that is written now ends, as scripts take it.
func (l Life) Ends(now int64) string {
	if l.Keep {
		return "="
	}
	return after(now, l.TTL)
}

// Again is Ends of what replaces an entry, and has its end unless another is set; 0:
// none.
func (l Life) Again(now int64) string {
	if l.Forever {
		return "0"
	}
	return l.Ends(now)
}

// Rests returns when an entry ends that is written now and not used.
func (l Life) Rests(now int64) string {
	if l.Keep {
		return "="
	}
	return after(now, l.Idle)
}

// Times returns Ends and Rests. Leaves is of what replaces an entry: its times stay, as far as others are not set.
func (l Life) Times(now int64, leaves bool) (ends, rests string) {
	ends, rests = l.Ends(now), l.Rests(now)
	if leaves {
		ends, rests = cmp.Or(l.Again(now), "="), cmp.Or(rests, "=")
	}
	return ends, rests
}

// First returns the earlier of the two, ms; false: there is none, or nobody knows.
func (l Life) First(now int64) (at int64, known bool) {
	first := l.TTL
	if first == 0 || l.Idle > 0 && l.Idle < first {
		first = l.Idle
	}
	return now + core.Millis(first), first > 0
}

func after(now int64, d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(now+core.Millis(d), 10)
}
