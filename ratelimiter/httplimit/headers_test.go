package httplimit

import (
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

func allowed(name string, r ratelimiter.Rate, left int64, full time.Duration) Limit {
	return Limit{Name: name, Decision: ratelimiter.Decision{
		Allowed: true, Limit: r.Burst, Remaining: left, ResetAfter: full, Rate: r,
	}}
}

func refused(name string, r ratelimiter.Rate, left int64, retry, full time.Duration) Limit {
	l := allowed(name, r, left, full)
	l.Allowed, l.RetryAfter = false, retry
	return l
}

// The numbers were worked out by hand.
func TestDraft11(t *testing.T) {
	t.Parallel()
	perDay, day := ratelimiter.Every(1, 24*time.Hour), 24*time.Hour
	for _, c := range []struct {
		name          string
		limit         Limit
		cost          int64
		policy, field string
		retry         int64
	}{
		{"the example of the draft", allowed("api", ratelimiter.PerSecond(5).WithBurst(10), 3, 1400*time.Millisecond), 1, `"api";q=10;w=2`, `"api";r=3;t=1`, 0},
		{"a full bucket spreads over its window", allowed("api", ratelimiter.PerSecond(5).WithBurst(10), 10, 0), 1, `"api";q=10;w=2`, `"api";r=10;t=2`, 0},
		{"one a day, just used", allowed("slow", perDay, 0, day), 1, `"slow";q=1;w=86400`, `"slow";r=0;t=86400`, 0},
		{"one a day, refused an hour later", refused("slow", perDay, 0, 23*time.Hour, 23*time.Hour), 1, `"slow";q=1;w=86400`, `"slow";r=0;t=82800`, 82800},
		{"a window is whole seconds, and what comes in it is more than the burst", allowed("x", ratelimiter.Every(3, 7*time.Second).WithBurst(5), 4, 2*time.Second), 1, `"x";q=5;w=12`, `"x";r=4;t=10`, 0},
		{"a fast rate has a window of a second", allowed("fast", ratelimiter.PerSecond(1_000_000).WithBurst(10), 9, time.Microsecond), 1, `"fast";q=1000000;w=1`, `"fast";r=9;t=1`, 0},
		{"a fast rate, refused: a second is the least", refused("fast", ratelimiter.PerSecond(1_000_000).WithBurst(10), 0, time.Microsecond, 10*time.Microsecond), 1, `"fast";q=1000000;w=1`, `"fast";r=0;t=1`, 1},
		{"a burst far above the rate", allowed("b", ratelimiter.PerSecond(1).WithBurst(1000), 999, time.Second), 1, `"b";q=1000;w=1000`, `"b";r=999;t=999`, 0},
		{"nothing left: the next token, not the full bucket", allowed("b", ratelimiter.PerSecond(1).WithBurst(1000), 0, 999*time.Second+500*time.Millisecond), 1, `"b";q=1000;w=1000`, `"b";r=0;t=1`, 0},
		{"too little left for the request", refused("n", ratelimiter.PerMinute(6), 2, 25*time.Second, 35*time.Second), 4, `"n";q=6;w=60`, `"n";r=2;t=25`, 25},
		{"nothing left, several wanted: t is the next token, Retry-After all of them", refused("n", ratelimiter.PerMinute(6), 0, 35*time.Second, 55*time.Second), 4, `"n";q=6;w=60`, `"n";r=0;t=5`, 35},
		{"debt", refused("n", ratelimiter.PerMinute(6), 0, 40*time.Second, 90*time.Second), 1, `"n";q=6;w=60`, `"n";r=0;t=40`, 40},
		{"a pause, of which nobody knows the end", refused("p", ratelimiter.PerHour(100), 0, time.Second, time.Second), 2, `"p";q=100;w=3600`, `"p";r=0;t=1`, 1},
		{"a block of a bucket that is full", refused("p", ratelimiter.PerHour(100), 0, 90*time.Second, 90*time.Second), 1, `"p";q=100;w=3600`, `"p";r=0;t=90`, 90},
		{"what a field cannot carry", allowed("huge", ratelimiter.Every(1, time.Duration(1<<62)).WithBurst(1<<50), 1<<50, 0), 1, `"huge";q=216840;w=999999999999999`, `"huge";r=999999999999999;t=999999999999999`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			setDraft11(h, []Limit{c.limit}, c.cost)
			assert.Equal(t, c.policy, h.Get("RateLimit-Policy"))
			assert.Equal(t, c.field, h.Get("RateLimit"))
			if !c.limit.Allowed {
				assert.Equal(t, c.retry, retryAfter(Report{Outcome: Refused, Cost: c.cost, Limits: []Limit{c.limit}}))
			}
		})
	}
}

