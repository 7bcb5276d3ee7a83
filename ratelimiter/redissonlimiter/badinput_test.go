package redissonlimiter_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// everyOperation calls all that a handle can do, and returns the errors.
func everyOperation(ctx context.Context, l *redissonlimiter.Limiter) map[string]error {
	errs := map[string]error{}
	_, errs["try set rate"] = l.TrySetRate(ctx, atMost(5, time.Second))
	errs["set rate"] = l.SetRate(ctx, atMost(5, time.Second))
	_, errs["update rate"] = l.UpdateRate(ctx, atMost(5, time.Second))
	_, errs["rate"] = l.Rate(ctx)
	_, errs["allow"] = l.Allow(ctx)
	_, errs["take"] = l.Take(ctx, 2)
	_, errs["peek"] = l.Peek(ctx)
	_, errs["available"] = l.Available(ctx)
	errs["wait"] = l.Wait(ctx)
	errs["release"] = l.Release(ctx, 1)
	_, errs["delete"] = l.Delete(ctx)
	return errs
}

// watchedRig is a rig whose every word to the server is noted.
func watchedRig(t *testing.T, change ...func(*core.Config)) (*rig, *redistest.Proxy) {
	t.Helper()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	r := &rig{t: t, raw: server.Client(t), name: redistest.Name(t)}
	r.e = engineOn(t, logClientOf(t, proxy.Addr()), change...)
	r.Limiter = redissonlimiter.New(r.e, r.name)
	proxy.ResetLog()
	return r, proxy
}

func noWordSent(t *testing.T, p *redistest.Proxy) {
	t.Helper()
	for _, cmd := range p.Log() {
		require.True(t, strings.EqualFold(cmd[0], "PING"), "%q was sent", cmd)
	}
}

func TestRefusesAnUnusableNameEverywhere(t *testing.T) {
	t.Parallel()
	nowhere := func(c *core.Config) { c.MapName = func(string) string { return "" } }
	for what, c := range map[string]struct {
		name   string
		change func(*core.Config)
	}{
		"empty":             {"", func(*core.Config) {}},
		"mapped to nothing": {"api", nowhere},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, p := watchedRig(t, c.change)
			for op, err := range everyOperation(t.Context(), redissonlimiter.New(r.e, c.name)) {
				require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, op)
				require.ErrorContains(t, err, op+": ")
				require.ErrorContains(t, err, `rate limiter "`+c.name+`"`)
				require.ErrorContains(t, err, "empty name")
			}
			noWordSent(t, p)
		})
	}
}

func TestRefusesAContextThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	//lint:ignore SA1012 nil is what is tested
	for op, err := range everyOperation(nil, r.Limiter) {
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, op)
		require.ErrorContains(t, err, "nil context", op)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for op, err := range everyOperation(ctx, r.Limiter) {
		require.ErrorIs(t, err, context.Canceled, op)
		require.ErrorIs(t, err, gone, op)
		require.ErrorContains(t, err, r.name, op)
	}
	noWordSent(t, p)
}

func TestAfterClose(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	require.NoError(t, locking.Close(context.Background(), r.e))
	p.ResetLog()
	for op, err := range everyOperation(t.Context(), r.Limiter) {
		require.ErrorIs(t, err, ratelimiter.ErrClosed, op)
	}
	noWordSent(t, p)
}

func TestRefusesNumbersOfPermits(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	ctx := t.Context()
	for _, n := range []int64{0, -1, math.MinInt64, 1 << 32, math.MaxInt64} {
		_, err := r.Take(ctx, n)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, n)
		_, err = r.AllowN(ctx, n)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, n)
		require.ErrorIs(t, r.WaitN(ctx, n), ratelimiter.ErrInvalidArgument, n)
	}
	for _, n := range []int64{0, -1, math.MinInt64, 1 << 53, math.MaxInt64} {
		require.ErrorIs(t, r.Release(ctx, n), ratelimiter.ErrInvalidArgument, n)
	}
	noWordSent(t, p)
}

func TestRefusesRates(t *testing.T) {
	t.Parallel()
	r, p := watchedRig(t)
	ctx := t.Context()
	good := atMost(5, time.Second)
	for what, change := range map[string]func(*redissonlimiter.Rate){
		"0 permits":               func(r *redissonlimiter.Rate) { r.Permits = 0 },
		"-1 permits":              func(r *redissonlimiter.Rate) { r.Permits = -1 },
		"9007199254740992 permit": func(r *redissonlimiter.Rate) { r.Permits = 1 << 53 },
		"interval 0s":             func(r *redissonlimiter.Rate) { r.Interval = 0 },
		"interval -1s":            func(r *redissonlimiter.Rate) { r.Interval = -time.Second },
		"interval 1.5ms":          func(r *redissonlimiter.Rate) { r.Interval = 1500 * time.Microsecond },
		"interval 2562047h":       func(r *redissonlimiter.Rate) { r.Interval = math.MaxInt64 / 1e6 * 1e6 },
		"keep-alive 999ms":        func(r *redissonlimiter.Rate) { r.KeepAlive = 999 * time.Millisecond },
		"keep-alive -1s":          func(r *redissonlimiter.Rate) { r.KeepAlive = -time.Second },
		"keep-alive 1.0005s":      func(r *redissonlimiter.Rate) { r.KeepAlive = 1000500 * time.Microsecond },
		"RateType(2)":             func(r *redissonlimiter.Rate) { r.Type = 2 },
	} {
		bad := good
		change(&bad)
		_, err := r.TrySetRate(ctx, bad)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, what)
		require.ErrorContains(t, err, what)
		require.ErrorIs(t, r.SetRate(ctx, bad), ratelimiter.ErrInvalidArgument, what)
		_, err = r.UpdateRate(ctx, bad)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, what)
	}
	require.ErrorIs(t, r.SetRate(ctx, good, nil), ratelimiter.ErrInvalidArgument)
	_, err := r.UpdateRate(ctx, good, nil)
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	noWordSent(t, p)
}

