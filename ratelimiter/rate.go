package ratelimiter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// RateType says whose requests share a bucket. The words are Redisson's.
type RateType int

const (
	// Overall is one bucket for all processes, kept by the server.
	Overall RateType = iota
	// PerClient is a bucket for each client (a [rueidisson.Client], normally
	// one for a process), kept in its memory: no request leaves the process,
	// and a client that restarts starts full. It remembers 65,536 buckets that are
	// not full, of all its limiters; beyond that, those that are the fullest start
	// full. Only the rate is asked for, as of any limiter.
	PerClient
)

func (t RateType) String() string {
	switch t {
	case Overall:
		return "overall"
	case PerClient:
		return "per client"
	}
	return fmt.Sprintf("RateType(%d)", int(t))
}

// Rate is a limiter's rule: N tokens every Per, and at most Burst at once. It
// is exact: no float, and no rounding of one token's share of Per. In any
// window of length T at most Burst + N*T/Per tokens are granted.
//
// A rate of 0 tokens every Per grants nothing, whatever its burst, and
// [Unlimited] grants all: both without asking the server, once they are known.
type Rate struct {
	N     int64
	Per   time.Duration
	Burst int64
	Type  RateType
}

// Unlimited is the rate that grants all, such as a plan without a limit. Nobody
// is asked, so nothing is counted, and neither a charge nor a block counts. It
// stands in a stored rule or travels with the call, see [WithRule].
var Unlimited = Rate{N: math.MaxInt64, Burst: math.MaxInt64}

// unlimited reports whether the rate is Unlimited, of either type.
func (r Rate) unlimited() bool { return r.N == Unlimited.N && r.Per == 0 && r.Burst == Unlimited.Burst }

// none reports whether the rate grants nothing.
func (r Rate) none() bool { return r.N == 0 }

// settled reports whether the rate decides by itself.
func (r Rate) settled() bool { return r.none() || r.unlimited() }

// exceeds reports whether n tokens are more than can ever be there.
func (r Rate) exceeds(n int64) bool { return n > r.Burst || r.none() }

// PerSecond is n tokens a second, with a burst of n.
func PerSecond(n int64) Rate { return Every(n, time.Second) }

// PerMinute is n tokens a minute, with a burst of n.
func PerMinute(n int64) Rate { return Every(n, time.Minute) }

// PerHour is n tokens an hour, with a burst of n.
func PerHour(n int64) Rate { return Every(n, time.Hour) }

// Every is n tokens every d, with a burst of n.
func Every(n int64, d time.Duration) Rate { return Rate{N: n, Per: d, Burst: n} }

// WithBurst is the same rate with another burst.
func (r Rate) WithBurst(burst int64) Rate {
	r.Burst = burst
	return r
}

// PerClient is the same rate for each client; see [PerClient].
func (r Rate) PerClient() Rate {
	r.Type = PerClient
	return r
}

// units are the words for a Per of exactly one, longest first.
var units = []struct {
	word string
	d    time.Duration
}{
	{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
	{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
}

// String writes the rate as [ParseRate] reads it, and burst and type behind it:
// "5/s burst 10", "1/3s burst 1 per client", "unlimited".
func (r Rate) String() string {
	text := fmt.Sprintf("%d/%s burst %d", r.N, perText(r.Per), r.Burst)
	if r.unlimited() {
		text = unlimitedText
	}
	if r.Type != Overall {
		text += " " + r.Type.String()
	}
	return text
}

func perText(per time.Duration) string {
	for _, u := range units {
		switch {
		case per == u.d:
			return u.word
		case per > 0 && per%u.d == 0:
			return strconv.FormatInt(int64(per/u.d), 10) + u.word
		}
	}
	return per.String()
}

const unlimitedText = "unlimited"

// ParseRate reads "5/s", "1/3s", "100/m", "1000/d" or "10/1h30m": a number of
// tokens, and the time in which they come. The burst is that number of tokens;
// see [Rate.WithBurst]. "0/s" grants nothing, and "unlimited" is [Unlimited].
// Errors: [ErrOption].
func ParseRate(text string) (Rate, error) {
	if text == unlimitedText {
		return Unlimited, nil
	}
	tokens, per, ok := strings.Cut(text, "/")
	n, err := strconv.ParseInt(strings.TrimSpace(tokens), 10, 64)
	d, perErr := parsePer(strings.TrimSpace(per))
	if !ok || err != nil || perErr != nil {
		return Rate{}, fmt.Errorf(`%w: rate %q is not of the form "5/s", "100/m" or "1/3s"`, ErrOption, text)
	}
	r := Every(n, d)
	if err := r.check(); err != nil {
		return Rate{}, err
	}
	return r, nil
}

func parsePer(text string) (time.Duration, error) {
	for _, u := range units {
		count, ok := strings.CutSuffix(text, u.word)
		if !ok {
			continue
		}
		if count == "" {
			return u.d, nil
		}
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && n > 0 && n <= int64(longestPer/u.d) {
			return time.Duration(n) * u.d, nil
		}
	}
	return time.ParseDuration(text)
}

const longestPer = time.Duration(1<<63 - 1)

// check is what can be said of a rate before its arithmetic is known.
func (r Rate) check() error {
	switch {
	case r.N < 0:
		return fmt.Errorf("%w: a rate of %d tokens every %v: at least 0", ErrOption, r.N, r.Per)
	case r.Per <= 0 && !r.unlimited():
		return fmt.Errorf("%w: %d tokens every %v: the time must be positive", ErrOption, r.N, r.Per)
	case r.Burst < 0 || r.Burst == 0 && !r.none():
		return fmt.Errorf("%w: a burst of %d: at least 1", ErrOption, r.Burst)
	case r.Type != Overall && r.Type != PerClient:
		return fmt.Errorf("%w: %v is none of Overall, PerClient", ErrOption, r.Type)
	}
	return nil
}
