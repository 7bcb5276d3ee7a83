package rmap

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Sharded is a handle on the sharded map of one name: a map of n hashes that
// spread over the slots of a cluster, and so over its servers. The key of an entry decides which
// hash it is in. It is this library's alone: Redisson has none, and the server refuses commands
// that take its name for that of another map.
//
// All handles on one name are made with the same n. The name holds it, and every operation of a
// handle with another n returns [ErrInvalidArgument] with both numbers. A handle looks there
// again when it has not for a second. The number can be changed only when no client uses the
// map: [Sharded.Delete] it, wait a second, and write it anew.
//
// An operation on one entry behaves as on a [Map]. An operation on several is done in
// their hashes one by one, 32 of them at the same time, and is not of one moment.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type Sharded[K comparable, V any] struct {
	common[K, V]
	s *mapstore.Sharded
}

// most shards: there are so many slots.
const slots = 16384

// NewSharded returns a handle on the sharded map of that name, which is n hashes over the slots of a cluster.
func NewSharded[K comparable, V any](c Client, name string, n int, opts ...MapOption) *Sharded[K, V] {
	e := c.Engine()
	m := newHandle[K, V](e, "sharded map", name, staying, opts)
	m.Config.Shards = n
	s := &mapstore.Sharded{Sender: m.Sender(), N: n}
	m.Store = s
	switch {
	case m.Bad != nil:
	case n < 1 || n > slots:
		m.Bad = fmt.Errorf("%w: %d shards: from 1 to %d", ErrInvalidArgument, n, slots)
	case e.Cluster() && keys.Spreads(m.Key) != nil:
		m.Bad = fmt.Errorf("%w: the shards of a map %q would not spread: on a cluster its name has no braces", ErrInvalidArgument, m.Key)
	}
	if m.Bad != nil {
		s.N = 1
	}
	return &Sharded[K, V]{commonOf(m), s}
}

// Shards returns the number of hashes that the handle was made with.
func (m *Sharded[K, V]) Shards() int { return m.m.Config.Shards }

// Delete deletes the map, shard by shard, and at last the number of them. It
// reports whether there was one. After an error some shards may be deleted, and the
// number still be stored: call it again. Entries that are written meanwhile may stay.
//
// Cost: an UNLINK for each shard, and one more. Errors: as [Map.Put].
func (m *Sharded[K, V]) Delete(ctx context.Context) (bool, error) {
	return whole(ctx, m, "delete", mapstore.Writing, func() (there bool, err error) {
		there, err = m.s.Any(ctx, func(p *mapstore.Shard) (bool, error) { return send.Yes(p.DropAll(ctx)) })
		if err != nil {
			return there, err
		}
		defer m.s.Hub.Recount(m.s.Key)
		named, err := send.Yes(m.s.Delete(ctx, []string{m.s.Key}))
		return there || named, err
	})
}

// Exists reports whether there is an entry at all. Cost: an EXISTS for each shard.
// Errors: as [Map.Has].
func (m *Sharded[K, V]) Exists(ctx context.Context) (bool, error) {
	return whole(ctx, m, "look for", mapstore.Reading, func() (bool, error) { return m.s.Exists(ctx) })
}

// Expire lets each shard that has entries go in d, with all that is written to it
// until then, and reports whether there is one. A shard that is empty now, and is
// written to later, stays: repeat Expire if entries are added meanwhile.
//
// Cost: a script call for each shard, and one more; a PTTL for each shard two, four and five seconds later. Errors: as
// [Map.Put]; after one, some shards may go.
func (m *Sharded[K, V]) Expire(ctx context.Context, d time.Duration) (bool, error) {
	if err := send.CheckTTL("time to live", d); err != nil {
		return false, m.m.Failed("expire", err)
	}
	return whole(ctx, m, "expire", mapstore.Writing, func() (bool, error) {
		there, err := m.s.Any(ctx, func(p *mapstore.Shard) (bool, error) { return p.SetTime(ctx, mapstore.Decimal(core.Millis(d))) })
		// The name stays for longer than callers that add to the map now trust it. Where no shard is to go, it stays.
		if err == nil && there {
			defer m.s.Hub.Recount(m.s.Key)
			_, err = m.s.SetTime(ctx, mapstore.Decimal(core.Millis(d+6*mapstore.Glance)))
			m.s.LookBack()
		}
		return there, err
	})
}

// Persist lets all shards stay, and reports whether one was to go. Cost: a script call for each shard, and one more.
// Errors: as [Map.Put].
func (m *Sharded[K, V]) Persist(ctx context.Context) (bool, error) {
	return whole(ctx, m, "persist", mapstore.Writing, func() (bool, error) {
		if _, err := m.s.SetTime(ctx, ""); err != nil {
			return false, err
		}
		return m.s.Any(ctx, func(p *mapstore.Shard) (bool, error) { return p.SetTime(ctx, "") })
	})
}

