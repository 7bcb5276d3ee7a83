package semaphore

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// A TryOption changes one [Semaphore.TryAcquire].
type TryOption interface{ applyTry(*tryConfig) error }

// A WaitOption is a TryOption, and one of [PermitSemaphore.TryAcquire].
type WaitOption interface {
	TryOption
	TryPermitOption
}

// A TryPermitOption changes one [PermitSemaphore.TryAcquire].
type TryPermitOption interface{ applyTryPermit(*permitConfig) error }

// A PermitOption changes one [PermitSemaphore.Acquire] or
// [PermitSemaphore.TryAcquire].
type PermitOption interface {
	TryPermitOption
	applyPermit(*permitConfig) error
}

// A SetOption changes one [Semaphore.TrySetPermits] or
// [PermitSemaphore.TrySetPermits].
type SetOption interface{ applySet(*setConfig) error }

type tryConfig struct{ wait time.Duration }

type permitConfig struct {
	tryConfig
	lease time.Duration // 0: the watchdog's, renewed
}

type setConfig struct{ ttl time.Duration }

// WithWait lets a TryAcquire wait up to d for permits. Without it, or with 0, it
// answers after one round trip. A negative d is an ErrOption.
func WithWait(d time.Duration) WaitOption { return waitOption(d) }

// WithLease lets a permit end by itself when d has passed, whoever holds it
// then: it is not renewed. Without it, the client renews the permit for as long
// as it is held. A d below 10 ms or above 100 years is an ErrOption.
func WithLease(d time.Duration) PermitOption { return leaseOption(d) }

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

func (o waitOption) applyTryPermit(c *permitConfig) error { return o.applyTry(&c.tryConfig) }

type leaseOption time.Duration

func (o leaseOption) applyTryPermit(c *permitConfig) error { return o.applyPermit(c) }

func (o leaseOption) applyPermit(c *permitConfig) error {
	c.lease = time.Duration(o)
	return engine.CheckLease(c.lease)
}

type ttlOption time.Duration

func (o ttlOption) applySet(c *setConfig) error {
	if d := time.Duration(o); d < time.Millisecond || d > engine.LongestLease {
		return fmt.Errorf("%w: time to live %v is outside of 1ms to %v", ErrOption, d, engine.LongestLease)
	}
	c.ttl = time.Duration(o)
	return nil
}

var errNilOption = fmt.Errorf("%w: a nil option", ErrOption)

// resolve applies each option to what is the default.
func resolve[O comparable, C any](defaults C, opts []O, apply func(O, *C) error) (C, error) {
	if len(opts) == 0 {
		return defaults, nil // which stays off the heap
	}
	c := defaults
	var none O
	for _, o := range opts {
		if o == none {
			return c, errNilOption
		}
		if err := apply(o, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

func resolveTry(opts []TryOption) (tryConfig, error) {
	return resolve(tryConfig{}, opts, TryOption.applyTry)
}

func resolveSet(opts []SetOption) (setConfig, error) {
	return resolve(setConfig{}, opts, SetOption.applySet)
}

func resolvePermit(opts []PermitOption) (permitConfig, error) {
	return resolve(permitConfig{}, opts, PermitOption.applyPermit)
}

func resolveTryPermit(opts []TryPermitOption) (permitConfig, error) {
	return resolve(permitConfig{}, opts, TryPermitOption.applyTryPermit)
}
