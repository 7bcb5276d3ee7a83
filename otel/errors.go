package otel

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
	"github.com/rueidisson/rueidisson/set"
	"github.com/rueidisson/rueidisson/sortedset"
	"github.com/rueidisson/rueidisson/stream"
	"github.com/rueidisson/rueidisson/topic"
)

const notAcquired = "not_acquired"

// types are the values of error.type, in the order in which they are looked
// for: that an outcome is unknown matters more than what hid it, and why the
// caller stopped matters more than what it last heard, unless time was up in an outage.
var types = []struct {
	of   error
	name string
}{
	{rueidisson.ErrOutcomeUnknown, "outcome_unknown"},
	{rueidisson.ErrDeferred, "deferred"},
	{context.Canceled, "canceled"},
	{rueidisson.ErrUnreached, "unreached"},
	{context.DeadlineExceeded, "timeout"},
	{rueidisson.ErrClosed, "closed"},
	{reliable.ErrCancelled, "cancelled"},
	{rueidisson.ErrSlotMoving, "slot_moving"},
	{lock.ErrLost, "lost"},
	{lock.ErrReleased, "released"},
	{latch.ErrBroken, "broken"},
	{semaphore.ErrNotSet, "not_set"},
	{bloom.ErrNotSet, "not_set"},
	{bloom.ErrOtherShape, "other_shape"},
	{counter.ErrExhausted, "exhausted"},
	{lock.ErrNotAcquired, notAcquired},
	{lock.ErrNotReplicated, "not_replicated"},
	{rueidisson.ErrWrongKind, "wrong_kind"},
	{rueidisson.ErrNotPermitted, "not_permitted"},
	{rueidisson.ErrSettings, "settings"},
	{lock.ErrToken, "token"},
	{lock.ErrStale, "stale"},
	{rwlock.ErrUpgrade, "upgrade"},
	{ratelimiter.ErrNoRate, "no_rate"},
	{ratelimiter.ErrOtherRate, "other_rate"},
	{ratelimiter.ErrOtherAlgorithm, "other_algorithm"},
	{ratelimiter.ErrExceedsBurst, "exceeds_burst"},
	{ratelimiter.ErrExceedsWait, "exceeds_wait"},
	{ratelimiter.ErrExceedsDebt, "exceeds_debt"},
	{queue.ErrEmpty, "empty"},
	{queue.ErrFull, "full"},
	{queue.ErrNoCapacity, "no_capacity"},
	{stream.ErrPending, "pending"},
	{stream.ErrLost, "lost"},
	{topic.ErrFull, "full"},
	{topic.ErrLost, "lost"},
	{reliable.ErrEmpty, "empty"},
	{reliable.ErrFull, "full"},
	{reliable.ErrDuplicate, "duplicate"},
	{reliable.ErrTimeout, "attempt_timeout"},
	{reliable.ErrOtherTerms, "other_terms"},
	{reliable.ErrDetached, "detached"},
	{reliable.ErrSettled, "settled"},
	{reliable.ErrExpired, "expired"},
	{reliable.ErrRemoved, "removed"},
	{reliable.ErrNotFound, "not_found"},
	{sortedset.ErrNotFound, "not_found"},
	{reliable.ErrTaken, "taken"},
	{reliable.ErrPending, "pending"},
	{reliable.ErrBuried, "buried"},
	{stream.ErrNoGroup, "no_group"},
	{writethrough.ErrBacklog, "backlog"},
	{topic.ErrInterrupted, "interrupted"},
	{set.ErrMissed, "missed"},
	{rueidisson.ErrDisconnected, "disconnected"},
	{rueidisson.ErrReconnected, "reconnected"},
	{codec.ErrDecode, "decode"},
	{rueidisson.ErrInvalidArgument, "invalid_argument"},
	{rueidisson.ErrNotice, "notice"}, // last: most notices say more
}

// typeOf returns the error.type of err, "" for nil. There must be few of them, so
// texts of errors are no part of it.
func typeOf(err error) string {
	if err == nil {
		return ""
	}
	for _, t := range types {
		if errors.Is(err, t.of) {
			return t.name
		}
	}
	return "_OTHER"
}
