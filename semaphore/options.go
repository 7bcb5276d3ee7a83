package semaphore

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// A TryOption changes one [Semaphore.TryAcquire].
type TryOption interface{ applyTry(*tryConfig) error }

// A SetOption changes one [Semaphore.TrySetPermits].
type SetOption interface{ applySet(*setConfig) error }

type tryConfig struct{ wait time.Duration }

type setConfig struct{ ttl time.Duration }

// WithWait lets TryAcquire wait up to d for the permits. Without it, or with 0,
// TryAcquire answers after one round trip. A negative d is an ErrOption.
func WithWait(d time.Duration) TryOption { return waitOption(d) }

// WithTTL lets the semaphore go by itself when d has passed, with all of its
// permits. It is counted in whole milliseconds, rounded up. One below a
// millisecond or above 100 years is an ErrOption.
func WithTTL(d time.Duration) SetOption { return ttlOption(d) }

type waitOption time.Duration

func (o waitOption) applyTry(c *tryConfig) error {
	if o < 0 {
		return fmt.Errorf("%w: wait %v is negative", ErrOption, time.Duration(o))
	}
	c.wait = time.Duration(o)
	return nil
}

type ttlOption time.Duration

func (o ttlOption) applySet(c *setConfig) error {
	if d := time.Duration(o); d < time.Millisecond || d > engine.LongestLease {
		return fmt.Errorf("%w: time to live %v is outside of 1ms to %v", ErrOption, d, engine.LongestLease)
	}
	c.ttl = time.Duration(o)
	return nil
}

func resolveTry(opts []TryOption) (c tryConfig, err error) {
	for _, o := range opts {
		if o == nil {
			return c, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applyTry(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}

func resolveSet(opts []SetOption) (c setConfig, err error) {
	for _, o := range opts {
		if o == nil {
			return c, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applySet(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}
