package ratelimiter_test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// ofBucket are the operations of a bucket about n tokens, by the name that
// their errors give them.
var ofBucket = map[string]func(ctx context.Context, b *ratelimiter.Bucket, n int64) error{
	"allow": func(ctx context.Context, b *ratelimiter.Bucket, n int64) error {
		_, err := b.AllowN(ctx, n)
		return err
	},
	"take": func(ctx context.Context, b *ratelimiter.Bucket, n int64) error { _, err := b.Take(ctx, n); return err },
	"take up to": func(ctx context.Context, b *ratelimiter.Bucket, n int64) error {
		_, _, err := b.TakeUpTo(ctx, n)
		return err
	},
	"wait": func(ctx context.Context, b *ratelimiter.Bucket, n int64) error { return b.WaitN(ctx, n) },
	"reserve": func(ctx context.Context, b *ratelimiter.Bucket, n int64) error {
		_, err := b.ReserveN(ctx, n)
		return err
	},
	"charge": func(ctx context.Context, b *ratelimiter.Bucket, n int64) error {
		_, err := b.Charge(ctx, n)
		return err
	},
	"refund": func(ctx context.Context, b *ratelimiter.Bucket, n int64) error { return b.Refund(ctx, n) },
}

// ofState are those without a number.
var ofState = map[string]func(ctx context.Context, b *ratelimiter.Bucket) error{
	"peek":   func(ctx context.Context, b *ratelimiter.Bucket) error { _, err := b.Peek(ctx); return err },
	"settle": func(ctx context.Context, b *ratelimiter.Bucket) error { return b.Settle(ctx, 1, 1) },
	"reset":  func(ctx context.Context, b *ratelimiter.Bucket) error { return b.Reset(ctx) },
	"block":  func(ctx context.Context, b *ratelimiter.Bucket) error { return b.Block(ctx, time.Hour) },
}

// ofLimiter are those about the rule.
var ofLimiter = map[string]func(ctx context.Context, l *ratelimiter.Limiter) error{
	"rate": func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Rate(ctx); return err },
	"try set rate": func(ctx context.Context, l *ratelimiter.Limiter) error {
		_, _, err := l.TrySetRate(ctx, ratelimiter.PerSecond(1))
		return err
	},
	"set rate": func(ctx context.Context, l *ratelimiter.Limiter) error {
		return l.SetRate(ctx, ratelimiter.PerSecond(1))
	},
	"pause":  func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Pause(ctx) },
	"resume": func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Resume(ctx) },
	"delete": func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Delete(ctx); return err },
}

// everything runs all operations on the limiter, and those of a bucket on a key
// too, and returns their errors by the names of the operations.
func everything(ctx context.Context, l *ratelimiter.Limiter) map[string][]error {
	errs := map[string][]error{}
	for _, b := range []*ratelimiter.Bucket{&l.Bucket, l.For("a key")} {
		for op, do := range ofBucket {
			errs[op] = append(errs[op], do(ctx, b, 1))
		}
		for op, do := range ofState {
			errs[op] = append(errs[op], do(ctx, b))
		}
	}
	for op, do := range ofLimiter {
		errs[op] = append(errs[op], do(ctx, l))
	}
	return errs
}

// allAre asserts that each error wraps want, and names its operation and the
// limiter.
func allAre(t testing.TB, errs map[string][]error, want error, name string) {
	t.Helper()
	for op, some := range errs {
		for _, err := range some {
			assert.ErrorIs(t, err, want, op)
			assert.ErrorContains(t, err, ": "+op+": ")
			assert.ErrorContains(t, err, strconv.Quote(name))
		}
	}
}

