package bucket

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Type says whose requests share a bucket.
type Type int

const (
	Overall   Type = iota // all processes'
	PerClient             // those of each client for itself
)

func (t Type) String() string {
	switch t {
	case Overall:
		return "overall"
	case PerClient:
		return "per client"
	}
	return fmt.Sprintf("RateType(%d)", int(t))
}

// Rate is N tokens every Per, and at most Burst at once.
type Rate struct {
	N     int64
	Per   time.Duration
	Burst int64
	Type  Type
}

// Unlimited is the rate that grants all.
var Unlimited = Rate{N: math.MaxInt64, Burst: math.MaxInt64}

// Unlimited reports whether the rate is [Unlimited], of either type.
func (r Rate) Unlimited() bool { return r.N == Unlimited.N && r.Per == 0 && r.Burst == Unlimited.Burst }

// None reports whether the rate grants nothing.
func (r Rate) None() bool { return r.N == 0 }

// Settled reports whether the rate decides by itself.
func (r Rate) Settled() bool { return r.None() || r.Unlimited() }

// Exceeds reports whether n tokens are more than can ever be there.
func (r Rate) Exceeds(n int64) bool { return n > r.Burst || r.None() }

// WithBurst returns the same rate with another burst.
func (r Rate) WithBurst(burst int64) Rate {
	r.Burst = burst
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

const unlimitedText = "unlimited"

// String writes the rate as [ParseRate] reads it, and burst and type behind it.
func (r Rate) String() string {
	text := fmt.Sprintf("%d/%s burst %d", r.N, perText(r.Per), r.Burst)
	if r.Unlimited() {
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

// ParseRate reads "5/s", "1/3s", "1000/d", "10/1h30m" or "unlimited". The burst
// is the number of tokens.
func ParseRate(text string) (Rate, error) {
	if text == unlimitedText {
		return Unlimited, nil
	}
	tokens, per, ok := strings.Cut(text, "/")
	n, err := strconv.ParseInt(strings.TrimSpace(tokens), 10, 64)
	d, perErr := parsePer(strings.TrimSpace(per))
	if !ok || err != nil || perErr != nil {
		return Rate{}, fmt.Errorf(`rate %q is not of the form "5/s", "100/m" or "1/3s"`, text)
	}
	r := Rate{N: n, Per: d, Burst: n}
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
		if n, err := strconv.ParseInt(count, 10, 64); err == nil && n > 0 && n <= int64(Forever/u.d) {
			return time.Duration(n) * u.d, nil
		}
	}
	return time.ParseDuration(text)
}

// check returns what can be said of a rate before its arithmetic is known.
func (r Rate) check() error {
	switch {
	case r.N < 0:
		return fmt.Errorf("a rate of %d tokens every %v: at least 0", r.N, r.Per)
	case r.Per <= 0 && !r.Unlimited():
		return fmt.Errorf("%d tokens every %v: the time must be positive", r.N, r.Per)
	case r.Burst < 0 || r.Burst == 0 && !r.None():
		return fmt.Errorf("a burst of %d: at least 1", r.Burst)
	case r.Type != Overall && r.Type != PerClient:
		return fmt.Errorf("%v is none of Overall, PerClient", r.Type)
	}
	return nil
}

// Forever is longer than anything lasts.
const Forever = time.Duration(1<<63 - 1)
