package peer

import (
	"context"
	"strconv"
	"time"
)

// Set is an RSet of Redisson, as one Java thread uses it.
type Set struct{ object }

// Set returns the set of that name with a codec of its own; see [Peer.Map].
func (p *Peer) Set(thread, name, codec string) Set { return Set{p.mapOf("set", thread, name, codec)} }

// Add says whether the member is new.
func (s Set) Add(ctx context.Context, v Datum) (bool, error) { return s.truth(ctx, "add", v) }

// Remove says whether the member was there.
func (s Set) Remove(ctx context.Context, v Datum) (bool, error) { return s.truth(ctx, "remove", v) }

// Contains says whether the member is there.
func (s Set) Contains(ctx context.Context, v Datum) (bool, error) {
	return s.truth(ctx, "contains", v)
}

// TryAdd says whether it added all: none was there.
func (s Set) TryAdd(ctx context.Context, vs ...Datum) (bool, error) {
	return s.truth(ctx, "tryAdd", anys(vs)...)
}

// ContainsAll says whether all are there.
func (s Set) ContainsAll(ctx context.Context, vs ...Datum) (bool, error) {
	return s.truth(ctx, "containsAll", anys(vs)...)
}

// RetainAll says whether it removed some.
func (s Set) RetainAll(ctx context.Context, vs ...Datum) (bool, error) {
	return s.truth(ctx, "retainAll", anys(vs)...)
}

// Move says whether it moved the member.
func (s Set) Move(ctx context.Context, to string, v Datum) (bool, error) {
	return s.truth(ctx, "move", to, v)
}

// Size returns how many members there are.
func (s Set) Size(ctx context.Context) (int64, error) { return s.number(ctx, "size") }

// ReadAll returns the members.
func (s Set) ReadAll(ctx context.Context) ([]Datum, error) { return s.all(ctx, "readAll") }

// RemoveRandom removes members, and returns them.
func (s Set) RemoveRandom(ctx context.Context, n int) ([]Datum, error) {
	return s.all(ctx, "removeRandom", strconv.Itoa(n))
}

// Read returns what is made of this set and others: readUnion, readIntersection or readDiff.
func (s Set) Read(ctx context.Context, operation string, names ...string) ([]Datum, error) {
	args := make([]Datum, len(names))
	for i, name := range names {
		args[i] = String(name)
	}
	return s.all(ctx, operation, anys(args)...)
}

// SetCache is an RSetCache of Redisson, as one Java thread uses it.
type SetCache struct{ Set }

// SetCache returns the set with times to live of that name with a codec of its own; see [Peer.Map].
func (p *Peer) SetCache(thread, name, codec string) SetCache {
	return SetCache{Set{p.mapOf("setcache", thread, name, codec)}}
}

// Add says whether the member is new, or had expired.
func (s SetCache) Add(ctx context.Context, v Datum, ttl ...time.Duration) (bool, error) {
	return s.truth(ctx, "add", withTTL(ttl, v)...)
}

// AddAll says whether some member is new.
func (s SetCache) AddAll(ctx context.Context, vs ...Datum) (bool, error) {
	return s.truth(ctx, "addAll", anys(vs)...)
}

// Listen adds a listener.
func (s SetCache) Listen(ctx context.Context) error {
	_, err := s.do(ctx, "listen")
	return err
}

// Heard returns the members that the listener was told of.
func (s SetCache) Heard(ctx context.Context) ([]Datum, error) { return s.all(ctx, "heard") }

func (s Set) all(ctx context.Context, operation string, args ...any) ([]Datum, error) {
	reply, err := s.do(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	return reply.data()
}

func anys(vs []Datum) []any {
	args := make([]any, len(vs))
	for i, v := range vs {
		args[i] = v
	}
	return args
}
