package election

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/lock"
)

// An Option changes a handle; see rueidisson.Client.Election.
type Option interface{ apply(*config) error }

// WithWait lets Campaign give up when it was not elected within d. With 0 it gives up at once, and
// is not even queued. A negative d returns lock.ErrInvalidArgument.
func WithWait(d time.Duration) Option { return waitOption(d) }

// WithLease gives the terms of this handle a fixed length: the watchdog does not renew them, and
// they end when d has passed, less a margin of d/20 (at least 2 ms). A length below 10 ms or above
// 100 years returns lock.ErrInvalidArgument.
func WithLease(d time.Duration) Option { return leaseOption(d) }

// config is the result of the options of a handle.
type config struct {
	try   bool
	wait  time.Duration
	lease time.Duration // 0: the watchdog's
}

type waitOption time.Duration

func (o waitOption) apply(c *config) error {
	if o < 0 {
		return fmt.Errorf("%w: wait %v is negative", lock.ErrInvalidArgument, time.Duration(o))
	}
	c.try, c.wait = true, time.Duration(o)
	return nil
}

type leaseOption time.Duration

func (o leaseOption) apply(c *config) error {
	c.lease = time.Duration(o)
	return core.CheckLease(c.lease)
}
