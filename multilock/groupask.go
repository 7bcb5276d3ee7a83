package multilock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/lock"
)

var (
	groupInspectScript = scripts.Must(lua, "lua/group_inspect.lua")
	groupForceScript   = scripts.Must(lua, "lua/group_force.lua")
)

// Holder returns the holder of one of the values at this moment, as the master sees it: of several
// holders the one with the longest lease. Its Owner is empty if all values are free. The rest of
// its lease is counted by the clock of this client, as the format requires. ctx bounds the round
// trip.
//
// Cost: one script call, which is linear in the values.
// Errors: ctx's, [lock.ErrClosed], [lock.ErrInvalidArgument], and those of Redis.
// Source: no method of Redisson, which has no such request for this lock.
func (v *Values) Holder(ctx context.Context) (lock.Holder, error) {
	holder, err := v.holder(ctx)
	return holder, v.failed("inspect", err)
}

// Locked reports whether one of the values is held. Cost and errors: as
// [Values.Holder].
func (v *Values) Locked(ctx context.Context) (bool, error) {
	holder, err := v.holder(ctx)
	return holder.Held(), v.failed("inspect", err)
}

// Remaining returns the time until all the values are free if no holder renews or unlocks them: 0
// if none is held. Cost and errors: as [Values.Holder].
func (v *Values) Remaining(ctx context.Context) (time.Duration, error) {
	holder, err := v.holder(ctx)
	return holder.Remaining, v.failed("inspect", err)
}

// ForceUnlock takes the values away from their holders, and reports whether there were any. A
// holder keeps its other values of the group until its next renewal or its unlock. Then its hold is
// lost, and its other values are released or left to their lease. The request is sent once: after
// [lock.ErrOutcomeUnknown] the values may have been taken away. ctx bounds the round trip.
//
// Cost: one script call, which is linear in the values.
// Errors: as [Values.Holder].
// Source: RedissonMultiLock of a group, forceUnlock.
func (v *Values) ForceUnlock(ctx context.Context) (held bool, err error) {
	held, err = valuesAsk(ctx, v, func() (bool, error) {
		args := append([]string{v.p.channel, v.g.e.Publish(), v.p.freed}, v.p.fields...)
		answer, err := v.g.e.Run(ctx, groupForceScript, []string{v.p.name}, args)
		if err != nil {
			return false, err
		}
		n, err := answer.AsInt64()
		return n == 1, err
	})
	if held {
		v.g.e.Hurry(v.p.key) // a holder of this client learns it before its next renewal
	}
	return held, v.failed("force unlock", err)
}

func (v *Values) holder(ctx context.Context) (longest lock.Holder, err error) {
	texts, err := valuesAsk(ctx, v, func() ([]string, error) {
		answer, err := v.g.e.Run(ctx, groupInspectScript, []string{v.p.name}, v.p.fields)
		if err != nil {
			return nil, err
		}
		return answer.AsStrSlice()
	})
	if err != nil {
		return longest, err
	}
	now := time.Now()
	for i := 0; i+2 < len(texts); i += 3 {
		ends, _ := strconv.ParseInt(texts[i+1], 10, 64) // 0, if it is not a number: a lease that is over
		left := time.UnixMilli(ends).Sub(now)
		if left <= longest.Remaining {
			continue // over, or another holds one for longer
		}
		client, _, _ := strings.Cut(texts[i], ":")
		count, _ := strconv.Atoi(texts[i+2])
		longest = lock.Holder{Owner: texts[i], Count: count, Remaining: left, Mine: client == v.g.e.IDs.Client()}
	}
	return longest, nil
}

// valuesAsk makes a one-shot call: ctx bounds the round trip.
func valuesAsk[T any](ctx context.Context, v *Values, call func() (T, error)) (result T, err error) {
	return object.Ask(ctx, v.g.e, v.bad, call)
}

// failed adds the operation and the group to err.
func (v *Values) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", op, v.g.name, err)
}
