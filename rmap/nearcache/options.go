package nearcache

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// An Option changes a [Cache]. If an option is invalid, every operation of the near cache
// returns [ErrInvalidArgument].
type Option interface{ apply(*config) error }

type config struct {
	entries   int           // 0: bounded by bytes
	bytes     int64         // 0: by entries
	misses    time.Duration // how long it is kept that there is no entry; 0: not at all
	age       time.Duration
	silence   time.Duration
	announced bool
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// WithMaxEntries bounds how many entries are kept; the least used are dropped. Entries
// beyond the bound are dropped with the next operation. The default is 10,000, the most 10
// million. Operations return [ErrInvalidArgument] if it is used together with [WithMaxBytes].
func WithMaxEntries(n int) Option {
	return option(func(c *config) error {
		if c.entries = n; n < 1 || n > 10_000_000 {
			return fmt.Errorf("%w: %d entries: from 1 to 10,000,000", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithMaxBytes bounds the bytes of the entries that are kept, in place of their number; the
// least used are dropped. An entry counts as many bytes as its key and its value have in Redis,
// and 200 more. That takes an encoding of each value that is kept. A value with a larger form in
// memory takes more. n is from 1,000 bytes to a terabyte.
func WithMaxBytes(n int64) Option {
	return option(func(c *config) error {
		if c.bytes = n; n < 1000 || n > 1<<40 {
			return fmt.Errorf("%w: %d bytes: from 1,000 to a terabyte", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithMisses keeps absences, too, for d at most: Get, GetMany and Has then report without I/O that
// an entry does not exist. What drops a copy drops that, too: a write of the entry, or of any entry
// of the map if the near cache is tracked. On top of a readthrough.Map it is the answer of the
// loader: an entry that is added to the source alone is seen after d. Nothing of it is kept while
// the map has no entries at all. Operations return [ErrInvalidArgument] if d is below a millisecond
// or above 100 years.
func WithMisses(d time.Duration) Option {
	return option(func(c *config) error {
		c.misses = d
		return send.CheckTTL("time of misses", d)
	})
}

// WithMaxAge bounds how long ago an entry was read from Redis, whatever was heard
// of it since. The default is 10 minutes.
func WithMaxAge(d time.Duration) Option {
	return option(func(c *config) error {
		c.age = d
		return send.CheckTTL("age", d)
	})
}

// WithMaxSilence bounds for how long entries count while nothing is heard from the
// server, which is asked three times meanwhile: from 100 ms to a minute. After a
// longer silence none of those from before counts again. The default is 3 s.
func WithMaxSilence(d time.Duration) Option {
	return option(func(c *config) error {
		if c.silence = d; d < 100*time.Millisecond || d > time.Minute {
			return fmt.Errorf("%w: silence of %v: from 100ms to 1m", ErrInvalidArgument, d)
		}
		return nil
	})
}

// WithAnnounced makes the near cache listen to the writers of the map, in place of the server:
// only the entry that was written is dropped then. It is right only if every writer announces
// its writes: handles with [rmap.WithAnnounce], and Redisson's RLocalCachedMap. Redisson's RMap and
// RMapCache and redis-cli do not, nor does the expiry of a time to live that these have set.
// Operations return [ErrInvalidArgument] if the map that the near cache is made of has no
// WithAnnounce.
func WithAnnounced() Option {
	return option(func(c *config) error {
		c.announced = true
		return nil
	})
}

func resolve(opts []Option) (config, error) {
	c, err := object.Options(config{age: 10 * time.Minute, silence: 3 * time.Second}, opts, Option.apply)
	switch {
	case err != nil:
		return c, err
	case c.entries > 0 && c.bytes > 0:
		return c, fmt.Errorf("%w: a bound of entries and one of bytes", ErrInvalidArgument)
	case c.bytes == 0 && c.entries == 0:
		c.entries = 10_000
	}
	return c, nil
}
