package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// mapFound is what inspect tells of a hash that is a map's.
type mapFound struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // map or cache
	Held        bool   `json:"held"` // never: every object is told of with the same head
	Entries     int64  `json:"entries"`
	MaxSize     int64  `json:"max_size,omitempty"`
	MaxBytes    int64  `json:"max_bytes,omitempty"`
	Bytes       int64  `json:"bytes,omitempty"` // as counted for that
	RemainingMS int64  `json:"remaining_ms"`
}

// ownerOfLock is a field of the hash of a lock, whose others are "mode".
var ownerOfLock = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:`)

// companion returns a key that belongs to the object of a name.
func companion(name, suffix string) string {
	if strings.Contains(name, "{") {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// hashRead is what was read of a hash: no more than a few of its fields, since it
// may have millions.
type hashRead struct {
	name          string
	entries, left int64
	page          []string // some fields and values, one behind the other
	timed         int64    // how many entries have times beside them
	bound         string
	bytes         [2]string // the bound by bytes, and what is counted
}

func readHash(ctx context.Context, redis rueidis.Client, name string) (*hashRead, error) {
	b := redis.B()
	answers := redis.DoMulti(ctx,
		b.Hlen().Key(name).Build(),
		b.Hscan().Key(name).Cursor(0).Count(10).Build(),
		b.Pttl().Key(name).Build(),
		b.Zcard().Key(beside("redisson__timeout__set", name)).Build(),
		b.Zcard().Key(beside("redisson__idle__set", name)).Build(),
		b.Hmget().Key(companion(name, "redisson_options")).Field("max-size", "rueidisson-max-bytes", "rueidisson-bytes").Build(),
	)
	for _, a := range answers {
		if err := a.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
	}
	h := &hashRead{name: name}
	h.entries, _ = answers[0].AsInt64()
	page, _ := answers[1].AsScanEntry()
	h.page = page.Elements
	h.left, _ = answers[2].AsInt64()
	ttls, _ := answers[3].AsInt64()
	idles, _ := answers[4].AsInt64()
	h.timed = ttls + idles
	if bounds, err := answers[5].AsStrSlice(); err == nil && len(bounds) == 3 {
		h.bound, h.bytes = bounds[0], [2]string(bounds[1:])
	}
	return h, nil
}

// cache reports that it has the keys of an RMapCache, or values as that has them.
func (h *hashRead) cache() bool { return h.timed > 0 || h.bound+h.bytes[0] != "" || packed(h.page) }

func (h *hashRead) asMap(kind string) *mapFound {
	m := &mapFound{Name: h.name, Kind: kind, Entries: h.entries, RemainingMS: h.left}
	m.MaxSize, _ = strconv.ParseInt(h.bound, 10, 64)
	if m.MaxBytes, _ = strconv.ParseInt(h.bytes[0], 10, 64); m.MaxBytes > 0 {
		m.Bytes, _ = strconv.ParseInt(h.bytes[1], 10, 64)
	}
	return m
}

// ofLock reports whether fields and values, one after the other, are those of a lock.
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
	if m.MaxBytes > 0 {
		fmt.Fprintf(w, "max bytes\t%d\nbytes\t%d\n", m.MaxBytes, m.Bytes)
	}
	fmt.Fprint(w, ended(m.RemainingMS))
}
