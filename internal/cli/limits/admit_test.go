package limits

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestAdmitsLine(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]ratelimiter.Rate{
		"at most 10 + 5 per second: 15 in any second, 310 in any minute, 18,010 in any hour, 432,010 in any day":                       ratelimiter.PerSecond(5).WithBurst(10),
		"at most 1 + 2 per minute: 1 in any second, 3 in any minute, 121 in any hour, 2,881 in any day":                                ratelimiter.PerMinute(2).WithBurst(1),
		"at most 1,000 + 1,000 per day: 1,000 in any second, 1,000 in any minute, 1,041 in any hour, 2,000 in any day":                 ratelimiter.Every(1000, 24*time.Hour),
		"at most 3 + 3 per 10ms: 6 in any 10ms, 303 in any second, 18,003 in any minute, 1,080,003 in any hour, 25,920,003 in any day": ratelimiter.Every(3, 10*time.Millisecond),
		"at most 7 + 7 per 90m of each process: 7 in any second, 7 in any minute, 11 in any hour, 14 in any 90m, 119 in any day":       ratelimiter.Every(7, 90*time.Minute).PerClient(),
		"at most 5 + 5 per 7d: 5 in any second, 5 in any minute, 5 in any hour, 5 in any day, 10 in any 7d":                            ratelimiter.Every(5, 7*24*time.Hour),
	} {
		assert.Equal(t, want, admitsLine(setting{Rate: r}))
	}
}

// The numbers are those of exact fractions, rounded down, where products of
// int64 would overflow, too.
func TestAdmitsIsExact(t *testing.T) {
	t.Parallel()
	for _, r := range []ratelimiter.Rate{
		ratelimiter.Every(1, 3*time.Second), ratelimiter.Every(999_983, time.Second), ratelimiter.PerSecond(10_000_000),
		ratelimiter.Every(1<<43, time.Nanosecond), ratelimiter.Every(1<<53-1, 30*24*time.Hour), ratelimiter.Every(13, 7*time.Minute+1),
	} {
		for _, a := range admits(setting{Rate: r}) {
			exact := new(big.Rat).SetFrac(big.NewInt(r.N), big.NewInt(int64(r.Per)))
			exact.Mul(exact, new(big.Rat).SetInt64(a.WindowNS)).Add(exact, new(big.Rat).SetInt64(r.Burst))
			over := new(big.Rat).Sub(exact, new(big.Rat).SetInt(a.AtMost))
			assert.True(t, over.Sign() >= 0 && over.Cmp(big.NewRat(1, 1)) < 0, "%v in any %s: %v, not %v", r, a.Window, a.AtMost, exact)
		}
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for digits, want := range map[string]string{
		"0": "0", "12": "12", "123": "123", "1234": "1,234", "123456": "123,456", "1234567": "1,234,567",
	} {
		assert.Equal(t, want, grouped(digits))
	}
}

func TestTheBarIsEmptyAndFullOnlyWhereTheBucketIs(t *testing.T) {
	t.Parallel()
	const most = 1<<53 - 1
	for _, c := range []struct {
		n, of  int64
		filled int
	}{
		{0, 10, 0}, {1, 10, 3}, {10, 10, barWidth}, {5, 10, barWidth / 2}, {1, 1_000_000, 1}, {999_999, 1_000_000, barWidth - 1},
		{0, 1, 0}, {1, 1, barWidth}, {most - 1, most, barWidth - 1}, {most, most, barWidth}, {12, 10, barWidth},
		{0, 0, 0},
	} {
		assert.Equal(t, c.filled, strings.Count(bar(c.n, c.of), "█"), "%d of %d", c.n, c.of)
		assert.Len(t, []rune(bar(c.n, c.of)), barWidth)
	}
}

func TestTimesAreRoundedUp(t *testing.T) {
	t.Parallel()
	const forever = time.Duration(1<<63 - 1)
	for d, want := range map[time.Duration]struct {
		ms   int64
		text string
	}{
		0: {0, "0s"}, 1: {1, "1ms"}, time.Millisecond: {1, "1ms"}, time.Millisecond + 1: {2, "2ms"},
		1500 * time.Microsecond: {2, "2ms"}, 90 * time.Second: {90_000, "1m30s"}, forever: {9223372036855, forever.String()},
	} {
		assert.Equal(t, want.ms, millis(d), d)
		assert.Equal(t, want.text, toTheMilli(d), d)
	}
}
