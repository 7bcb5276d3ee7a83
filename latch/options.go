package latch

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// A CountOption changes one [Latch.CountDown].
type CountOption interface{ applyCount(*countConfig) error }

// A SetOption changes one [Latch.TrySetCount].
type SetOption interface{ applySet(*setConfig) error }

// A BarrierOption changes a [Barrier].
type BarrierOption interface{ applyBarrier(*barrierConfig) error }

type barrierConfig struct {
	action func(ctx context.Context) error
}

// WithAction lets the last party of each generation run the action before any of them passes, such
// as to merge their results. It runs at most once for a generation, in the process of that party.
// The handle of that party has the action: give all handles the same one.
//
// If the action fails or panics, the generation breaks: Await of the last party returns [ErrBroken]
// and the error of the action, Await of the others ErrBroken. The generation also breaks if a party
// gives up or dies meanwhile, the last one included, although the action may have been done then.
// The action's context ends with that of the last party and with its lease. Parties that arrive
// meanwhile wait for the end of that generation, and belong to the next one.
//
// Cost: one more script call for the last party of a generation. A nil action returns
// [ErrInvalidArgument].
// Source: the barrier action of a CyclicBarrier of Java.
func WithAction(action func(ctx context.Context) error) BarrierOption { return actionOption{action} }

type actionOption struct {
	action func(ctx context.Context) error
}

func (o actionOption) applyBarrier(c *barrierConfig) error {
	if o.action == nil {
		return fmt.Errorf("%w: a nil action", ErrInvalidArgument)
	}
	c.action = o.action
	return nil
}

type countConfig struct{ request send.CallerRequest }

type setConfig struct{ ttl time.Duration }

// WithRequestID lets a CountDown be called again, by the same or another process, such as a job
// that is started anew. The count down counts once for each id, for as long as the server remembers
// the id, d, also if the latch was armed again since. A request that had not arrived yet counts in
// the arming that it finds: make the arming part of the id. An id that is empty or has more than
// 256 bytes returns ErrInvalidArgument, and so does a d below 45 s or above 100 years.
//
// Cost: a script call of its own, and a key for each id.
func WithRequestID(id string, d time.Duration) CountOption { return requestOption{id, d} }

// WithTTL lets the latch open when d has passed, so that no waiter waits for ever for a party that
// died. Waiters pass. d is counted in whole milliseconds, rounded up. A d below a millisecond or
// above 100 years returns ErrInvalidArgument.
func WithTTL(d time.Duration) SetOption { return ttlOption(d) }

type requestOption struct {
	id     string
	memory time.Duration
}

func (o requestOption) applyCount(c *countConfig) (err error) {
	c.request, err = send.NewCallerRequest(o.id, o.memory)
	return err
}

type ttlOption time.Duration

func (o ttlOption) applySet(c *setConfig) error {
	if d := time.Duration(o); d < time.Millisecond || d > core.LongestLease {
		return fmt.Errorf("%w: time to live %v is outside of 1ms to %v", ErrInvalidArgument, d, core.LongestLease)
	}
	c.ttl = time.Duration(o)
	return nil
}
