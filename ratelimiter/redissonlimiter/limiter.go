package redissonlimiter

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Limiter is a handle on a rate limiter that Java programs share, as their
// RRateLimiter of that name. Any number of handles on one name are the same
// limiter, and any number of goroutines may use one.
//
// Unless a method says otherwise: ctx bounds the round trip. It costs one.
// Wire, and the keys of all: see the package.
//
// Errors of all: [ratelimiter.ErrNoRate]; [ratelimiter.ErrOtherAlgorithm], for
// a name that belongs to a [ratelimiter.Limiter] or to no limiter;
// [ratelimiter.ErrInvalidArgument]; [ratelimiter.ErrOutcomeUnknown], if the reply was lost and
// the request is not one that can be sent again; ctx's error and cause;
// [ratelimiter.ErrClosed]; Redis' and the network's.
type Limiter struct {
	e    *locking.Engine
	name string // as the caller wrote it
	log  *slidingLog
	bad  error // what every operation returns, if the name cannot be used
}

// New returns a handle on the rate limiter of that name. Programs call
// client.RedissonRateLimiter(name), which returns the same. New is for packages that take a
// [Client] and do not import rueidisson.
func New(c Client, name string) *Limiter {
	e := c.Engine()
	mapped := e.Map(name)
	log := &slidingLog{e: e, keys: []string{
		mapped, keys.RateValue(mapped), keys.RateLog(mapped),
		keys.RateValueOf(mapped, e.ClientID), keys.RateLogOf(mapped, e.ClientID),
	}}
	return &Limiter{e: e, name: name, log: log, bad: object.CheckName(e, mapped)}
}

// Name returns the name that the handle was made with, before any mapping.
func (l *Limiter) Name() string { return l.name }

// TrySetRate sets the rate if there is none, and reports whether it did. It is
// sent once.
//
// Cost and errors: see [Limiter]; not ErrNoRate. Source: RRateLimiter.trySetRate.
func (l *Limiter) TrySetRate(ctx context.Context, r Rate) (bool, error) {
	set, err := once(ctx, l, r.check(), func() (bool, error) { return l.log.create(ctx, r) })
	return set, l.failed("try set rate", err)
}

// SetRate sets the rate, also if there is one, and deletes what was taken, unless [WithKeepState]
// is given. With a rate for each client that concerns this client's own permits: permits that
// others have taken stay taken. Other clients of this library use the new rate from their next
// request on. Java keeps its count, and adapts to the new rate as its log runs empty. SetRate is
// sent once.
//
// Cost and errors: see [Limiter]; not ErrNoRate. Source: RRateLimiter.setRate.
func (l *Limiter) SetRate(ctx context.Context, r Rate, opts ...SetOption) error {
	_, err := l.set(ctx, r, opts, false)
	return l.failed("set rate", err)
}

// UpdateRate sets the rate if there is one already, as [Limiter.SetRate] does, and reports whether
// there was one. It changes nothing otherwise.
//
// Cost and errors: see [Limiter]; not ErrNoRate.
// Source: RRateLimiter.updateRate.
func (l *Limiter) UpdateRate(ctx context.Context, r Rate, opts ...SetOption) (bool, error) {
	set, err := l.set(ctx, r, opts, true)
	return set, l.failed("update rate", err)
}

func (l *Limiter) set(ctx context.Context, r Rate, opts []SetOption, existing bool) (bool, error) {
	resolved, err := object.Options(setting{}, opts, SetOption.applySet)
	if err == nil {
		err = r.check()
	}
	return once(ctx, l, err, func() (bool, error) { return l.log.set(ctx, r, resolved.keep, existing) })
}

// Rate returns the rate that is set now, by any client.
//
// Cost and errors: see [Limiter].
// Source: RRateLimiter.getConfig.
func (l *Limiter) Rate(ctx context.Context) (Rate, error) {
	r, err := query(ctx, l, func() (Rate, error) { return l.log.read(ctx) })
	return r, l.failed("rate", err)
}

// Delete deletes the rate and what was taken, and reports whether there was anything. If each
// client has a count, the counts of other clients stay. Delete is sent once.
//
// Cost and errors: see [Limiter]; not ErrNoRate. Source: RRateLimiter.delete.
func (l *Limiter) Delete(ctx context.Context) (bool, error) {
	deleted, err := once(ctx, l, nil, func() (bool, error) { return l.log.delete(ctx) })
	return deleted, l.failed("delete", err)
}
