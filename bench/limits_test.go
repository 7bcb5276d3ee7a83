package bench

import (
	"context"
	"math/rand/v2"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// limitsOurs decides about two limits of a key at once: requests, and the tokens
// of a model that they use.
type limitsOurs struct {
	c                *rueidisson.Client
	requests, tokens *ratelimiter.Limiter
}

func newLimitsOurs(addr string) (impl, error) {
	c, err := rueidisson.New(connection(addr))
	if err != nil {
		return nil, err
	}
	o := &limitsOurs{c, c.RateLimiter("requests"), c.RateLimiter("tokens")}
	for _, l := range []*ratelimiter.Limiter{o.requests, o.tokens} {
		if _, _, err := l.TrySetRate(context.Background(), ratelimiter.PerSecond(1000*ample)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *limitsOurs) locker(name string) locker {
	both := ratelimiter.All(o.requests.For(name), o.tokens.For(name))
	return func(ctx context.Context) (unlock, error) {
		d, err := both.TakeEach(ctx, 1, someTokens())
		return decided(d.Allowed, err)
	}
}

func (o *limitsOurs) close() { _ = o.c.Close(context.Background()) } // nothing is held

// someTokens is what one request uses.
func someTokens() int64 { return 1 + rand.Int64N(1000) }

// limitsFloor is the script of several limits for each decision.
type limitsFloor struct {
	c      rueidis.Client
	decide *rueidis.Lua
}

func newLimitsFloor(addr string) (impl, error) {
	body, err := limiterScript("decide.lua")
	if err != nil {
		return nil, err
	}
	c, err := rueidis.NewClient(connection(addr))
	return limitsFloor{c, rueidis.NewLuaScript(body)}, err
}

func (f limitsFloor) locker(name string) locker {
	// 100,000,000,000 tokens a second: in a microsecond 100,000 ticks of one token each.
	full := strconv.Itoa(1000 * ample)
	one := []string{"1", "1", "100000", "1", full, "1", full, "0"}
	both := append(append([]string{}, one...), one...)
	keys := []string{"requests:{floor " + name + "}", "tokens:{floor " + name + "}"}
	return func(ctx context.Context) (unlock, error) {
		args := append(both[:len(both):len(both)], "1", "0", "1", strconv.FormatInt(someTokens(), 10))
		reply, err := f.decide.Exec(ctx, f.c, keys, args).AsIntSlice()
		return decided(err == nil && reply[len(reply)-1] == 1, err)
	}
}

func (f limitsFloor) close() { f.c.Close() }
