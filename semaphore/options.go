package semaphore

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// A TryOption changes one [Semaphore.TryAcquire].
type TryOption interface{ applyTry(*tryConfig) error }

// A WaitOption is a TryOption and a TryPermitOption.
type WaitOption interface {
	TryOption
	TryPermitOption
}

// A TryPermitOption changes one [PermitSemaphore.TryAcquire] or
// [PermitSemaphore.TryAcquireN].
type TryPermitOption interface{ applyTryPermit(*permitConfig) error }

// A PermitOption changes one acquire of a [PermitSemaphore].
type PermitOption interface {
	TryPermitOption
	applyPermit(*permitConfig) error
}

// A SetOption changes one [Semaphore.TrySetPermits] or
// [PermitSemaphore.TrySetPermits].
type SetOption interface{ applySet(*setConfig) error }

// A ReleaseOption changes one [Semaphore.Release].
type ReleaseOption interface{ applyRelease(*releaseConfig) error }

type releaseConfig struct{ request send.CallerRequest }

// WithRequestID lets a Release be called again, by the same or another process, such as a job that
// is started anew. The release counts once for each id, for as long as the server remembers the id,
// d. A request that had not arrived yet counts for the permits that are set when it arrives. A
// release that was refused is not remembered: it counts when it is called again, or when a copy of
// it arrives late.
//
// The same id with another number of permits returns ErrInvalidArgument. So does an id that is
// empty or has more than 256 bytes, and a d below 45 s or above 100 years.
//
// Cost: a script call of its own, and a key for each id.
func WithRequestID(id string, d time.Duration) ReleaseOption { return requestOption{id, d} }

type requestOption struct {
	id     string
	memory time.Duration
}

func (o requestOption) applyRelease(c *releaseConfig) (err error) {
	c.request, err = send.NewCallerRequest(o.id, o.memory)
	return err
}

type tryConfig struct{ wait time.Duration }

type permitConfig struct {
	tryConfig
	terms
}

type setConfig struct{ ttl time.Duration }

// WithWait lets a TryAcquire wait up to d for permits. Without it, or with 0, TryAcquire answers
// after one round trip. A negative d returns ErrInvalidArgument.
func WithWait(d time.Duration) WaitOption { return waitOption(d) }

// WithLease gives the permit a fixed lease: it is not renewed, and expires when d has passed,
// whether it is still held or not. Without it, the client renews the permit for as long as it is
// held. A d below 10 ms or above 100 years returns ErrInvalidArgument.
func WithLease(d time.Duration) PermitOption { return leaseOption(d) }

// WithTTL lets the semaphore expire when d has passed, with all of its permits. d is counted in
// whole milliseconds, rounded up. A d below a millisecond or above 100 years returns
// ErrInvalidArgument.
func WithTTL(d time.Duration) SetOption { return ttlOption(d) }

// mostLabel is how many bytes a label has at most.
const mostLabel = 256

// WithLabel gives the permit a text that [PermitSemaphore.Permits] shows, such as the host that
// holds it. Redisson does not see it. A label that is empty or has more than 256 bytes returns
// ErrInvalidArgument.
//
// Cost: none without it; with it an HSET and an HDEL in the scripts.
func WithLabel(label string) PermitOption { return labelOption(label) }

type labelOption string

func (o labelOption) applyTryPermit(c *permitConfig) error { return o.applyPermit(c) }

func (o labelOption) applyPermit(c *permitConfig) error {
	if o == "" || len(o) > mostLabel {
		return fmt.Errorf("%w: label of %d bytes: from 1 to %d", ErrInvalidArgument, len(o), mostLabel)
	}
	c.label = string(o)
	return nil
}

type waitOption time.Duration

func (o waitOption) applyTry(c *tryConfig) error {
	if o < 0 {
		return fmt.Errorf("%w: wait %v is negative", ErrInvalidArgument, time.Duration(o))
	}
	c.wait = time.Duration(o)
	return nil
}

func (o waitOption) applyTryPermit(c *permitConfig) error { return o.applyTry(&c.tryConfig) }

type leaseOption time.Duration

func (o leaseOption) applyTryPermit(c *permitConfig) error { return o.applyPermit(c) }

func (o leaseOption) applyPermit(c *permitConfig) error {
	c.lease = time.Duration(o)
	return core.CheckLease(c.lease)
}

type ttlOption time.Duration

func (o ttlOption) applySet(c *setConfig) error {
	if d := time.Duration(o); d < time.Millisecond || d > core.LongestLease {
		return fmt.Errorf("%w: time to live %v is outside of 1ms to %v", ErrInvalidArgument, d, core.LongestLease)
	}
	c.ttl = time.Duration(o)
	return nil
}

func resolveSet(opts []SetOption) (setConfig, error) {
	return object.Options(setConfig{}, opts, SetOption.applySet)
}
