package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// mapFound is what inspect tells of a hash that is a map's.
type mapFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // map or cache
	Held        bool   `json:"held"` // never: every object is told of with the same head
	Entries     int64  `json:"entries"`
	MaxSize     int64  `json:"max_size,omitempty"`
	RemainingMS int64  `json:"remaining_ms"`
}

// ownerOfLock is a field of the hash of a lock, whose others are "mode".
var ownerOfLock = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:`)

// companion is a key that belongs to the object of a name.
func companion(name, suffix string) string {
	if strings.Contains(name, "{") {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// readMap looks whether a hash is that of a map, without reading more than a few
// of its fields: it may have millions. nil: it is none.
func readMap(ctx context.Context, redis rueidis.Client, name string) (*mapFound, error) {
	b := redis.B()
	answers := redis.DoMulti(ctx,
		b.Hlen().Key(name).Build(),
		b.Hscan().Key(name).Cursor(0).Count(10).Build(),
		b.Pttl().Key(name).Build(),
		b.Zcard().Key(beside("redisson__timeout__set", name)).Build(),
		b.Zcard().Key(beside("redisson__idle__set", name)).Build(),
		b.Hget().Key(companion(name, "redisson_options")).Field("max-size").Build(),
	)
	for _, a := range answers {
		if err := a.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
	}
	m := &mapFound{Name: name, Kind: "map"}
	m.Entries, _ = answers[0].AsInt64()
	m.RemainingMS, _ = answers[2].AsInt64()
	ttls, _ := answers[3].AsInt64()
	idles, _ := answers[4].AsInt64()
	bound, _ := answers[5].ToString()
	m.MaxSize, _ = strconv.ParseInt(bound, 10, 64)
	if ttls+idles > 0 || bound != "" {
		m.Kind = "cache"
	}
	page, _ := answers[1].AsScanEntry()
	if m.Entries == 0 || m.Kind == "map" && ofLock(page.Elements) {
		return nil, nil
	}
	return m, nil
}

// ofLock is for fields and values, one behind the other.
func ofLock(pairs []string) bool {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == "mode" || ownerOfLock.MatchString(pairs[i]) {
			return true
		}
	}
	return false
}

func (m *mapFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nentries\t%d\n", m.Name, m.Kind, m.Entries)
	if m.MaxSize > 0 {
		fmt.Fprintf(w, "max size\t%d\n", m.MaxSize)
	}
	if m.RemainingMS >= 0 {
		fmt.Fprintf(w, "remaining\t%s\n", time.Duration(m.RemainingMS)*time.Millisecond)
	}
}
