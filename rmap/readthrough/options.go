package readthrough

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// An Option changes a [Map]. If an option is invalid, every operation of the Map
// returns [ErrInvalidArgument].
type Option interface{ apply(*config) error }

// config is what the options of a Map say.
type config struct {
	timeout   time.Duration // of one call of the loader
	absentFor time.Duration
	many      int           // keys of one call of manyOf
	manyOf    any           // func(context.Context, []K) (map[K]V, error); nil: there is none
	beta      float64       // of refreshing ahead; 0: not at all
	ttlOf     any           // func(K, V) time.Duration; nil: there is none
	jitter    float64       // the part of a time to live that is left to chance
	stale     time.Duration // how long an entry outlasts its time to live

	leastOut, mostOut time.Duration // pauses of keys whose loads fail; 0: there are none
	backsOff          bool          // who misses an entry heeds them
}

// loadTimeout is how long a load may take, unless it is told otherwise.
const loadTimeout = 10 * time.Second

// WithLoadTimeout sets how long one call of the loader may take. The default is 10 s. The
// context of the call ends then, and callers that wait for it get an error. If a process is
// killed while it loads, another process loads after that time and half a second. Operations
// return [ErrInvalidArgument] if d is below 10 ms or above a day.
func WithLoadTimeout(d time.Duration) Option {
	return option(func(c *config) error {
		c.timeout = d
		if d < 10*time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("%w: a load timeout of %v is outside of 10ms to 24h", ErrInvalidArgument, d)
		}
		return nil
	})
}

// WithLoadMany loads up to n entries by one call of load, in [Map.GetMany] and
// [Map.LoadAll]. load returns the values of the keys that have one, and an error that counts
// for all of them. With it the loader of [New] may be nil: load then loads single
// entries, too. Each entry has its lease as if it were loaded alone; entries that another
// process loads are left to that process. [WithLoadTimeout] is for the whole call. Operations
// return [ErrInvalidArgument] if n is not from 1 to 10,000, or if K and V are not those of the map.
func WithLoadMany[K comparable, V any](n int, load func(ctx context.Context, ks []K) (map[K]V, error)) Option {
	return option(func(c *config) error {
		c.many, c.manyOf = n, load
		if n < 1 || n > 10_000 || load == nil {
			return fmt.Errorf("%w: %d entries of one call: from 1 to 10,000, of a loader", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithAbsentFor makes the handle remember for d that the loader found nothing for a key. Until
// then its [Map.Get] reports that the entry does not exist, without I/O, even if another
// process writes it. A write of the entry through the same handle is known at once. Nothing of
// it is stored in Redis. Operations return [ErrInvalidArgument] if d is below a millisecond or
// above 100 years.
func WithAbsentFor(d time.Duration) Option {
	return option(func(c *config) error {
		c.absentFor = d
		return send.CheckTTL("absent time", d)
	})
}

// WithRefreshAhead loads entries that are read and about to expire, in the background, while
// readers get the old value. The longer loads take, the earlier an entry is loaded. Processes
// choose the moment at random, and one process of the fleet loads at a time. beta is 1 for what
// the paper proposes, and more for earlier
// (XFetch: Vattani, Chierichetti, Lowenstein, "Optimal Probabilistic Cache
// Stampede Prevention", VLDB 2015). It is for entries with a time to live, of a
// [rmap.Cache] or an [rmap.TTLMap]. Operations return [ErrInvalidArgument] on other maps, and if beta is
// not above 0 and at most 1000.
//
// The handle asks the server once for the expiry of each entry that is read, in the background,
// and remembers it for 10,000 entries. A nearcache.Cache on top of it reports its hits when a load is due.
func WithRefreshAhead(beta float64) Option {
	return option(func(c *config) error {
		c.beta = beta
		if !(beta > 0) || beta > 1000 || math.IsNaN(beta) {
			return fmt.Errorf("%w: a beta of %v is not above 0 and at most 1000", ErrInvalidArgument, beta)
		}
		return nil
	})
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

func resolve(opts []Option) (config, error) {
	c, err := object.Options(config{timeout: loadTimeout}, opts, Option.apply)
	if err != nil {
		return c, err
	}
	if c.stale > 0 && c.leastOut == 0 {
		c.leastOut, c.mostOut = leastStale, mostStale
	}
	return c, nil
}

// leaseMargin is how much longer than a load its lease is: what it has found is
// still to be written.
const leaseMargin = 500 * time.Millisecond

func (c config) lease() time.Duration { return c.timeout + leaseMargin }
