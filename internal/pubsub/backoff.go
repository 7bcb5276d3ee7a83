package pubsub

import (
	"math/rand/v2"
	"time"
)

// backoff doubles from min to max. Half of each pause is jitter, so that the processes of a fleet, which all
// lost the same server at the same time, do not come back together.
type backoff struct {
	min, max, last time.Duration
}

func (b *backoff) next() time.Duration {
	b.last = min(max(b.min, 2*b.last), b.max)
	return b.last/2 + rand.N(b.last/2+1)
}

func (b *backoff) reset() { b.last = 0 }
