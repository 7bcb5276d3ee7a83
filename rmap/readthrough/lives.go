package readthrough

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// WithLoadTTL calls ttl for the time to live of an entry that was loaded: ttl gets its key and
// its value, for sources that say how long a value is good. It replaces the [rmap.WithTTL] of the
// map's handle, which counts where ttl returns 0. It is for an [rmap.Cache] or an [rmap.TTLMap].
//
// Errors: the load returns [ErrInvalidArgument] and writes nothing if the time is below a
// millisecond or above 100 years. Operations return it if the map is of another kind, or if K
// and V are not those of the map.
func WithLoadTTL[K comparable, V any](ttl func(k K, v V) time.Duration) Option {
	return option(func(c *config) error {
		c.ttlOf = ttl
		if ttl == nil {
			return fmt.Errorf("%w: no function of times to live", ErrInvalidArgument)
		}
		return nil
	})
}

// WithTTLJitter shortens the time to live of each loaded entry by a random time, at most that
// part of it. So entries that were loaded at once do not expire at once. Operations return
// [ErrInvalidArgument] if part is not above 0 and at most 1, or if entries of the map have no
// times to live.
func WithTTLJitter(part float64) Option {
	return option(func(c *config) error {
		c.jitter = part
		if !(part > 0) || part > 1 || math.IsNaN(part) {
			return fmt.Errorf("%w: a part of %v is not above 0 and at most 1", ErrInvalidArgument, part)
		}
		return nil
	})
}

// chooseTTL takes what says how long entries live, of the types of the map.
func (l *Map[K, V]) chooseTTL() error {
	if l.cfg.ttlOf == nil {
		return nil
	}
	ttl, is := l.cfg.ttlOf.(func(K, V) time.Duration)
	if !is {
		return fmt.Errorf("%w: what says how long entries live is a %T, and is to be a %T", ErrInvalidArgument, l.cfg.ttlOf, ttl)
	}
	l.ttl = ttl
	return nil
}

// mayEnd refuses what is about the ends of entries where they have none.
func (l *Map[K, V]) mayEnd() error {
	switch {
	case l.cfg.beta == 0 && l.ttl == nil && l.cfg.jitter == 0 && l.cfg.stale == 0:
		return nil
	case l.in.Left == nil:
		return fmt.Errorf("%w: the entries of this map stay: they have no time to live, and nothing to refresh", ErrInvalidArgument)
	case l.cfg.stale > 0 && l.h.Config.Entries.Idle > 0:
		return fmt.Errorf("%w: WithStaleOnError is not for entries with an idle time", ErrInvalidArgument)
	}
	return nil
}

// lives returns how long an entry lives that was loaded.
func (l *Map[K, V]) lives(k K, v V) (life mapstore.Lifetime, err error) {
	life = l.h.Config.Entries
	if l.ttl != nil {
		if d := l.ttl(k, v); d != 0 {
			if err = send.CheckTTL("time to live", d); err != nil {
				return life, err
			}
			life.TTL, life.Keep = d, false
		}
	}
	if life.TTL > 0 {
		less := time.Duration(l.cfg.jitter * rand.Float64() * float64(life.TTL))
		life.TTL = max(life.TTL-less, time.Millisecond) + l.cfg.stale
	}
	return life, nil
}

// outcomeOf returns the outcome of a loader that has returned that.
func (l *Map[K, V]) outcomeOf(k K, v V, there bool, err error) outcome[V] {
	if err != nil || !there {
		return outcome[V]{err: err}
	}
	life, err := l.lives(k, v)
	if err != nil {
		return outcome[V]{err: err}
	}
	return outcome[V]{v: v, there: true, lives: life}
}

// mostFailures is how many keys a handle remembers whose loads failed.
const mostFailures = 10_000

// failure is that the load of a key failed, and is not tried again until then.
type failure struct {
	err          error
	until, pause time.Duration
}

// WithLoadBackoff makes the handle remember that the load of a key failed. Until a pause is over
// its [Map.Get] and [Map.GetMany] return that error, if the entry does not exist, and do
// not call the loader. The pause is least at first, and doubles with each failure in a row, up
// to most. [Map.Refresh] and [Map.LoadAll] do not wait for it. 10,000 keys are
// remembered. Operations return [ErrInvalidArgument] if least is below a millisecond or above
// most, or if most is above a day.
func WithLoadBackoff(least, most time.Duration) Option {
	return option(func(c *config) error {
		c.leastOut, c.mostOut, c.backsOff = least, most, true
		if least < time.Millisecond || most < least || most > 24*time.Hour {
			return fmt.Errorf("%w: pauses of %v to %v: from 1ms, to 24h", ErrInvalidArgument, least, most)
		}
		return nil
	})
}

// tried takes in what came of a load.
func (l *Map[K, V]) tried(k K, err error) {
	if l.cfg.leastOut == 0 {
		return
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	was, known := l.fails[k]
	if err == nil {
		delete(l.fails, k)
		return
	}
	if l.fails == nil {
		l.fails = make(map[K]failure)
	}
	for old := range l.fails { // whichever comes first
		if known || len(l.fails) < mostFailures {
			break
		}
		delete(l.fails, old)
	}
	pause := min(max(2*was.pause, l.cfg.leastOut), l.cfg.mostOut)
	l.fails[k] = failure{err, now + pause, pause}
}

// out returns why k is not loaded at the moment, if it is not. It is called under the mutex.
func (l *Map[K, V]) out(k K) error {
	if f, known := l.fails[k]; known && l.now() < f.until {
		return f.err
	}
	return nil
}
