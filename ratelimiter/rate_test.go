package ratelimiter

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{
		"5/s":                     PerSecond(5),
		"1/3s":                    Every(1, 3*time.Second),
		"100/m":                   PerMinute(100),
		"1000/d":                  Every(1000, 24*time.Hour),
		"7/h":                     PerHour(7),
		"10/1h30m":                Every(10, 90*time.Minute),
		"10/1.5s":                 Every(10, 1500*time.Millisecond),
		"3/30d":                   Every(3, 30*24*time.Hour),
		"2/ms":                    Every(2, time.Millisecond),
		"2/5ms":                   Every(2, 5*time.Millisecond),
		"2/us":                    Every(2, time.Microsecond),
		"2/17ns":                  Every(2, 17),
		"2/ns":                    Every(2, 1),
		" 5 / s ":                 PerSecond(5),
		"9223372036854775807/s":   PerSecond(math.MaxInt64),
		"1/9223372036854775807ns": Every(1, math.MaxInt64),
		"1/106751d":               Every(1, 106751*24*time.Hour),
	} {
		got, err := ParseRate(text)
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, got, "%q", text)
	}
}

func TestParseRateRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "/", "5", "5/", "/s", "s/5", "five/s", "5/5", "5/x", "5/s/s", "5.5/s", "-5/s", "0/0s", "unlimited/s", "5/0s", "5/-3s", "5/0d",
		"5/106752d", "5/9223372036854775808ns", "9223372036854775808/s", "1e3/s", "5 s", "5//s", "5/s burst 3", "5/1x", "∞/s",
		"5/d h", "5/3 s", "NaN/s", "5/nans", "5/infs",
	} {
		got, err := ParseRate(text)
		assert.ErrorIs(t, err, ErrInvalidArgument, "%q is %v", text, got)
	}
}

func TestRatesAsText(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rate{
		"5/s burst 5":                     PerSecond(5),
		"5/s burst 10":                    PerSecond(5).WithBurst(10),
		"1/3s burst 1 per client":         Every(1, 3*time.Second).PerClient(),
		"60/m burst 60":                   PerMinute(60),
		"1/90m burst 1":                   Every(1, 90*time.Minute),
		"1/1500ms burst 1":                Every(1, 1500*time.Millisecond),
		"3/30d burst 3":                   Every(3, 30*24*time.Hour),
		"7/1000000007ns burst 7":          Every(7, 1_000_000_007),
		"1/us burst 1":                    Every(1, time.Microsecond),
		"0/0s burst 0":                    {},
		"0/s burst 0":                     PerSecond(0),
		"unlimited":                       Unlimited,
		"unlimited per client":            Unlimited.PerClient(),
		"1/-1s burst 1":                   Every(1, -time.Second),
		"1/s burst 1 RateType(7)":         {N: 1, Per: time.Second, Burst: 1, Type: 7},
		"1/9223372036854775807ns burst 1": Every(1, math.MaxInt64),
	} {
		assert.Equal(t, want, r.String())
	}
}

func TestRatesThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, r := range []Rate{
		{}, PerSecond(-1), PerSecond(0).WithBurst(-1), {N: Unlimited.N, Burst: 1}, {Burst: Unlimited.Burst}, Every(1, 0), Every(1, -1), PerSecond(5).WithBurst(0), PerSecond(5).WithBurst(-1),
		PerSecond(5).WithBurst(math.MinInt64), {N: 1, Per: 1, Burst: 1, Type: 2}, {N: 1, Per: 1, Burst: 1, Type: -1},
		Every(math.MinInt64, math.MinInt64),
	} {
		_, err := resolve(r)
		assert.ErrorIs(t, err, ErrInvalidArgument, "%+v", r)
		_, err = travelling(r)
		assert.ErrorIs(t, err, ErrInvalidArgument, "%+v", r)
	}
}

// What ParseRate takes, String writes so that it is taken again, as the same
// rate.
func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"5/s", "1/3s", "10/1h30m", "1/-3s", "2/5ms", "1/106752d", "+5/+3s", "1/1.5ns", "5/ms", "0/s", "1/1e3s", "unlimited"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRate(text)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalidArgument)
			return
		}
		require.Equal(t, r.N, r.Burst)
		written := r.String()
		short, _, _ := strings.Cut(written, " burst ")
		again, err := ParseRate(short)
		require.NoError(t, err, "%q", short)
		require.Equal(t, r, again)
	})
}
