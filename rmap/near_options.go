package rmap

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// A NearOption changes a [Near]. What cannot be used is an [ErrOption] of each of
// its operations.
type NearOption interface{ applyNear(*nearConfig) error }

type nearConfig struct {
	entries   int
	age       time.Duration
	silence   time.Duration
	announced bool
}

type nearOption func(*nearConfig) error

func (o nearOption) applyNear(c *nearConfig) error { return o(c) }

// WithMaxEntries bounds how many entries are kept; those go that are used least.
// The default is 10,000, the most 10 million.
func WithMaxEntries(n int) NearOption {
	return nearOption(func(c *nearConfig) error {
		if c.entries = n; n < 1 || n > 10_000_000 {
			return fmt.Errorf("%w: %d entries: from 1 to 10,000,000", ErrOption, n)
		}
		return nil
	})
}

// WithMaxAge bounds how long ago an entry was read from Redis, whatever was heard
// of it since. The default is 10 minutes.
func WithMaxAge(d time.Duration) NearOption {
	return nearOption(func(c *nearConfig) error {
		c.age = d
		return engine.CheckTTL("age", d)
	})
}

// WithMaxSilence bounds for how long entries count while nothing is heard from the
// server, which is asked three times meanwhile: from 100 ms to a minute. After a
// longer silence none of those from before counts again. The default is 3 s.
func WithMaxSilence(d time.Duration) NearOption {
	return nearOption(func(c *nearConfig) error {
		if c.silence = d; d < 100*time.Millisecond || d > time.Minute {
			return fmt.Errorf("%w: silence of %v: from 100ms to 1m", ErrOption, d)
		}
		return nil
	})
}

// WithAnnounced has the near cache listen to what the writers of the map say, in
// place of the server: only the entry that was written is dropped then. It is right
// only if every writer says so: handles with [WithAnnounce], and Redisson's
// RLocalCachedMap; not those of Redisson's RMap, redis-cli, or the end of a time to
// live that these have set. The map that the near cache is made of needs
// WithAnnounce, too, and without it this is an [ErrOption].
func WithAnnounced() NearOption {
	return nearOption(func(c *nearConfig) error {
		c.announced = true
		return nil
	})
}

func resolveNear(opts []NearOption) (nearConfig, error) {
	c := nearConfig{entries: 10_000, age: 10 * time.Minute, silence: 3 * time.Second}
	for _, o := range opts {
		if o == nil {
			return c, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applyNear(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}