func TestHandlesThatCannotBeUsedSayWhy(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	p.ResetLog()
	name := redistest.Name(t)
	bad := ratelimiter.Rate{}
	for what, l := range map[string]*ratelimiter.Limiter{
		"a nil option":         c.RateLimiter(name, nil),
		"an expected rate":     c.RateLimiter(name, ratelimiter.WithExpectedRate(bad)),
		"a huge expected rate": c.RateLimiter(name, ratelimiter.WithExpectedRate(ratelimiter.PerHour(1<<60))),
		"no debt":              c.RateLimiter(name, ratelimiter.WithMaxDebt(0)),
		"negative debt":        c.RateLimiter(name, ratelimiter.WithMaxDebt(-1)),
		"no prefetch":          c.RateLimiter(name, ratelimiter.WithPrefetch(0)),
		"negative prefetch":    c.RateLimiter(name, ratelimiter.WithPrefetch(math.MinInt64)),
		"a fallback at once":   c.RateLimiter(name, ratelimiter.WithFallback(0, ratelimiter.Open)),
		"a fallback before":    c.RateLimiter(name, ratelimiter.WithFallback(-1, ratelimiter.Open)),
		"no fallback":          c.RateLimiter(name, ratelimiter.WithFallback(time.Second, nil)),
		"a fallback's rate":    c.RateLimiter(name, ratelimiter.WithFallback(time.Second, ratelimiter.Local(bad))),
		"good ones around one": c.RateLimiter(name, ratelimiter.WithMaxDebt(1), ratelimiter.WithPrefetch(0), ratelimiter.WithLocalDenial()),
	} {
		t.Run(what, func(t *testing.T) {
			allAre(t, everything(t.Context(), l), ratelimiter.ErrInvalidArgument, name)
			assert.Equal(t, name, l.Name())
		})
	}
	allAre(t, everything(t.Context(), c.RateLimiter("")), ratelimiter.ErrInvalidArgument, "")
	for what, o := range map[string]ratelimiter.KeyOption{"nil": nil, "a rate": ratelimiter.WithRule(bad), "a huge rate": ratelimiter.WithRule(ratelimiter.PerHour(1 << 60))} {
		b := c.RateLimiter(name).For("a", o, ratelimiter.WithRule(ratelimiter.PerSecond(1)))
		for op, do := range ofBucket {
			assert.ErrorIs(t, do(t.Context(), b, 1), ratelimiter.ErrInvalidArgument, "%s %s", what, op)
		}
		assert.ErrorIs(t, b.Reset(t.Context()), ratelimiter.ErrInvalidArgument)
	}
	assert.Zero(t, p.Count(redistest.AnyScript()))
}

func TestNilAndEndedContexts(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	l := limited(t, c, ratelimiter.PerHour(10))
	r, err := l.Reserve(t.Context())
	require.NoError(t, err)
	p.ResetLog()
	allAre(t, everything(nil, l), ratelimiter.ErrInvalidArgument, l.Name()) //lint:ignore SA1012 it is what this tests
	require.ErrorIs(t, r.Cancel(nil), ratelimiter.ErrInvalidArgument)       //lint:ignore SA1012 it is what this tests
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	allAre(t, everything(ctx, l), context.Canceled, l.Name())
	allAre(t, everything(ctx, l), errEnough, l.Name())
	require.ErrorIs(t, r.Cancel(ctx), errEnough)
	assert.Zero(t, p.Count(redistest.AnyScript()))
}

func TestNumbersOfTokens(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		c, p := proxied(t)
		l := limited(t, c, r)
		gets(t, &l.Bucket, 1)
		p.ResetLog()
		for _, n := range []int64{0, -1, math.MinInt64} {
			for op, do := range ofBucket {
				assert.ErrorIs(t, do(t.Context(), &l.Bucket, n), ratelimiter.ErrInvalidArgument, "%s %d", op, n)
			}
		}
		for _, n := range []int64{11, 1 << 53, math.MaxInt64} {
			for _, op := range []string{"allow", "take", "wait", "reserve"} {
				err := ofBucket[op](t.Context(), l.For("a"), n)
				assert.ErrorIs(t, err, ratelimiter.ErrExceedsBurst, "%s %d", op, n)
				assert.ErrorContains(t, err, "for key #ca978112: "+op+": ")
				assert.ErrorContains(t, err, strconv.FormatInt(n, 10))
			}
		}
		for _, settle := range [][2]int64{{-1, 1}, {1, -1}, {math.MinInt64, math.MaxInt64}} {
			assert.ErrorIs(t, l.Settle(t.Context(), settle[0], settle[1]), ratelimiter.ErrInvalidArgument)
		}
		for _, name := range []string{"take", "decide", "cancel"} {
			assert.Zero(t, p.Count(luaOf(t, name)), name)
		}
		holds(t, &l.Bucket, 9)
	})
}

func TestRatesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	p.ResetLog()
	l := c.RateLimiter(redistest.Name(t))
	for name, r := range map[string]ratelimiter.Rate{
		"nothing":             {},
		"negative tokens":     ratelimiter.Every(-1, time.Second).WithBurst(1),
		"no time":             ratelimiter.Every(1, 0),
		"negative time":       ratelimiter.Every(1, -time.Second),
		"no burst":            ratelimiter.PerSecond(1).WithBurst(0),
		"negative burst":      ratelimiter.PerSecond(1).WithBurst(-1),
		"a type of its own":   {N: 1, Per: 1, Burst: 1, Type: 2},
		"too fast":            ratelimiter.Every(math.MaxInt64, 1),
		"too large a burst":   ratelimiter.PerSecond(1).WithBurst(math.MaxInt64),
		"everything at most":  {N: math.MaxInt64, Per: math.MaxInt64, Burst: math.MaxInt64},
		"2^53 and no less":    ratelimiter.PerSecond(1).WithBurst(1 << 53),
		"a prime and its day": ratelimiter.Every(999_983, 24*time.Hour).WithBurst(1 << 50),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := l.TrySetRate(t.Context(), r)
			assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
			assert.ErrorIs(t, l.SetRate(t.Context(), r), ratelimiter.ErrInvalidArgument)
		})
	}
	require.ErrorIs(t, l.SetRate(t.Context(), ratelimiter.PerSecond(1), nil), ratelimiter.ErrInvalidArgument)
	require.Zero(t, p.Count(redistest.AnyScript()))
	_, err := l.Rate(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
}

// The error names the largest burst, which fits, and works to the last token;
// one more does not.
func TestTheLargestBurst(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	largest := regexp.MustCompile(`largest burst that can be counted exactly is (\d+)`)
	for _, r := range []ratelimiter.Rate{
		ratelimiter.PerSecond(1), ratelimiter.PerSecond(999_983), ratelimiter.PerSecond(10_000_000), ratelimiter.Every(1, 30*24*time.Hour),
		ratelimiter.Every(999_983, 24*time.Hour), ratelimiter.Every(7, 13), ratelimiter.Every(1, 290*365*24*time.Hour), ratelimiter.Every(1<<40, time.Second),
	} {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			both(t, r, func(t *testing.T, r ratelimiter.Rate) {
				l := c.RateLimiter(redistest.Name(t))
				err := l.SetRate(t.Context(), r.WithBurst(math.MaxInt64))
				require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
				found := largest.FindStringSubmatch(err.Error())
				require.NotNil(t, found, err)
				most, err := strconv.ParseInt(found[1], 10, 64)
				require.NoError(t, err)
				require.ErrorIs(t, l.SetRate(t.Context(), r.WithBurst(most+1)), ratelimiter.ErrInvalidArgument)
				require.NoError(t, l.SetRate(t.Context(), r.WithBurst(most)))
				holds(t, &l.Bucket, most)
				gets(t, &l.Bucket, most)
				d, err := l.Peek(t.Context())
				require.NoError(t, err)
				elapsed := 20 * float64(r.N) / r.Per.Seconds() // as fast as the machine may be slow
				assert.LessOrEqual(t, float64(d.Remaining), elapsed)
				_, err = l.Charge(t.Context(), most)
				require.NoError(t, err)
				require.NoError(t, l.Refund(t.Context(), math.MaxInt64))
				holds(t, &l.Bucket, most)
			})
		})
	}
}

func TestWithoutARate(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	errs := map[string][]error{}
	for op, do := range ofBucket {
		errs[op] = []error{do(t.Context(), &l.Bucket, 1), do(t.Context(), l.For("a"), 1)}
	}
	for _, op := range []string{"peek", "block"} {
		errs[op] = []error{ofState[op](t.Context(), &l.Bucket)}
	}
	for _, op := range []string{"rate", "pause", "resume"} {
		errs[op] = []error{ofLimiter[op](t.Context(), l)}
	}
	allAre(t, errs, ratelimiter.ErrNoRate, l.Name())
	there, err := l.Delete(t.Context())
	require.NoError(t, err)
	require.False(t, there)
}

// What is no rule is neither used nor harmed.
func TestANameThatBelongsToSomethingElse(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw, c := s.Client(t), open(t, s.Addr())
	for name, foreign := range map[string][]string{
		"a hash":       {"HSET", "", "rate", "5"},
		"a list":       {"RPUSH", "", "x"},
		"a text":       {"SET", "", "hello"},
		"no text":      {"SET", "", ""},
		"a newer rule": {"SET", "", "tb2 1 1 1 1 1 0 0 x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := c.RateLimiter(redistest.Name(t))
			foreign[1] = l.Name()
			require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary(foreign...).Build()).Error())
			before, err := raw.Do(t.Context(), raw.B().Dump().Key(l.Name()).Build()).ToString()
			require.NoError(t, err)
			errs := everything(t.Context(), l)
			delete(errs, "reset")
			delete(errs, "settle")
			allAre(t, errs, ratelimiter.ErrOtherAlgorithm, l.Name())
			after, err := raw.Do(t.Context(), raw.B().Dump().Key(l.Name()).Build()).ToString()
			require.NoError(t, err)
			assert.Equal(t, before, after)
		})
	}
}

