package queue

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
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
	return object.Options(c, opts, TryOption.applyTry)
}