// Remaining returns how long the shard that stays longest does: 0 if there is none, -1
// if one has no end. Cost: a PTTL for each shard. Errors: as [Map.Has].
func (m *Sharded[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return whole(ctx, m, "look at", mapstore.Reading, func() (time.Duration, error) { return m.s.Remaining(ctx) })
}

// Rename gives the map another name, over a sharded map that has it and as many
// shards, and reports whether there was one. The handle stays one on the old name.
// On a cluster Rename returns [ErrInvalidArgument], because the shards of another name are in
// other slots.
//
// Cost: one script call, two exchanges before it, and a PTTL after it; of a map with a time to live later what
// [Sharded.Expire] does. Errors: as [Map.Put].
func (m *Sharded[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "rename", to, true, mapstore.RenameScript, mapstore.Flag(false))
}

// RenameIfAbsent renames the map, as [Sharded.Rename] does, if nothing has the new name, and
// reports whether it did.
//
// Cost and errors: as [Sharded.Rename].
func (m *Sharded[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "rename", to, false, mapstore.RenameScript, mapstore.Flag(true))
}

// Copy copies the map under another name if nothing has that name, as [Map.Copy] does, and
// reports whether it did. On a cluster it returns [ErrInvalidArgument], as [Sharded.Rename] does.
//
// Cost and errors: as [Sharded.Rename].
func (m *Sharded[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "copy", to, false, mapstore.CopyScript)
}

// ExpireAt does what [Sharded.Expire] does, at a time by the clock of this process: at once if that has
// passed. It returns [ErrInvalidArgument] if the time is not after 1970, or is too far ahead.
func (m *Sharded[K, V]) ExpireAt(ctx context.Context, at time.Time) (bool, error) {
	if _, err := send.Instant(at); err != nil {
		return false, m.m.Failed("expire", err)
	}
	return m.Expire(ctx, max(time.Until(at), time.Millisecond))
}

// SizeInMemory returns about how many bytes the map takes on its servers, 0 if there is none.
// An ACL has to allow memory|usage.
//
// Cost: a script call for each shard, and one more. Errors: as [Map.Has].
func (m *Sharded[K, V]) SizeInMemory(ctx context.Context) (int64, error) {
	return whole(ctx, m, "measure", mapstore.Reading, func() (int64, error) {
		shards, err := m.s.Sum(ctx, false, m.s.All(), func(_ int, p *mapstore.Shard) (int64, error) {
			return p.Hub.Engine.SizeInMemory(ctx, []string{p.Key})
		})
		if err != nil {
			return 0, err
		}
		name, err := m.s.Hub.Engine.SizeInMemory(ctx, []string{m.s.Key})
		return shards + name, err
	})
}

// Inside returns what packages nearcache, readthrough and writethrough build on. It is for this
// module, see [Mapping].
func (m *Sharded[K, V]) Inside() mapstore.Inside[K, V, PutOption] {
	return m.m.spread(m.s.Object()[1:], func(k K) (int, string, error) {
		field, err := m.m.Codecs.Key(k)
		return keys.ShardOf(field, m.s.N), field, err
	})
}

// What is done to all shards of a map, and to the name, which says how many there
// are. That goes last and comes first, so that nobody takes what is there for
// another number of shards when something fails in between.

// whole makes an exchange with all shards, by reading or by writing.
func whole[K comparable, V, T any](ctx context.Context, m *Sharded[K, V], op string, by func(context.Context, *mapstore.Hub, func() (T, error)) (T, error), call func() (T, error)) (result T, err error) {
	if err = m.m.Usable(ctx); err == nil {
		result, err = by(ctx, m.m.Hub, call)
	}
	return result, m.m.Failed(op, err)
}

// unsent makes no exchange.
func unsent[T any](why error) func(context.Context, *mapstore.Hub, func() (T, error)) (T, error) {
	return func(context.Context, *mapstore.Hub, func() (T, error)) (none T, _ error) { return none, why }
}

// under gives the map, or a copy of it, another name, by a script with these arguments. Over
// says whether that goes over what has the name.
func (m *Sharded[K, V]) under(ctx context.Context, op, to string, over bool, script *scripts.Script, args ...string) (bool, error) {
	mapped := m.m.Hub.Engine.Map(to)
	by := mapstore.Writing[bool]
	switch {
	case mapped == "":
		by = unsent[bool](fmt.Errorf("%w: empty new name", ErrInvalidArgument))
	case m.m.Config.Announce:
		by = unsent[bool](fmt.Errorf("%w: near caches are not told that a sharded map has another name", ErrInvalidArgument))
	case m.m.Hub.Engine.Cluster():
		by = unsent[bool](fmt.Errorf("%w: the shards of %q are in other slots of the cluster", ErrInvalidArgument, mapped))
	}
	return whole(ctx, m, op, by, func() (bool, error) { return m.s.Under(ctx, mapped, over, script, args) })
}