func TestSeveralLimitsStandInOneField(t *testing.T) {
	t.Parallel()
	second := refused("second", ratelimiter.PerSecond(5), 0, 150*time.Millisecond, 950*time.Millisecond)
	day := allowed("day", ratelimiter.Every(1000, 24*time.Hour), 900, 8640*time.Second)
	h := http.Header{}
	setDraft11(h, []Limit{second, day}, 1)
	assert.Equal(t, []string{`"second";q=5;w=1, "day";q=1000;w=86400`}, h["Ratelimit-Policy"])
	assert.Equal(t, []string{`"second";r=0;t=1, "day";r=900;t=77760`}, h["Ratelimit"])
	assert.EqualValues(t, 1, retryAfter(Report{Cost: 1, Limits: []Limit{second, day}}), "the t of a limit that granted does not count")
}

func TestLegacyTellsTheTightest(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	setLegacy(h, []Limit{
		allowed("second", ratelimiter.PerSecond(10), 4, 600*time.Millisecond),
		allowed("day", ratelimiter.Every(1000, 24*time.Hour), 300, time.Hour),
	})
	assert.Equal(t, http.Header{
		"X-Ratelimit-Limit": {"1000"}, "X-Ratelimit-Remaining": {"300"}, "X-Ratelimit-Reset": {"3600"},
	}, h)
}

func TestALimitFurtherOutIsNotOverwritten(t *testing.T) {
	t.Parallel()
	second := allowed("second", ratelimiter.PerSecond(10), 4, 600*time.Millisecond)
	day := allowed("day", ratelimiter.Every(1000, 24*time.Hour), 900, 8640*time.Second)
	h := http.Header{}
	setDraft11(h, []Limit{second}, 1)
	setDraft11(h, []Limit{day}, 1)
	assert.Equal(t, http.Header{
		"Ratelimit-Policy": {`"second";q=10;w=1, "day";q=1000;w=86400`},
		"Ratelimit":        {`"second";r=4;t=1, "day";r=900;t=77760`},
	}, h)

	for _, c := range []struct {
		name         string
		outer, inner Limit
		limit        string
	}{
		{"the outer is tighter", second, day, "10"},
		{"the inner is tighter", day, second, "10"},
		{"the inner is in debt", second, refused("debt", ratelimiter.PerHour(5), -3, time.Hour, time.Hour), "5"},
		{"alike", allowed("a", ratelimiter.PerHour(2), 1, 0), allowed("b", ratelimiter.PerHour(20), 10, 0), "2"},
	} {
		h := http.Header{}
		setLegacy(h, []Limit{c.outer})
		setLegacy(h, []Limit{c.inner})
		assert.Equal(t, []string{c.limit}, h["X-Ratelimit-Limit"], c.name)
	}
	for _, told := range []string{"", "many", "-1"} { // by something else
		h := http.Header{"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {told}}
		setLegacy(h, []Limit{day})
		assert.Equal(t, "900", h.Get("X-RateLimit-Remaining"), told)
	}
}

func TestNamesAreStringsOfStructuredFields(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `"a \"b\" \\c"`, quoted(printable(`a "b" \c`)))
	assert.Equal(t, `"%C3%A9%0D%0AX: y%7F"`, quoted(printable("é\r\nX: y\x7f")))
}

