package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
)

// numberFound is what inspect tells of a string that is a whole number.
type numberFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // latch, or semaphore or latch
	Held        bool   `json:"held"` // never: neither has owners
	Count       int64  `json:"count"`
	RemainingMS int64  `json:"remaining_ms"`
}

// permitsFound is what inspect tells of a semaphore whose permits have ids.
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

// number looks what the string under the name is of. notHash is what reading it as
// a hash has brought, and the answer if it is no number.
func (l *look) number(ctx context.Context, notHash error) (finding, error) {
	if _, said := rueidis.IsRedisErr(notHash); !said {
		return nil, notHash
	}
	text, err := l.redis.Do(ctx, l.redis.B().Get().Key(l.name).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return nobody, nil // it has gone meanwhile
	}
	if n := shardsIn(text); n > 0 {
		return l.sharded(ctx, n)
	}
	n, bad := strconv.ParseInt(text, 10, 64)
	if err != nil || bad != nil || !whole.MatchString(text) {
		return nil, notHash
	}
	return l.besideNumber(ctx, n)
}

// besideNumber tells by the keys beside it what a number is.
func (l *look) besideNumber(ctx context.Context, n int64) (finding, error) {
	b := l.redis.B()
	answers := l.redis.DoMulti(ctx,
		b.Pttl().Key(l.name).Build(),
		b.Zcard().Key(companion(l.name, "timeout")).Build(),
		b.Exists().Key(beside("rueidisson_opened", l.name)).Build(),
		b.Exists().Key(beside("rueidisson_parties", l.name)).Build(),
	)
	var got [4]int64
	for i, a := range answers {
		var err error
		if got[i], err = a.AsInt64(); err != nil {
			return nil, err
		}
	}
	f := &numberFound{Name: l.name, Kind: "semaphore or latch", Count: n, RemainingMS: got[0]}
	switch leases, ofLatch := got[1], got[2]+got[3] > 0; {
	case leases > 0:
		return l.permits(ctx, f)
	case ofLatch:
		f.Kind = "latch"
	}
	return f, nil
}

// permits tells of a number with leases beside it. Those that have ended are free,
// though the number does not count them yet.
func (l *look) permits(ctx context.Context, of *numberFound) (*permitsFound, error) {
	f := &permitsFound{Name: l.name, Kind: "permit semaphore", RemainingMS: of.RemainingMS}
	err := l.withClient(func(c *rueidisson.Client) (err error) {
		s := c.PermitSemaphore(l.name)
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

func (n *numberFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\ncount\t%d\n%s", n.Name, n.Kind, n.Count, ended(n.RemainingMS))
}

func (p *permitsFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\navailable\t%d\nheld\t%d\n%s", p.Name, p.Kind, p.Available, p.Permits, ended(p.RemainingMS))
}