// A bucket's key may belong to something else, too.
func TestABucketThatBelongsToSomethingElse(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw, c := s.Client(t), open(t, s.Addr())
	for name, foreign := range map[string][]string{
		"a list": {"RPUSH", "", "x"}, "a hash": {"HSET", "", "x", "y"}, "a text": {"SET", "", "hello"},
		"a text of its length":       {"SET", "", strings.Repeat("ж", 14)},
		"a text of a block's length": {"SET", "", strings.Repeat("ж", 17) + "!"},
		"tokens below 0":             {"SET", "", bucket.Pack(1, 2, -3, 0)},
		"a part of a token below 0":  {"SET", "", bucket.Pack(1, 2, 3, -4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, c, ratelimiter.PerHour(10))
			foreign[1] = unkeyed(l)
			require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary(foreign...).Build()).Error())
			for op, do := range ofBucket {
				assert.ErrorIs(t, do(t.Context(), &l.Bucket, 1), ratelimiter.ErrOtherAlgorithm, op)
			}
			_, err := ratelimiter.All(l).Take(t.Context(), 1)
			assert.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
			for _, op := range []string{"peek", "block", "reset"} {
				assert.ErrorIs(t, ofState[op](t.Context(), &l.Bucket), ratelimiter.ErrOtherAlgorithm, op)
			}
			there, err := raw.Do(t.Context(), raw.B().Exists().Key(unkeyed(l)).Build()).AsInt64()
			require.NoError(t, err)
			assert.EqualValues(t, 1, there, "it was destroyed")
		})
	}
}

// A rule that was damaged, or that another version stored and that cannot be
// counted here, is an error until one is set.
func TestARuleThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw, c := s.Client(t), open(t, s.Addr())
	for rule, want := range map[string]string{
		"tb1 1 1":                                     ratelimiter.ErrOtherAlgorithm.Error(),
		"tb1 1 1 x 1000000000 1 0 0 n":                ratelimiter.ErrOtherAlgorithm.Error(),
		"tb1 1 1 1 1000000000 1 0 0 n more":           ratelimiter.ErrOtherAlgorithm.Error(),
		"tb1 1 1 1 1000000000 9007199254740993 0 0 n": "the stored rule",
		"tb1 1 1 1 1000000000 1 7 0 n":                "the stored rule",
	} {
		t.Run(rule, func(t *testing.T) {
			l := c.RateLimiter(redistest.Name(t))
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(l.Name()).Value(rule).Build()).Error())
			for op, do := range ofBucket {
				assert.ErrorContains(t, do(t.Context(), &l.Bucket, 1), want, op)
			}
			_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(1))
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestTheErrorsTellThemselvesApart(t *testing.T) {
	t.Parallel()
	all := map[string]error{
		"ErrNoRate": ratelimiter.ErrNoRate, "ErrOtherRate": ratelimiter.ErrOtherRate, "ErrOtherAlgorithm": ratelimiter.ErrOtherAlgorithm,
		"ErrExceedsBurst": ratelimiter.ErrExceedsBurst, "ErrExceedsDeadline": ratelimiter.ErrExceedsDeadline, "ErrExceedsDebt": ratelimiter.ErrExceedsDebt,
		"ErrCrossSlot": ratelimiter.ErrCrossSlot, "ErrInvalidArgument": ratelimiter.ErrInvalidArgument, "ErrOutcomeUnknown": ratelimiter.ErrOutcomeUnknown, "ErrClosed": ratelimiter.ErrClosed,
	}
	for name, err := range all {
		for other, target := range all {
			same := name == other || (name == "ErrCrossSlot" && other == "ErrInvalidArgument")
			assert.Equal(t, same, errors.Is(err, target), "%s is %s", name, other)
		}
	}
	assert.ErrorIs(t, ratelimiter.ErrExceedsDeadline, context.DeadlineExceeded)
}
