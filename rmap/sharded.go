package rmap

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// Sharded is a handle on the sharded map of one name: a map of n hashes that
// spread over the slots of a cluster, and so over its servers. Which hash an entry
// is in follows from its key. It is this library's alone: Redisson has none, and
// what takes its name for that of another map is refused by the server.
//
// All handles on one name are made with the same n. The name holds it, and every
// operation of a handle with another one is an [ErrOption] that says both numbers;
// a handle looks there again when it has not for a second. The number can be
// changed only when nobody uses the map: [Sharded.Delete] it, wait a second, and
// write it anew.
//
// What is about one entry is as of a [Map]. What is about several is done in
// their hashes one by one, 32 of them at the same time, and is not of one moment.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type Sharded[K comparable, V any] struct {
	common[K, V]
	s *sharded
}

// most shards: there are so many slots.
const slots = 16384

// NewSharded returns a handle. Programs outside of this module call
// rueidisson.Sharded.
func NewSharded[K comparable, V any](e *locking.Engine, name string, n int, opts ...Option) *Sharded[K, V] {
	m := newHandle[K, V](e, "sharded map", name, lifetime.none, opts)
	m.cfg.shards = n
	s := &sharded{m.sender(), n}
	m.store = s
	switch {
	case m.bad != nil:
	case n < 1 || n > slots:
		m.bad = fmt.Errorf("%w: %d shards: from 1 to %d", ErrOption, n, slots)
	case e.Cluster() && keys.Spreads(m.key) != nil:
		m.bad = fmt.Errorf("%w: the shards of a map %q would not spread: on a cluster its name has no braces", ErrOption, m.key)
	}
	if m.bad != nil {
		s.n = 1
	}
	return &Sharded[K, V]{commonOf(m), s}
}

// Shards returns the number of hashes that the handle was made with.
func (m *Sharded[K, V]) Shards() int { return m.m.cfg.shards }

// Delete deletes the map, shard by shard, and at last the number of them. It
// reports whether there was one. After an error some shards may have gone, and the
// number stands: call it again. What is written meanwhile may stay.
//
// Cost: an UNLINK for each shard, and one more. Errors: as [Map.Put].
func (m *Sharded[K, V]) Delete(ctx context.Context) (bool, error) { return m.delete(ctx) }

// Exists reports whether there is an entry at all. Cost: an EXISTS for each shard.
// Errors: as [Map.Has].
func (m *Sharded[K, V]) Exists(ctx context.Context) (bool, error) { return m.exists(ctx) }

// Expire lets each shard that has entries go in d, with all that is written to it
// until then, and reports whether there is one. A shard that is empty now, and is
// written to later, stays: repeat Expire if entries are added meanwhile.
//
// Cost: a script call for each shard, and one more; a PTTL for each shard two, four
// and five seconds later. Wire: PEXPIRE. Errors: as [Map.Put]; after one, some shards
// may go.
func (m *Sharded[K, V]) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return m.expire(ctx, d)
}

// Persist lets all shards stay, and reports whether one was to go. Cost: a script
// call for each shard, and one more. Wire: PERSIST. Errors: as [Map.Put].
func (m *Sharded[K, V]) Persist(ctx context.Context) (bool, error) { return m.persist(ctx) }

// Remaining returns how long the shard that stays longest does: 0 if there is none, -1
// if one has no end. Cost: a PTTL for each shard. Errors: as [Map.Has].
func (m *Sharded[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return m.remaining(ctx)
}

// Rename gives the map another name, over a sharded map that has it and as many
// shards, and reports whether there was one. The handle stays one on the old name.
// On a cluster the shards of another name are in other slots: there it is an
// [ErrOption].
//
// Cost: one script call, two exchanges before it, and a PTTL behind it; of a map that
// is to go what [Sharded.Expire] does later. Wire: RENAME. Errors: as [Map.Put].
func (m *Sharded[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "rename", to, true, renameScript, flag(false))
}

// RenameIfAbsent is [Sharded.Rename] if nothing has the new name, and reports whether
// that is so and there is such a map. Cost and errors: as [Sharded.Rename].
func (m *Sharded[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "rename", to, false, renameScript, flag(true))
}

// Copy copies the map under another name if nothing has that, as [Map.Copy] does, and
// reports whether that is so and there is such a map. On a cluster it is an [ErrOption],
// as [Sharded.Rename] is.
//
// Cost and errors: as [Sharded.Rename]. Wire: COPY.
func (m *Sharded[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "copy", to, false, copyScript)
}

// ExpireAt does what [Sharded.Expire] does, at a time by the clock of this process: at once if that has
// passed. One that is not after 1970, or is too far ahead, is an [ErrOption].
func (m *Sharded[K, V]) ExpireAt(ctx context.Context, at time.Time) (bool, error) {
	return m.expireAt(ctx, at)
}

// SizeInMemory returns about how many bytes the map takes on its servers, 0 if there is none.
// An ACL has to allow memory|usage.
//
// Cost: a script call for each shard, and one more. Wire: MEMORY USAGE. Errors: as
// [Map.Has].
func (m *Sharded[K, V]) SizeInMemory(ctx context.Context) (int64, error) {
	return m.sizeInMemory(ctx)
}

func (m *Sharded[K, V]) base() base[K] {
	return base[K]{h: m.m.h, bad: m.m.bad, keys: m.s.object()[1:], announces: m.m.cfg.announce, at: func(k K) (int, string, error) {
		field, err := m.m.keyText(k)
		return keys.ShardOf(field, m.s.n), field, err
	}}
}
