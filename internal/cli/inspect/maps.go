package inspect

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/rmap"
)

// shardedFound describes a map of many hashes.
type shardedFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Held        bool   `json:"held"` // never
	Shards      int    `json:"shards"`
	Entries     int64  `json:"entries"`
	RemainingMS int64  `json:"remaining_ms"` // of the shard that stays longest
}

// shardsIn returns how many shards a text says that there are, 0 if it does not.
func shardsIn(text string) int {
	digits, ours := strings.CutPrefix(text, "rueidisson:sharded 1 ")
	n, err := strconv.Atoi(digits)
	if !ours || err != nil || n < 1 {
		return 0
	}
	return n
}

func (l *Look) sharded(ctx context.Context, n int) (finding, error) {
	f := &shardedFound{Name: l.Name, Kind: KindSharded, Shards: n}
	if l.Brief {
		return f, nil
	}
	err := l.WithClient(func(c *rueidisson.Client) (err error) {
		m := rmap.NewSharded[string, string](c, l.Name, n)
		if f.Entries, err = m.Len(ctx); err != nil {
			return err
		}
		left, err := m.Remaining(ctx)
		if f.RemainingMS = left.Milliseconds(); left < 0 {
			f.RemainingMS = -1
		}
		return err
	})
	return f, err
}

func (s *shardedFound) kind() string { return s.Kind }

func (s *shardedFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nshards\t%d\nentries\t%d\n%s", s.Name, s.Kind, s.Shards, s.Entries, ended(s.RemainingMS))
}

// multimapFound describes the hash of a multimap.
type multimapFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // list multimap or set multimap
	Held        bool   `json:"held"` // never
	Keys        int64  `json:"keys"`
	Values      int64  `json:"values"`
	Ending      int64  `json:"ending"` // so many keys have an end
	RemainingMS int64  `json:"remaining_ms"`
}

// groupID is the id of a key of a multimap: 16 bytes as base64.
var groupID = regexp.MustCompile(`^[A-Za-z0-9+/]{22}$`)

// multimap returns nil if the hash is none's: each field of one holds an id, and a key of
// that name its values.
func (l *Look) multimap(ctx context.Context, h *hashRead) (*multimapFound, error) {
	kind, err := l.kindOfValues(ctx, h)
	if err != nil || kind == "" {
		return nil, err
	}
	m := &multimapFound{Name: l.Name, Kind: kind + " multimap", Keys: h.entries, RemainingMS: h.left}
	if l.Brief {
		return m, nil
	}
	ends := Companion(l.Name, "redisson_"+kind+"_multimap_ttl")
	if m.Ending, err = l.Redis.Do(ctx, l.Redis.B().Zcard().Key(ends).Build()).AsInt64(); err != nil {
		return nil, err
	}
	m.Values, err = l.countValues(ctx, map[string]string{"list": "LLEN", "set": "SCARD"}[kind])
	return m, err
}

// kindOfValues returns the type that most keys of a page have: list or set. It returns "" if the map is no multimap.
func (l *Look) kindOfValues(ctx context.Context, h *hashRead) (string, error) {
	var each rueidis.Commands
	for i := 1; i < len(h.page); i += 2 {
		if !groupID.MatchString(h.page[i]) {
			return "", nil
		}
		each = append(each, l.Redis.B().Type().Key(Companion(l.Name, h.page[i])).Build())
	}
	found := map[string]int{}
	for _, answer := range l.Redis.DoMulti(ctx, each...) {
		is, err := answer.ToString()
		if err != nil {
			return "", err
		}
		found[is]++
	}
	switch lists, sets := found["list"], found["set"]; {
	case lists == 0 && sets == 0:
		return "", nil
	case lists >= sets:
		return "list", nil
	}
	return "set", nil
}

// countValues walks the keys, and changes nothing. What is of another type counts
// for nothing.
func (l *Look) countValues(ctx context.Context, count string) (sum int64, err error) {
	err = l.WithClient(func(c *rueidisson.Client) error {
		var ids []string
		for entry, err := range rmap.New[string, string](c, l.Name, rmap.WithCodecs(codec.Bytes, codec.Bytes)).All(ctx) {
			if err != nil {
				return err
			}
			if ids = append(ids, entry.Value); len(ids) < countedAtOnce {
				continue
			}
			n, err := l.countOf(ctx, count, ids)
			if sum, ids = sum+n, ids[:0]; err != nil {
				return err
			}
		}
		n, err := l.countOf(ctx, count, ids)
		sum += n
		return err
	})
	return sum, err
}

// countedAtOnce is how many keys are asked for the number of their values at the same time.
const countedAtOnce = 1000

// countOf returns how many values the keys of some ids have.
func (l *Look) countOf(ctx context.Context, count string, ids []string) (sum int64, err error) {
	each := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		each[i] = l.Redis.B().Arbitrary(count).Keys(Companion(l.Name, id)).Build()
	}
	for _, answer := range l.Redis.DoMulti(ctx, each...) {
		n, err := answer.AsInt64()
		if reply, is := rueidis.IsRedisErr(err); is && strings.HasPrefix(reply.Error(), "WRONGTYPE") {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func (m *multimapFound) kind() string { return m.Kind }

func (m *multimapFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nkeys\t%d\nvalues\t%d\n", m.Name, m.Kind, m.Keys, m.Values)
	if m.Ending > 0 {
		fmt.Fprintf(w, "ending\t%d\n", m.Ending)
	}
	fmt.Fprint(w, ended(m.RemainingMS))
}
