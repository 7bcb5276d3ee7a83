package rmap

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// A NearOption changes a [Near]. What cannot be used is an [ErrInvalidArgument] of each of
// its operations.
type NearOption interface{ applyNear(*nearConfig) error }

type nearConfig struct {
	entries   int           // 0: bounded by bytes
	bytes     int64         // 0: by entries
	misses    time.Duration // how long it is kept that there is no entry; 0: not at all
	age       time.Duration
	silence   time.Duration
	announced bool
}

type nearOption func(*nearConfig) error

func (o nearOption) applyNear(c *nearConfig) error { return o(c) }

// WithMaxEntries bounds how many entries are kept; those go that are used least. Entries
// beyond the bound go with the next operation.
// The default is 10,000, the most 10 million. Beside [WithMaxBytes] it is an [ErrInvalidArgument].
func WithMaxEntries(n int) NearOption {
	return nearOption(func(c *nearConfig) error {
		if c.entries = n; n < 1 || n > 10_000_000 {
			return fmt.Errorf("%w: %d entries: from 1 to 10,000,000", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithMaxBytes bounds the bytes of the entries that are kept, in place of their number; those
// go that are used least. An entry counts as many bytes as its key and its value have in Redis,
// and 200 for what is kept beside them. That takes an encoding of each value that is kept. A
// value with a larger form in memory takes more. From 1,000 bytes to a terabyte.
func WithMaxBytes(n int64) NearOption {
	return nearOption(func(c *nearConfig) error {
		if c.bytes = n; n < 1000 || n > 1<<40 {
			return fmt.Errorf("%w: %d bytes: from 1,000 to a terabyte", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithMisses has it kept that there is no entry, for d at most: Get, GetMany and Has answer
// so by themselves then. What ends a copy ends that, too: the entry is written, or any of the
// map where it is tracked. Of a [Loading] beneath it is what the loader has said: an entry that
// comes into the source alone is seen after d. Nothing of it is kept while the map has no
// entries at all. Below a millisecond or above 100 years it is an [ErrInvalidArgument].
func WithMisses(d time.Duration) NearOption {
	return nearOption(func(c *nearConfig) error {
		c.misses = d
		return send.CheckTTL("time of misses", d)
	})
}

// WithMaxAge bounds how long ago an entry was read from Redis, whatever was heard
// of it since. The default is 10 minutes.
func WithMaxAge(d time.Duration) NearOption {
	return nearOption(func(c *nearConfig) error {
		c.age = d
		return send.CheckTTL("age", d)
	})
}

// WithMaxSilence bounds for how long entries count while nothing is heard from the
// server, which is asked three times meanwhile: from 100 ms to a minute. After a
// longer silence none of those from before counts again. The default is 3 s.
func WithMaxSilence(d time.Duration) NearOption {
	return nearOption(func(c *nearConfig) error {
		if c.silence = d; d < 100*time.Millisecond || d > time.Minute {
			return fmt.Errorf("%w: silence of %v: from 100ms to 1m", ErrInvalidArgument, d)
		}
		return nil
	})
}

// WithAnnounced has the near cache listen to what the writers of the map say, in
// place of the server: only the entry that was written is dropped then. It is right
// only if every writer says so: handles with [WithAnnounce], and Redisson's
// RLocalCachedMap; not those of Redisson's RMap and RMapCache, redis-cli, or the end of a time to
// live that these have set. The map that the near cache is made of needs
// WithAnnounce, too, and without it this is an [ErrInvalidArgument].
func WithAnnounced() NearOption {
	return nearOption(func(c *nearConfig) error {
		c.announced = true
		return nil
	})
}

func resolveNear(opts []NearOption) (nearConfig, error) {
	c, err := object.Options(nearConfig{age: 10 * time.Minute, silence: 3 * time.Second}, opts, NearOption.applyNear)
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
