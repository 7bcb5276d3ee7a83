package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// barrierFound is what inspect tells of a barrier.
type barrierFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Held        bool   `json:"held"` // never
	Parties     int64  `json:"parties"`
	Waiting     int64  `json:"waiting"`
	Generation  int64  `json:"generation"` // the present one
	RemainingMS int64  `json:"remaining_ms"`
}

// asBarrier returns nil if the hash is none.
func (h *hashRead) asBarrier() *barrierFound {
	n := h.numbers([]string{"parties", "gen"}, "acts")
	if n == nil {
		return nil
	}
	return &barrierFound{Name: h.name, Kind: "barrier", Parties: n["parties"], Generation: n["gen"], RemainingMS: h.left}
}

// arrived counts those who wait at the barrier.
func (l *look) arrived(ctx context.Context, b *barrierFound) (err error) {
	b.Waiting, err = l.redis.Do(ctx, l.redis.B().Zcard().Key(companion(l.name, "waiting")).Build()).AsInt64()
	return err
}

func (b *barrierFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nparties\t%d\nwaiting\t%d\ngeneration\t%d\n%s",
		b.Name, b.Kind, b.Parties, b.Waiting, b.Generation, ended(b.RemainingMS))
}

// logFound is what inspect tells of Redisson's rate limiter.
type logFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Held        bool   `json:"held"` // never
	Rate        int64  `json:"rate"`
	IntervalMS  int64  `json:"interval_ms"`
	PerClient   bool   `json:"per_client,omitempty"`
	RemainingMS int64  `json:"remaining_ms"`
}

// asRedissonLimiter returns nil if the hash is none.
func (h *hashRead) asRedissonLimiter() *logFound {
	n := h.numbers([]string{"rate", "interval", "type"}, "keepAliveTime")
	if n == nil {
		return nil
	}
	return &logFound{
		Name: h.name, Kind: "redisson rate limiter", Rate: n["rate"], IntervalMS: n["interval"], PerClient: n["type"] == 1,
		RemainingMS: h.left,
	}
}

func (l *logFound) print(w io.Writer) {
	each := ""
	if l.PerClient {
		each = ", per client"
	}
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nrate\t%d in %s%s\nsee\trueidisson limit peek --redisson %s\n%s", l.Name, l.Kind,
		l.Rate, time.Duration(l.IntervalMS)*time.Millisecond, each, l.Name, ended(l.RemainingMS))
}

// numbers returns the fields of a hash that has these, perhaps that one, and no
// others, if all are whole numbers; else nil.
func (h *hashRead) numbers(fields []string, perhaps ...string) map[string]int64 {
	if h.entries > int64(len(fields)+len(perhaps)) {
		return nil // of a large one the page is a part
	}
	found := map[string]int64{}
	for i := 0; i+1 < len(h.page); i += 2 {
		field, text := h.page[i], h.page[i+1]
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case slices.Contains(perhaps, field):
		case err != nil || !slices.Contains(fields, field):
			return nil
		default:
			found[field] = n
		}
	}
	if len(found) < len(fields) {
		return nil
	}
	return found
}
