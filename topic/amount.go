package topic

import (
	"context"

	"github.com/redis/rueidis"
)

const (
	// most is how many messages of a topic one exchange brings.
	most = 100
	// mostRead bounds the bytes of an exchange by the connection that all topics of a server
	// share, if messages are like those before. What is longer goes by a connection of its own.
	mostRead = 256 << 10
	// growth is how many times as many messages are asked for as came before.
	growth = 4
)

// amount is how much of a topic is asked for at a time: one message while nothing is known of
// them, then as many as have mostRead bytes.
type amount struct {
	n       int // messages of the last answer that was full, and of those before
	longest int // bytes of the longest of late; 0: nobody knows
	late    int // answers in a row that did not come in time
}

// count returns how many messages to ask for.
func (a *amount) count() int {
	n := min(max(a.n, 1), most)
	if a.longest > 0 {
		n = min(n, mostRead/a.longest)
	}
	return max(n, 1)
}

// bytes returns how long the answer is, as far as that is known.
func (a *amount) bytes() int64 { return int64(a.count() * a.longest) }

// large reports whether the answer goes by a connection of its own.
func (a *amount) large() bool { return a.late > 0 || a.longest > mostRead }

// saw takes an answer into account.
func (a *amount) saw(entries []rueidis.XRangeEntry) {
	a.late = 0
	if len(entries) == 0 {
		return
	}
	if len(entries) >= a.count() {
		a.n = min(growth*max(a.n, 1), most)
	}
	longest := 1
	for _, it := range entries {
		size := 0
		for field, value := range it.FieldValues {
			size += len(field) + len(value)
		}
		longest = max(longest, size)
	}
	a.longest = max(longest, a.longest-a.longest/8)
}

// missed notes that an answer did not come in time.
func (a *amount) missed() { a.n, a.late = max(a.n/2, 1), a.late+1 }

// Exchanges under way on a connection have a megabyte together, so that none waits for long
// for the others.
const (
	unit  = 32 << 10
	units = 32
)

// take waits for room on the connection for an answer of so many bytes, in the order of the calls. It returns what gives the
// room back.
func (l *link) take(bytes int64) (giveBack func()) {
	n := min(max((bytes+unit-1)/unit, 1), units)
	_ = l.room.Acquire(context.Background(), n) // whose context does not end
	return func() { l.room.Release(n) }
}
