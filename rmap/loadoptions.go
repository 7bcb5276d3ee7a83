package rmap

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// A LoadingOption changes a [Loading]. What cannot be used is an [ErrInvalidArgument] of
// each of its operations.
type LoadingOption interface{ applyLoading(*loadingConfig) error }

// loadingConfig is what the options of a Loading say.
type loadingConfig struct {
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

// WithLoadTimeout sets how long one call of the loader may take: 10 s without it.
// Its context ends then, and who waits for it gets an error. It is also how long
// the fleet waits for a process that was killed while it loaded, before another
// one loads: that long, and half a second. Below 10 ms or above a day it is an
// [ErrInvalidArgument].
func WithLoadTimeout(d time.Duration) LoadingOption {
	return loadingOption(func(c *loadingConfig) error {
		c.timeout = d
		if d < 10*time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("%w: a load timeout of %v is outside of 10ms to 24h", ErrInvalidArgument, d)
		}
		return nil
	})
}

// WithLoadMany has up to n entries loaded by one call of load, of [Loading.GetMany] and
// [Loading.LoadAll]. It returns the values of those of the keys that there are, and an error
// is that of all of them. With it the loader of [NewLoading] may be nil: single entries are
// then loaded by it, too. Each entry has its lease as if it were loaded alone; those that
// another process loads are left to that. [WithLoadTimeout] is for the whole call. n is from 1
// to 10,000; K and V are those of the map, else it is an [ErrInvalidArgument].
func WithLoadMany[K comparable, V any](n int, load func(ctx context.Context, ks []K) (map[K]V, error)) LoadingOption {
	return loadingOption(func(c *loadingConfig) error {
		c.many, c.manyOf = n, load
		if n < 1 || n > 10_000 || load == nil {
			return fmt.Errorf("%w: %d entries of one call: from 1 to 10,000, of a loader", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithAbsentFor has the handle remember for d that the loader found nothing for a
// key: until then its [Loading.Get] says so without asking anybody, whatever other
// processes write. A write of the entry through the same handle is known at once.
// Nothing of it is stored in Redis. Below a millisecond or above 100 years it is
// an [ErrInvalidArgument].
func WithAbsentFor(d time.Duration) LoadingOption {
	return loadingOption(func(c *loadingConfig) error {
		c.absentFor = d
		return send.CheckTTL("absent time", d)
	})
}

// WithRefreshAhead has entries that are read and about to end loaded anew before
// they do, in the background, while readers get what is there: earlier the longer
// loads take, at moments that processes choose at random, by a process of the
// fleet at a time. beta is 1 for what the paper proposes, and more for earlier
// (XFetch: Vattani, Chierichetti, Lowenstein, "Optimal Probabilistic Cache
// Stampede Prevention", VLDB 2015). It is for entries with a time to live, of a
// [Cache] or a [TTLMap]; of a map whose entries stay it is an [ErrInvalidArgument], and so is a
// beta that is not above 0 and at most 1000.
//
// When an entry ends is asked of the server once for each entry that is read, in
// the background, and remembered for 10,000 of them. A [Near] on top tells of its hits
// where that is due.
func WithRefreshAhead(beta float64) LoadingOption {
	return loadingOption(func(c *loadingConfig) error {
		c.beta = beta
		if !(beta > 0) || beta > 1000 || math.IsNaN(beta) {
			return fmt.Errorf("%w: a beta of %v is not above 0 and at most 1000", ErrInvalidArgument, beta)
		}
		return nil
	})
}

type loadingOption func(*loadingConfig) error

func (o loadingOption) applyLoading(c *loadingConfig) error { return o(c) }

func resolveLoading(opts []LoadingOption) (loadingConfig, error) {
	c, err := object.Options(loadingConfig{timeout: loadTimeout}, opts, LoadingOption.applyLoading)
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

func (c loadingConfig) lease() time.Duration { return c.timeout + leaseMargin }
