package inspect

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// barrierFound describes a barrier.
type barrierFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Held        bool   `json:"held"` // never
	Parties     int64  `json:"parties"`
	Waiting     int64  `json:"waiting"`
	Inside      int64  `json:"inside,omitempty"` // members of a double barrier
	Generation  int64  `json:"generation"`       // the present one
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

// arrived counts those who wait at the barrier, and those who are inside: the parties of the generation before may be.
func (l *Look) arrived(ctx context.Context, of *barrierFound) error {
	b, inside := l.Redis.B(), Companion(l.Name, "inside")
	n, err := l.numbers(ctx, b.Zcard().Key(Companion(l.Name, "waiting")).Build(),
		b.Zcard().Key(fmt.Sprintf("%s:%d", inside, of.Generation-1)).Build(), b.Zcard().Key(fmt.Sprintf("%s:%d", inside, of.Generation)).Build())
	if err != nil {
		return err
	}
	of.Waiting, of.Inside = n[0], n[1]+n[2]
	if of.Inside > 0 {
		of.Kind = "double barrier"
	}
	return nil
}

func (b *barrierFound) kind() string { return b.Kind }

func (b *barrierFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nparties\t%d\nwaiting\t%d\n", b.Name, b.Kind, b.Parties, b.Waiting)
	if b.Inside > 0 {
		fmt.Fprintf(w, "inside\t%d\n", b.Inside)
	}
	fmt.Fprintf(w, "generation\t%d\n%s", b.Generation, ended(b.RemainingMS))
}

// lockGroupFound describes a group of locks that has one hash for all.
type lockGroupFound struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Held        bool     `json:"held"`   // always
	Values      int64    `json:"values"` // that are held, or were a moment ago
	Owners      []string `json:"owners"` // of some of them
	RemainingMS int64    `json:"remaining_ms"`
}

// valueOfGroup is a field of the hash of a lock group: a value, its owner, and how often or until when that holds it.
var valueOfGroup = regexp.MustCompile(`^[A-Za-z0-9+/]{22}:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+):(lock_count|expire_time)$`)

// asGroup returns nil if the hash is no lock group's. Such a hash has three fields for each value.
func (h *hashRead) asGroup() *lockGroupFound {
	owners := map[string]bool{}
	for i := 0; i < len(h.page); i += 2 {
		if match := valueOfGroup.FindStringSubmatch(h.page[i]); match != nil {
			owners[match[1]] = true
		}
	}
	if len(owners) == 0 {
		return nil
	}
	return &lockGroupFound{h.name, "lock group", true, h.entries / 3, slices.Sorted(maps.Keys(owners)), h.left}
}

func (g *lockGroupFound) kind() string { return g.Kind }

func (g *lockGroupFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nvalues\t%d\n", g.Name, g.Kind, g.Values)
	for _, owner := range g.Owners {
		fmt.Fprintf(w, "owner\t%s\n", owner)
	}
	fmt.Fprint(w, ended(g.RemainingMS))
}

// logFound describes Redisson's rate limiter.
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

func (l *logFound) kind() string { return l.Kind }

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
