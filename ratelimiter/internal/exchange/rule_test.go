package exchange

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
)

// gluttons are rates at the edges of what an int64 holds, and ordinary ones.
func gluttons() (rates []Rate) {
	edges := []int64{1, 2, 3, 7, 1000, 999_983, 1_000_000_007, bucket.Exact/2 - 1, bucket.Exact - 1, bucket.Exact, bucket.Exact + 1, math.MaxInt64 / 1000, math.MaxInt64/1000 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, n := range edges {
		for _, per := range edges {
			for _, burst := range edges {
				rates = append(rates, Rate{N: n, Per: time.Duration(per), Burst: burst})
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	some := func() int64 { return 1 + rng.Int64N(math.MaxInt64)>>rng.IntN(63) }
	for range 3000 {
		rates = append(rates, Rate{N: some(), Per: time.Duration(some()), Burst: some()})
	}
	return rates
}

// A rule is counted in the finest unit in which all of it fits below 2^53, and
// an error names the largest burst that would.
func TestResolve(t *testing.T) {
	t.Parallel()
	fits, not := 0, 0
	for _, rate := range gluttons() {
		r, err := resolve(rate)
		if err == nil {
			fits++
			pair{r, newModelRule(rate, 0, 0)}.sound(t)
			continue
		}
		not++
		require.Error(t, err)
		require.Nil(t, newModelRule(rate, 0, 0), "%v: %v", rate, err)
		largestOf(t, rate, err)
	}
	require.Greater(t, fits, 1000)
	require.Greater(t, not, 1000)
}

var largestBurst = regexp.MustCompile(`the largest burst that can be counted exactly is (\d+)$`)

// largestOf checks the burst that an error names.
func largestOf(t *testing.T, rate Rate, err error) {
	t.Helper()
	named := largestBurst.FindStringSubmatch(err.Error())
	if named == nil {
		require.Contains(t, err.Error(), "cannot be counted exactly")
		_, err = resolve(rate.WithBurst(1))
		require.Error(t, err, "%v: a burst of 1 fits", rate)
		return
	}
	largest, err := strconv.ParseInt(named[1], 10, 64)
	require.NoError(t, err)
	require.Less(t, largest, rate.Burst)
	_, err = resolve(rate.WithBurst(largest))
	require.NoError(t, err, "%v", rate)
	_, err = resolve(rate.WithBurst(largest + 1))
	require.Error(t, err, "%v: one more than %d fits", rate, largest)
}

func TestResolveChoosesTheUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate                 Rate
		unit, gain, perToken int64
	}{
		{PerSecond(1), 1, 1, 1_000_000},
		{PerSecond(1_000_000), 1, 1, 1},
		{PerSecond(10_000_000), 1, 10, 1},
		{PerSecond(600_000), 1, 3, 5},
		{PerSecond(999_983), 1, 999_983, 1_000_000},
		{Every(7, 1_000_000_007), 1, 7000, 1_000_000_007},
		{Every(1, 3*time.Second), 1, 1, 3_000_000},
		{Every(86_400, 24*time.Hour).WithBurst(1), 1, 1, 1_000_000},
		{Every(3, 30*24*time.Hour).WithBurst(5000), 1, 1, 864_000_000_000},
		{Every(3, 30*24*time.Hour).WithBurst(5300), 1000, 1, 864_000_000},
		{Every(3, 30*24*time.Hour).WithBurst(1_000_000_000), 1_000_000, 1, 864_000},
		{PerSecond(1).WithBurst(bucket.Exact/2 - 2), 1_000_000, 1, 1},
	} {
		r, err := resolve(c.rate)
		require.NoError(t, err, "%v", c.rate)
		assert.Equal(t, []int64{c.unit, c.gain, c.perToken}, []int64{r.Unit, r.Gain, r.PerToken}, "%v", c.rate)
		assert.Equal(t, c.rate.Burst*c.perToken, r.Full)
	}
}

// No duration of an extreme rule is negative, too short or beyond what there is.
func TestAfter(t *testing.T) {
	t.Parallel()
	for _, rate := range gluttons() {
		r, err := resolve(rate)
		if err != nil {
			continue
		}
		m := newModelRule(rate, 0, 0)
		require.Zero(t, r.After(0)+r.After(-1))
		for _, ticks := range []int64{1, r.Gain, r.Gain + 1, r.PerToken, r.Full, r.Full + r.PerToken*r.Debt, bucket.Exact - 1, bucket.Exact} {
			want := m.instant(0, new(big.Rat).SetFrac64(ticks, r.PerToken))
			want.Mul(want, big.NewInt(1000))
			if !want.IsInt64() {
				want.SetInt64(math.MaxInt64)
			}
			require.Equal(t, want.Int64(), int64(r.After(ticks)), "%v: %d ticks", rate, ticks)
		}
	}
}

// Decisions of extreme rules neither overflow nor are negative.
func TestDecisionsOfExtremeRules(t *testing.T) {
	t.Parallel()
	for _, rate := range gluttons() {
		r, err := resolve(rate)
		if err != nil {
			continue
		}
		deepest := r.Full + r.Debt*r.PerToken
		for _, q := range []int64{0, 1, r.PerToken, r.Full, deepest} {
			for _, late := range []int64{0, 1, -r.Unit + 1, 1_000_000, 1 << 60 / 1000} {
				for _, n := range []int64{1, r.Burst, r.Burst + 1, math.MaxInt64} {
					a := Answer{State: bucket.State{Rule: r, Missing: q, Late: late, Block: max(0, late-1_000_000)}}
					d := a.decision(n)
					sane(t, d, a)
					a.OK = true
					sane(t, a.decision(n), a)
					if a.Delay() < 0 {
						require.Failf(t, "a delay below 0", "%v of %+v", a.Delay(), a)
					}
				}
			}
		}
	}
}

func sane(t *testing.T, d Decision, a Answer) {
	t.Helper()
	if d.Remaining < 0 || d.Remaining > d.Limit || d.RetryAfter < 0 || d.ResetAfter < 0 || d.Allowed == (d.RetryAfter > 0) {
		require.Failf(t, "a decision that cannot be", "%+v of %+v", d, a)
	}
}

func TestTicksSaturate(t *testing.T) {
	t.Parallel()
	r, err := resolve(Every(7, 1_000_000_007))
	require.NoError(t, err)
	assert.EqualValues(t, 5*1_000_000_007, r.Ticks(5))
	assert.EqualValues(t, bucket.Exact, r.Ticks(bucket.Exact))
	assert.EqualValues(t, bucket.Exact, r.Ticks(math.MaxInt64))
	assert.LessOrEqual(t, r.Ticks(bucket.Exact/r.PerToken), int64(bucket.Exact))
}

func TestStoredRules(t *testing.T) {
	t.Parallel()
	for _, rate := range modelRates {
		for _, paused := range []int{0, 1} {
			rate.Type = bucket.Type(paused)
			r, err := resolve(rate)
			require.NoError(t, err)
			text := fmt.Sprintf("tb1 1700000000000001 1600000000000001 %s %d nonce", r.Parameters(), paused)
			got, err := parseRule(text)
			require.NoError(t, err, "%q", text)
			want := *r.Identify(1_700_000_000_000_001, 1_600_000_000_000_001)
			want.Stored, want.Paused = text, paused == 1
			assert.Equal(t, &want, got)
			assert.Equal(t, "1700000000000001", got.Texts.Generation)
		}
	}
}

func TestWhatIsNoRule(t *testing.T) {
	t.Parallel()
	const good = "tb1 1700000000000001 1700000000000001 5 1000000000 5 0 0 nonce"
	_, err := parseRule(good)
	require.NoError(t, err)
	for _, text := range []string{
		"", " ", "tb1", "tb2" + good[3:], good + " more", strings.TrimSuffix(good, " nonce"), strings.Replace(good, "5", "x", 1),
		strings.Replace(good, " 5 ", " 9223372036854775808 ", 1), "1700000000000001 0 5 0", "5.5", good[:20],
	} {
		_, err := parseRule(text)
		assert.ErrorIs(t, err, ErrOtherAlgorithm, "%q", text)
	}
	for _, text := range []string{
		strings.Replace(good, " 5 ", " -1 ", 1), strings.Replace(good, " 1000000000 ", " -1 ", 1), strings.Replace(good, " 0 0 ", " 9 0 ", 1),
		strings.Replace(good, " 5 0 ", " 9007199254740993 0 ", 1),
	} {
		_, err := parseRule(text)
		assert.ErrorIs(t, err, core.ErrInvalidArgument, "%q", text)
		assert.Contains(t, err.Error(), text)
	}
}

// Rules that travel are known by their rate: equal ones are one, others never
// convert each other's states unseen.
func TestTravellingRulesAreKnownByTheirRate(t *testing.T) {
	t.Parallel()
	seen := map[int64]Rate{}
	for _, rate := range gluttons() {
		r, err := travelling(rate)
		if err != nil {
			continue
		}
		require.Negative(t, r.Generation)
		require.Greater(t, r.Generation, int64(-bucket.Exact))
		again, err := travelling(rate)
		require.NoError(t, err)
		require.Equal(t, r, again)
		if other, there := seen[r.Generation]; there {
			require.Equal(t, other, rate)
		}
		seen[r.Generation] = rate
	}
	require.Greater(t, len(seen), 1000)
}

func FuzzParseRule(f *testing.F) {
	f.Add("tb1 1700000000000001 1700000000000001 5 1000000000 5 0 0 nonce")
	f.Add("tb1 1 1 9223372036854775807 9223372036854775807 9223372036854775807 1 1 x")
	f.Add("tb1 -1 -9223372036854775808 1 1 1 0 0 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRule(text)
		if err != nil {
			require.True(t, errors.Is(err, ErrOtherAlgorithm) || errors.Is(err, core.ErrInvalidArgument), "%v", err)
			return
		}
		require.Equal(t, text, r.Stored)
		pair{r, newModelRule(r.Rate, r.Generation, r.Reset)}.sound(t)
	})
}
