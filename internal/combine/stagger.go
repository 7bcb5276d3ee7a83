package combine

import (
	"math/bits"
	"time"
)

// leastGap is the least time between two departures of one key while flights
// are under way: below it, fuller batches are worth more than earlier ones.
const leastGap = 250 * time.Microsecond

// gap returns how long after the last departure the next one may leave while others
// are under way.
func (t *Table[K, Q, A]) gap() time.Duration {
	return max(leastGap, time.Duration(t.trip.Load())/time.Duration(t.cfg.Flights))
}

// measure smooths the round trip. Flights that land at the same time may lose one
// of their measures, which does no harm.
func (t *Table[K, Q, A]) measure(trip time.Duration) {
	old := t.trip.Load()
	if old == 0 {
		t.trip.Store(int64(trip))
		return
	}
	t.trip.Store(old + (int64(trip)-old)/8)
}

// depart counts a further flight if its time has come, and else sees to it that
// the alarm goes off then. Somebody waits, and flights are under way.
func (l *line[K, Q, A]) depart() bool {
	now := l.table.now()
	due := l.last + l.table.gap()
	if now < due && !l.crowded() {
		l.wake(due, due-now)
		return false
	}
	l.flying++
	l.last = now
	return true
}

// crowded reports whether so many wait, beside those whom flights will take that have
// not taken off, that a batch is full enough to leave at any time.
func (l *line[K, Q, A]) crowded() bool {
	crowd := l.table.cfg.Crowd
	return crowd > 0 && l.waiting() >= crowd*(1+l.flying-bits.OnesCount64(l.numbers))
}
