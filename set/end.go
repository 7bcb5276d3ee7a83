package set

import (
	"math"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
)

// end is when a member of a [Cache] ends, ms since 1970; 0: there is no such member.
type end float64

// permanent is the end of a member without one, as Redisson's tryAdd writes it. A greater one, an infinite one above all, would
// be in its contains, and not in its size.
const permanent = "92233720368547758"

// latest is the last time that is one: what Redisson writes for a member without an end is later.
const latest = 9e15

// lives reports whether a member lives at a time, ms.
func (e end) lives(now int64) bool { return float64(e) > float64(now) }

// left returns how long it lives: 0 if it does not, -1 if it has no end.
func (e end) left(now int64) time.Duration {
	switch {
	case !e.lives(now):
		return 0
	case float64(e) > latest:
		return -1
	}
	ms := math.Ceil(float64(e)) - float64(now)
	return time.Duration(min(ms, float64(math.MaxInt64/time.Millisecond))) * time.Millisecond
}

// endsIn returns ends from an answer.
func endsIn(all []rueidis.RedisMessage) ([]end, error) {
	ends := make([]end, len(all))
	for i := range all {
		if all[i].IsNil() {
			continue
		}
		at, err := all[i].AsFloat64()
		if err != nil {
			return nil, err
		}
		ends[i] = end(at)
	}
	return ends, nil
}

// at returns when a member ends that is added now, as the server takes it, and in ms; 0: never.
func (l lifetime) at(now int64) (text string, ms int64) {
	if l.ttl == 0 {
		return permanent, 0
	}
	ms = now + core.Millis(l.ttl)
	return decimal(ms), ms
}
