package inspect

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/cli/scan"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

// numberFound describes a string that is a whole number.
type numberFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // semaphore, latch, or semaphore or latch
	Held        bool   `json:"held"` // never: neither has owners
	Count       int64  `json:"count"`
	RemainingMS int64  `json:"remaining_ms"`
}

// permitsFound describes a semaphore whose permits have ids.
type permitsFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Held        bool   `json:"held"`
	Available   int64  `json:"available"`
	Permits     int64  `json:"permits"` // that are held
	RemainingMS int64  `json:"remaining_ms"`
}

// whole is a number as the scripts take it.
var whole = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// text finds out the kind of the object of a string is. It reads no more than the start, because a string that is no
// object's may be long.
func (l *Look) text(ctx context.Context) (finding, error) {
	text, err := l.Redis.Do(ctx, l.Redis.B().Getrange().Key(l.Name).Start(0).End(scan.LongestState).Build()).ToString()
	if err != nil {
		return nil, err
	}
	if n := shardsIn(text); n > 0 {
		return l.sharded(ctx, n)
	}
	if r, err := bucket.Parse(text); err == nil {
		left, err := l.numbers(ctx, l.Redis.B().Pttl().Key(l.Name).Build())
		if err != nil {
			return nil, err
		}
		return &limiterFound{l.Name, "rate limiter", false, values.NewRate(values.RateOf(r).String(), values.RateOf(r)), r.Paused, max(left[0], -1), r}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !whole.MatchString(text) {
		return l.other(ctx, "string")
	}
	return l.kindOfNumber(ctx, n)
}

// valueOfLimiter is the key in which Redisson's rate limiter counts what is left, of all clients or of one.
var valueOfLimiter = regexp.MustCompile(`^(.*\{.*):value(?::[0-9a-f-]{36})?$`)

// limitersOfValue returns the names of the limiters whose number may have this key, none if it is no such key.
func limitersOfValue(key string) []string {
	match := valueOfLimiter.FindStringSubmatch(key)
	if match == nil {
		return nil
	}
	name := match[1]
	if inner := strings.TrimSuffix(strings.TrimPrefix(name, "{"), "}"); "{"+inner+"}" == name && !strings.Contains(inner, "{") {
		return []string{name, inner} // a name without braces has them in its other keys
	}
	return []string{name}
}

// limiterFound describes a rate limiter of this library.
type limiterFound struct {
	Name        string      `json:"name"`
	Kind        string      `json:"kind"`
	Held        bool        `json:"held"` // never
	Rate        values.Rate `json:"rate"`
	Paused      bool        `json:"paused,omitempty"`
	RemainingMS int64       `json:"remaining_ms"`

	rule *bucket.Rule
}

func (r *limiterFound) kind() string { return r.Kind }

func (r *limiterFound) print(w io.Writer) {
	paused := ""
	if r.Paused {
		paused = ", paused"
	}
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nrate\t%v%s\nsee\trueidisson limit show %s\n%s", r.Name, r.Kind, r.rule.Rate, paused, r.Name, ended(r.RemainingMS))
}

// kindOfNumber finds out the kind of a number from the other keys of the name.
func (l *Look) kindOfNumber(ctx context.Context, n int64) (finding, error) {
	b := l.Redis.B()
	for _, limiter := range limitersOfValue(l.Name) {
		// A key of another type there is no limiter's.
		if is, err := l.Redis.Do(ctx, b.Hexists().Key(limiter).Field("interval").Build()).AsBool(); err == nil && is {
			return l.other(ctx, "string")
		}
	}
	got, err := l.numbers(ctx,
		b.Pttl().Key(l.Name).Build(),
		b.Zcard().Key(Companion(l.Name, "timeout")).Build(),
		b.Exists().Key(Prefixed("rueidisson_opened", l.Name)).Build(),
		b.Exists().Key(Prefixed("rueidisson_parties", l.Name)).Build(),
		b.Exists().Key(Prefixed("rueidisson_armed", l.Name)).Build(),
		b.Exists().Key(Prefixed("rueidisson_set", l.Name)).Build(),
	)
	if err != nil {
		return nil, err
	}
	f := &numberFound{Name: l.Name, Kind: AmbiguousNumber, Count: n, RemainingMS: got[0]}
	switch leases, ofLatch := got[1], got[2]+got[3]+got[4] > 0; {
	case leases > 0:
		return l.permits(ctx, f)
	case ofLatch:
		f.Kind = "latch"
	case got[5] > 0:
		f.Kind = "semaphore"
	}
	return f, nil
}

// permits reads a number that has leases. Permits whose leases have ended are free,
// though the number does not count them yet.
func (l *Look) permits(ctx context.Context, of *numberFound) (*permitsFound, error) {
	f := &permitsFound{Name: l.Name, Kind: "permit semaphore", RemainingMS: of.RemainingMS}
	if l.Brief {
		return f, nil
	}
	err := l.WithClient(func(c *rueidisson.Client) (err error) {
		s := c.PermitSemaphore(l.Name)
		f.Available, err = s.Available(ctx)
		for _, bad := range s.Permits(ctx) {
			if bad != nil {
				return bad
			}
			f.Permits++
		}
		return err
	})
	f.Held = f.Permits > 0
	return f, err
}

func (n *numberFound) kind() string { return n.Kind }

func (n *numberFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\ncount\t%d\n%s", n.Name, n.Kind, n.Count, ended(n.RemainingMS))
}

func (p *permitsFound) kind() string { return p.Kind }

func (p *permitsFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\navailable\t%d\nheld\t%d\n%s", p.Name, p.Kind, p.Available, p.Permits, ended(p.RemainingMS))
}
