package inspect

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/redis/rueidis"
)

// mapFound describes the hash of a map.
type mapFound struct {
	Name        string           `json:"name"`
	Kind        string           `json:"kind"` // map, ttl map or cache
	Held        bool             `json:"held"` // never: every object is told of with the same head
	Entries     int64            `json:"entries"`
	MaxSize     int64            `json:"max_size,omitempty"`
	MaxBytes    int64            `json:"max_bytes,omitempty"`
	Bytes       int64            `json:"bytes,omitempty"`             // as counted for that
	Unwritten   int64            `json:"unwritten,omitempty"`         // changes that are still to be written to a store
	Refused     int64            `json:"refused,omitempty"`           // changes that the store has refused
	Caches      int64            `json:"announced_caches,omitempty"`  // near caches that hear of changes from the writers
	Changes     int64            `json:"announced_changes,omitempty"` // that are noted for near caches that were away
	Guards      map[string]int64 `json:"guards,omitempty"`
	RemainingMS int64            `json:"remaining_ms"`
}

// ownerOfLock is a field of the hash of a lock, whose others are "mode".
var ownerOfLock = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:`)

// hashRead is what was read of a hash: no more than a few of its fields, since it
// may have millions.
type hashRead struct {
	name          string
	entries, left int64
	page          []string // some fields and values, alternating
	timed         int64    // how many entries have times to live or idle times
	bound         string
	bytes         [2]string // the bound by bytes, and what is counted
}

func readHash(ctx context.Context, redis rueidis.Client, name string) (*hashRead, error) {
	b := redis.B()
	answers := redis.DoMulti(ctx,
		b.Hlen().Key(name).Build(),
		b.Hscan().Key(name).Cursor(0).Count(10).Build(),
		b.Pttl().Key(name).Build(),
		b.Zcard().Key(Prefixed("redisson__timeout__set", name)).Build(),
		b.Zcard().Key(Prefixed("redisson__idle__set", name)).Build(),
		b.Hmget().Key(Companion(name, "redisson_options")).Field("max-size", "rueidisson-max-bytes", "rueidisson-bytes").Build(),
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

// asMap returns the map of a hash.
func (l *Look) asMap(ctx context.Context, h *hashRead, kind string) (*mapFound, error) {
	m := &mapFound{Name: h.name, Kind: kind, Entries: h.entries, RemainingMS: h.left}
	m.MaxSize, _ = strconv.ParseInt(h.bound, 10, 64)
	if m.MaxBytes, _ = strconv.ParseInt(h.bytes[0], 10, 64); m.MaxBytes > 0 {
		m.Bytes, _ = strconv.ParseInt(h.bytes[1], 10, 64)
	}
	if l.Brief {
		return m, nil
	}
	b := l.Redis.B()
	n, err := l.numbers(ctx, b.Xlen().Key(Companion(l.Name, "rueidisson_writes")).Build(), b.Xlen().Key(Companion(l.Name, "rueidisson_dead")).Build(),
		b.Zcard().Key(Prefixed("redisson__cache_updates_log", l.Name)).Build())
	if err != nil {
		return nil, err
	}
	m.Unwritten, m.Refused, m.Changes = n[0], n[1], n[2]
	m.Caches = l.subscriptions(ctx, Companion(l.Name, "topic"))
	m.Guards, err = l.guards(ctx)
	return m, err
}

// subscriptions returns how many connections listen to a channel, on all servers, 0 if one does not say so. Where channels
// are sharded each server knows those of its own.
func (l *Look) subscriptions(ctx context.Context, channel string) (sum int64) {
	for _, node := range l.Redis.Nodes() {
		b := node.B()
		for _, cmd := range []rueidis.Completed{b.PubsubNumsub().Channel(channel).Build(), b.PubsubShardnumsub().Channel(channel).Build()} {
			if of, err := node.Do(ctx, cmd).AsIntMap(); err == nil { // ACLs and servers before Redis 7 may refuse one of them
				sum += of[channel]
			}
		}
	}
	return sum
}

// timed reports whether one of the entries of the page has a time to live of its own. A server before Redis 7.4 has no such entries.
func (l *Look) timed(ctx context.Context, h *hashRead) bool {
	var fields []string
	for i := 0; i < len(h.page); i += 2 {
		fields = append(fields, h.page[i])
	}
	left, err := l.Redis.Do(ctx, l.Redis.B().Hpttl().Key(l.Name).Fields().Numfields(int64(len(fields))).Field(fields...).Build()).AsIntSlice()
	return err == nil && slices.ContainsFunc(left, func(ms int64) bool { return ms >= 0 })
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

func (m *mapFound) kind() string { return m.Kind }

func (m *mapFound) print(w io.Writer) {
	fmt.Fprintf(w, "name\t%s\nkind\t%s\nentries\t%d\n", m.Name, m.Kind, m.Entries)
	if m.MaxSize > 0 {
		fmt.Fprintf(w, "max size\t%d\n", m.MaxSize)
	}
	if m.MaxBytes > 0 {
		fmt.Fprintf(w, "max bytes\t%d\nbytes\t%d\n", m.MaxBytes, m.Bytes)
	}
	if m.Unwritten > 0 {
		fmt.Fprintf(w, "unwritten\t%d\n", m.Unwritten)
	}
	if m.Refused > 0 {
		fmt.Fprintf(w, "refused\t%d\n", m.Refused)
	}
	if m.Caches > 0 {
		fmt.Fprintf(w, "announced caches\t%d\n", m.Caches)
	}
	if m.Changes > 0 {
		fmt.Fprintf(w, "announced changes\t%d\n", m.Changes)
	}
	printGuards(w, m.Guards)
	fmt.Fprint(w, ended(m.RemainingMS))
}

// packed reports whether all values of a page of a hash have the header of a cache's: an
// idle time in ms, and their length.
func packed(page []string) bool {
	const header = 16
	for i := 1; i < len(page); i += 2 {
		value := []byte(page[i])
		if len(value) < header || binary.LittleEndian.Uint64(value[8:]) != uint64(len(value)-header) {
			return false
		}
		if idle := math.Float64frombits(binary.LittleEndian.Uint64(value)); !(idle >= 0) || math.IsInf(idle, 1) {
			return false
		}
	}
	return len(page) > 0
}
