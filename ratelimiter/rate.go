package ratelimiter

import (
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
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

// String returns "overall" or "per client".
func (t RateType) String() string { return bucket.Type(t).String() }

// Rate is a limiter's rule: N tokens every Per, and at most Burst at once. It
// is exact: no float, and no rounding of one token's share of Per. In any
// window of length T at most Burst + N*T/Per tokens are granted.
//
// A rate of 0 tokens every Per grants nothing, whatever its burst, and
// [Unlimited] grants all: both without asking the server, once they are known.
type Rate struct {
	N     int64         // tokens
	Per   time.Duration // in which they come
	Burst int64         // the most tokens at once: what a full bucket holds
	Type  RateType      // whose requests share a bucket
}

// Unlimited is the rate that grants all, such as a plan without a limit. Its requests are not sent
// to the server, so nothing is counted, neither a charge nor a block. It can be the stored rate or
// a rule of a call, see [WithRule].
var Unlimited = Rate{N: math.MaxInt64, Burst: math.MaxInt64}

// PerSecond returns the rate of n tokens a second, with a burst of n.
func PerSecond(n int64) Rate { return Every(n, time.Second) }

// PerMinute returns the rate of n tokens a minute, with a burst of n.
func PerMinute(n int64) Rate { return Every(n, time.Minute) }

// PerHour returns the rate of n tokens an hour, with a burst of n.
func PerHour(n int64) Rate { return Every(n, time.Hour) }

// Every returns the rate of n tokens every d, with a burst of n.
func Every(n int64, d time.Duration) Rate { return Rate{N: n, Per: d, Burst: n} }

// WithBurst returns the same rate with another burst.
func (r Rate) WithBurst(burst int64) Rate {
	r.Burst = burst
	return r
}

// PerClient returns the same rate for each client; see [PerClient].
func (r Rate) PerClient() Rate {
	r.Type = PerClient
	return r
}

// String writes the rate as [ParseRate] reads it, followed by burst and type: "5/s burst 10", "1/3s
// burst 1 per client", "unlimited".
func (r Rate) String() string { return r.counted().String() }

// ParseRate reads "5/s", "1/3s", "100/m", "1000/d" or "10/1h30m": a number of
// tokens, and the time in which they come. The burst is that number of tokens;
// see [Rate.WithBurst]. "0/s" grants nothing, and "unlimited" is [Unlimited].
// Errors: [ErrInvalidArgument].
func ParseRate(text string) (Rate, error) {
	r, err := bucket.ParseRate(text)
	if err != nil {
		return Rate{}, fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	return rateOf(r), nil
}

// counted returns the rate as buckets count it.
func (r Rate) counted() bucket.Rate {
	return bucket.Rate{N: r.N, Per: r.Per, Burst: r.Burst, Type: bucket.Type(r.Type)}
}

func rateOf(r bucket.Rate) Rate {
	return Rate{N: r.N, Per: r.Per, Burst: r.Burst, Type: RateType(r.Type)}
}

// resolve returns the rule of a rate that is to be stored.
func resolve(r Rate) (*bucket.Rule, error) { return counts(bucket.Resolve(r.counted())) }

// travelling returns that of a rate which comes with the call.
func travelling(r Rate) (*bucket.Rule, error) { return counts(bucket.Travelling(r.counted())) }

func counts(r *bucket.Rule, err error) (*bucket.Rule, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	return r, nil
}