func TestWithoutARate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for op, err := range everyOperation(t.Context(), r.Limiter) {
		switch op {
		case "try set rate", "set rate", "update rate", "delete":
			require.NoError(t, err, op)
		}
	}
	_, err := r.Delete(t.Context())
	require.NoError(t, err)
	for op, call := range map[string]func(context.Context) error{
		"rate":      func(ctx context.Context) error { _, err := r.Rate(ctx); return err },
		"allow":     func(ctx context.Context) error { _, err := r.Allow(ctx); return err },
		"take":      func(ctx context.Context) error { _, err := r.Take(ctx, 1); return err },
		"peek":      func(ctx context.Context) error { _, err := r.Peek(ctx); return err },
		"available": func(ctx context.Context) error { _, err := r.Available(ctx); return err },
		"wait":      r.Wait,
		"release":   func(ctx context.Context) error { return r.Release(ctx, 1) },
	} {
		err := call(t.Context())
		require.ErrorIs(t, err, ratelimiter.ErrNoRate, op)
		require.ErrorContains(t, err, op)
		require.ErrorContains(t, err, r.name)
	}
	require.Equal(t, "map[]", r.state())
}

func TestRefusesMoreThanTheRateAtOnce(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(5, time.Hour))
		before := r.state()
		_, err := r.Take(t.Context(), 6)
		require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
		require.ErrorContains(t, err, "6 permits of 5/h")
		require.ErrorIs(t, r.WaitN(t.Context(), 6), ratelimiter.ErrExceedsBurst)
		require.Equal(t, before, r.state())
	})
}

// TestLeavesOtherObjectsAlone: among them the token bucket's rule, which
// is a string, and a lock, which is a hash as the setting is.
func TestLeavesOtherObjectsAlone(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		for what, c := range map[string]struct {
			make, show []string
		}{
			"a token bucket":      {[]string{"SET", r.name, "tb1 1795206775149000 0 5 1000000000 10 0 0 nonce"}, []string{"GET", r.name}},
			"a lock":              {[]string{"HSET", r.name, "285475da-9152-4c83-822a-67ee2f116a79:1", "1"}, []string{"HGETALL", r.name}},
			"a list":              {[]string{"RPUSH", r.name, "x"}, []string{"LRANGE", r.name, "0", "-1"}},
			"half a setting":      {[]string{"HSET", r.name, "interval", "1000", "type", "0"}, []string{"HGETALL", r.name}},
			"an unknown interval": {[]string{"HSET", r.name, "rate", "5", "interval", "soon", "type", "0"}, nil},
			"an unknown type":     {[]string{"HSET", r.name, "rate", "5", "interval", "1000", "type", "2"}, nil},
		} {
			r.do("DEL", r.name)
			r.do(c.make...)
			if c.show == nil { // it can be set and deleted, but not used
				_, err := r.Take(t.Context(), 1)
				require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm, what)
				_, err = r.Rate(t.Context())
				require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm, what)
				require.ErrorIs(t, r.Release(t.Context(), 1), ratelimiter.ErrOtherAlgorithm, what)
				continue
			}
			before := r.do(c.show...)
			for op, err := range everyOperation(t.Context(), r.Limiter) {
				require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm, "%s: %s", what, op)
				require.ErrorContains(t, err, r.name)
			}
			after := r.do(c.show...)
			require.Equal(t, before.String(), after.String(), what)
			require.EqualValues(t, -1, r.ttl(r.name), what)
			require.False(t, r.exists(r.valueKey()), what)
			require.False(t, r.exists(r.logKey()), what)
		}
	})
}

func TestLeavesOtherObjectsUnderItsDerivedNamesAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set(atMost(5, time.Hour))
	r.do("RPUSH", r.logKey(), "x")
	_, err := r.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
	require.EqualValues(t, 1, r.number("LLEN", r.logKey()))
}

// Java does not look at what it is given.
func TestBearsSettingsThatNobodyShouldMake(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.do("HSET", r.name, "rate", "0", "interval", "9223372036854775807", "type", "0")
	_, err := r.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	rate, err := r.Rate(t.Context())
	require.NoError(t, err)
	require.Equal(t, 9007199254740*time.Millisecond, rate.Interval, "285 years")
	r.do("HSET", r.name, "rate", "5", "interval", "0", "type", "0")
	for range 3 {
		r.allowed(5)
	}
	r.set(atMost(1, time.Hour))
	r.do("HSET", r.name, "rate", "9223372036854775807", "keepAliveTime", "9223372036854775807")
	rate, err = r.Rate(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1<<53-1, rate.Permits)
	require.Positive(t, rate.KeepAlive)
	r.do("HSET", r.name, "keepAliveTime", "0")
	r.do("SET", r.valueKey(), "9223372036854775807")
	require.EqualValues(t, 1<<53-3, r.take(2).Remaining)
	require.NoError(t, r.Release(t.Context(), 1))
	require.Equal(t, "9007199254740990", r.text(r.valueKey()))
}