func TestHeadersAreExposedToScriptsOfOtherSites(t *testing.T) {
	t.Parallel()
	one := Report{Cost: 1, Limits: []Limit{allowed("api", ratelimiter.PerSecond(5), 3, time.Second)}}
	for format, want := range map[HeaderFormat]string{
		Draft11: "Retry-After, RateLimit-Policy, RateLimit",
		Legacy:  "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset",
		None:    "Retry-After",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		h := http.Header{}
		format.set(h, r, one)
		assert.Empty(t, h.Get("Access-Control-Expose-Headers"))
		r.Header.Set("Origin", "https://example.org")
		h = http.Header{"Access-Control-Expose-Headers": {"X-Own"}}
		format.set(h, r, one)
		format.set(h, r, one)
		assert.Equal(t, []string{"X-Own", want}, h["Access-Control-Expose-Headers"], "once, also for two: %v", format)
	}
}

func TestADecisionWithoutNumbersHasNoHeaders(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	open := Limit{Name: "api", Decision: ratelimiter.Decision{Allowed: true, Fallback: true}}
	Draft11.set(h, httptest.NewRequest(http.MethodGet, "/", nil), Report{Limits: []Limit{open}})
	assert.Empty(t, h)
}

var memberOf = regexp.MustCompile(`^"((?:[ !#-\[\]-~]|\\["\\])*)";q=(\d{1,15});w=(\d{1,15})$`)

// The fields always can be read, and w and q are what their definitions say in
// numbers without a limit.
func FuzzDraft11(f *testing.F) {
	f.Add("api", int64(5), int64(time.Second), int64(10), int64(3), int64(time.Second), int64(0), true, int64(1))
	f.Add("é\"\\\r\n", int64(1), int64(24*time.Hour), int64(1)<<52, int64(0), int64(-1), int64(1)<<62, false, int64(7))
	f.Add("", int64(1)<<62, int64(1)<<62, int64(1)<<62, int64(1)<<62, int64(1)<<62, int64(1), false, int64(1))
	f.Fuzz(func(t *testing.T, name string, n, per, burst, left, reset, retry int64, ok bool, cost int64) {
		l := Limit{Name: printable(name), Decision: ratelimiter.Decision{
			Allowed: ok, Limit: burst, Remaining: left, ResetAfter: time.Duration(reset), RetryAfter: time.Duration(retry),
			Rate: ratelimiter.Rate{N: n, Per: time.Duration(per), Burst: burst},
		}}
		h := http.Header{}
		Draft11.set(h, httptest.NewRequest(http.MethodGet, "/", nil), Report{Cost: cost, Limits: []Limit{l}})
		if n <= 0 || per <= 0 || burst <= 0 || (!ok && retry == 0) {
			require.Empty(t, h)
			return
		}
		require.Regexp(t, `^"(?:[ !#-\[\]-~]|\\["\\])*";r=\d{1,15};t=\d{1,15}$`, h.Get("RateLimit"))
		got := memberOf.FindStringSubmatch(h.Get("RateLimit-Policy"))
		require.NotNil(t, got, h)
		w := exactWindow(n, per, burst)
		require.Equal(t, w.String(), got[3])
		q := new(big.Int).Mul(new(big.Int).Mul(big.NewInt(n), w), big.NewInt(int64(time.Second)))
		q.Quo(q, big.NewInt(per))
		require.Equal(t, clamp(q).String(), got[2])
		if w.Int64() < largest && burst <= largest {
			require.GreaterOrEqual(t, must(strconv.ParseInt(got[2], 10, 64)), burst)
		}
	})
}

func exactWindow(n, per, burst int64) *big.Int {
	w := new(big.Int).Mul(big.NewInt(burst), big.NewInt(per))
	d := new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(time.Second)))
	rest := new(big.Int)
	w.QuoRem(w, d, rest)
	if rest.Sign() > 0 {
		w.Add(w, big.NewInt(1))
	}
	if w.Sign() == 0 {
		w.SetInt64(1)
	}
	return clamp(w)
}

func clamp(x *big.Int) *big.Int {
	if most := big.NewInt(largest); x.Cmp(most) > 0 {
		return most
	}
	return x
}

func must(n int64, err error) int64 {
	if err != nil {
		panic(err)
	}
	return n
}
