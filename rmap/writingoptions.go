package rmap

import (
	"errors"
	"fmt"
	"time"
)

// ErrBacklog says that so many changes are queued for the store that no more are
// taken, see [WithMaxBacklog]. Nothing was changed.
var ErrBacklog = errors.New("too many changes are queued for the store")

// A WritingOption changes a [Writing]. What cannot be used is an [ErrOption] of
// each of its operations.
type WritingOption interface{ applyWriting(*writingConfig) error }

// writingConfig is what the options of a Writing say.
type writingConfig struct {
	behind   bool
	batch    int
	delay    time.Duration
	attempts int // 0: for ever
	backlog  int
}

// WithBehind has changes written to the map at once, and to the store later, in
// batches: of up to n changes, 100 ms behind the first of them at the latest. See
// [NewWriting]. Without it the store is written first. n is from 1 to 1000.
func WithBehind(n int) WritingOption {
	return writingOption(func(c *writingConfig) error {
		c.behind, c.batch = true, n
		if n < 1 || n > 1000 {
			return fmt.Errorf("%w: batches of %d changes: from 1 to 1000", ErrOption, n)
		}
		return nil
	})
}

// WithWriteDelay is how long a change may wait for others to be written with:
// 100 ms without it, and at most an hour. It is for [WithBehind].
func WithWriteDelay(d time.Duration) WritingOption {
	return writingOption(func(c *writingConfig) error {
		c.delay = d
		if d < time.Millisecond || d > time.Hour {
			return fmt.Errorf("%w: a delay of %v is outside of 1ms to 1h", ErrOption, d)
		}
		return nil
	})
}

// WithMaxAttempts gives changes up that the store has refused n times: they are
// tried once more one by one, and what is refused then goes to the stream
// {name}:rueidisson_dead, for somebody to look at. Without it they are tried for
// ever, and all behind them wait. A process that begins to drain the queue counts
// anew. It is for [WithBehind].
func WithMaxAttempts(n int) WritingOption {
	return writingOption(func(c *writingConfig) error {
		c.attempts = n
		if n < 1 {
			return fmt.Errorf("%w: %d attempts", ErrOption, n)
		}
		return nil
	})
}

// WithMaxBacklog is how many changes may be queued, before writes are an
// [ErrBacklog]: a million without it. It is for [WithBehind].
func WithMaxBacklog(n int) WritingOption {
	return writingOption(func(c *writingConfig) error {
		c.backlog = n
		if n < 1 {
			return fmt.Errorf("%w: a backlog of %d", ErrOption, n)
		}
		return nil
	})
}

type writingOption func(*writingConfig) error

func (o writingOption) applyWriting(c *writingConfig) error { return o(c) }

func resolveWriting(opts []WritingOption) (writingConfig, error) {
	c := writingConfig{batch: 100, delay: 100 * time.Millisecond, backlog: 1_000_000}
	for _, o := range opts {
		if o == nil {
			return c, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applyWriting(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}
