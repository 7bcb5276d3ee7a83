package queue

import (
	"fmt"
	"time"
)

// A TryOption changes one [BoundedQueue.TryOffer].
type TryOption interface{ applyTry(*tryConfig) error }

type tryConfig struct{ wait time.Duration }

// WithWait lets a TryOffer wait up to d for room. Without it, or with 0, it answers
// after one round trip. A negative d is an ErrOption.
func WithWait(d time.Duration) TryOption { return waitOption(d) }

type waitOption time.Duration

func (o waitOption) applyTry(c *tryConfig) error {
	if o < 0 {
		return fmt.Errorf("%w: wait %v is negative", ErrOption, time.Duration(o))
	}
	c.wait = time.Duration(o)
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
