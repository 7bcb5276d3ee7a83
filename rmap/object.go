package rmap

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// wholeMap has the operations on a whole map, which Map, TTLMap and Cache share.
type wholeMap[K comparable, V any] struct{ common[K, V] }

func wholeOf[K comparable, V any](m *handle[K, V]) wholeMap[K, V] { return wholeMap[K, V]{commonOf(m)} }

// Delete deletes the map, of a [Cache] with its bound, and reports whether there was one. Listeners of a Cache stay:
// a client with this library tells them of what comes later.
//
// Cost: one command; a script call with [WithAnnounce]. Errors: as Put. Source: RMap.delete.
func (w *wholeMap[K, V]) Delete(ctx context.Context) (there bool, err error) {
	m := w.m
	if err = m.Usable(ctx); err == nil {
		there, err = mapstore.Writing(ctx, m.Hub, func() (bool, error) {
			s := m.Sender()
			if c, is := m.Store.(*mapstore.Cached); is {
				return send.Yes(c.Drop(ctx, c.Object()))
			}
			if m.Config.Announce {
				return send.Yes(s.DropAll(ctx))
			}
			return send.Yes(s.Delete(ctx, m.Store.Object()))
		})
	}
	return there, m.Failed("delete", err)
}

// Exists reports whether there is an entry at all. Of a [Cache] an expired entry counts until it is swept.
//
// Cost: one command. Errors: as Has. Source: RMap.isExists.
func (w *wholeMap[K, V]) Exists(ctx context.Context) (bool, error) { return w.m.exists(ctx) }

func (m *handle[K, V]) exists(ctx context.Context) (there bool, err error) {
	if err = m.Usable(ctx); err == nil {
		there, err = mapstore.Reading(ctx, m.Hub, func() (bool, error) {
			s := m.Sender()
			return send.Yes(s.Read(ctx, mapstore.Exists))
		})
	}
	return there, m.Failed("look for", err)
}

// Expire deletes the whole map when d has passed, with all that is written until then, and reports whether there is
// one. A map that was removed, cleared or is empty, and is written anew, has no such time. Entries of a [TTLMap] or a
// [Cache] may end before. No listener of a Cache is told, except near caches with [WithAnnounce].
//
// Cost: one script call. Errors: as Put. Source: RMap.expire.
func (w *wholeMap[K, V]) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = send.CheckTTL("time to live", d); err == nil {
		there, err = w.setTime(ctx, mapstore.Decimal(core.Millis(d)))
	}
	return there, w.m.Failed("expire", err)
}

// ExpireAt deletes the whole map at a time, as Expire does after a duration, by the clock of the
// server. A time that has passed deletes the map at once. ExpireAt returns [ErrInvalidArgument] if
// the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Put. Source: RMap.expire.
func (w *wholeMap[K, V]) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	ms, err := send.Instant(at)
	if err == nil {
		there, err = w.setTime(ctx, ms)
	}
	return there, w.m.Failed("expire", err)
}

// Persist removes the time of Expire, and reports whether there was one. The times of entries stay.
//
// Cost: one script call. Errors: as Put. Source: RMap.clearExpire.
func (w *wholeMap[K, V]) Persist(ctx context.Context) (had bool, err error) {
	had, err = w.setTime(ctx, "")
	return had, w.m.Failed("persist", err)
}

// setTime ends the map at a time in ms since 1970, or never if there is none.
func (w *wholeMap[K, V]) setTime(ctx context.Context, ms string) (bool, error) {
	m := w.m
	if err := m.Usable(ctx); err != nil {
		return false, err
	}
	return mapstore.Writing(ctx, m.Hub, func() (bool, error) {
		if c, is := m.Store.(*mapstore.Cached); is {
			if ms == "" {
				return send.Yes(c.Write(ctx, mapcache.Persist, c.Names.All()))
			}
			return send.Yes(c.Write(ctx, mapcache.Expire, c.Names.All(), c.TellAll(ms)...))
		}
		all, s := m.Store.Object(), m.Sender()
		return send.Yes(s.Write(ctx, mapstore.ExpireScript, append(all, s.Keys()[1:]...), s.TellAll(mapstore.Decimal(int64(len(all))), ms)...))
	})
}

// Remaining returns how long the whole map stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Has. Source: RMap.remainTimeToLive.
func (w *wholeMap[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return w.m.remaining(ctx)
}

func (m *handle[K, V]) remaining(ctx context.Context) (left time.Duration, err error) {
	if err = m.Usable(ctx); err == nil {
		left, err = mapstore.Reading(ctx, m.Hub, func() (time.Duration, error) {
			s := m.Sender()
			return send.Remainder(send.Number(s.Read(ctx, mapstore.PTTL)))
		})
	}
	return left, m.Failed("look at", err)
}

// Rename gives the map another name, over a map that has it, and reports whether
// there was one to rename. Entries keep their times, and a [Cache] its bound. The handle stays one on the old name. On a
// cluster both names share a hash tag, such as a:{1} and b:{1}. The locks of entries and the listeners of a Cache are those of
// the name. What expires under the new name is swept by clients that use that.
//
// Cost: one script call. Errors: as Put. Source: RMap.rename.
func (w *wholeMap[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return w.named(ctx, "rename", to, mapstore.RenameScript, func(s mapstore.Sender, n string) []string {
		return s.TellBoth(w.m.Hub.Engine.Map(to), n, mapstore.Flag(false))
	})
}

// RenameIfAbsent renames the map, as Rename does, if nothing has the new name, and reports whether
// it did.
//
// Cost: one script call. Errors: as Put. Source: RMap.renamenx.
func (w *wholeMap[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return w.named(ctx, "rename", to, mapstore.RenameScript, func(s mapstore.Sender, n string) []string {
		return s.TellBoth(w.m.Hub.Engine.Map(to), n, mapstore.Flag(true))
	})
}

// Copy copies the map under another name, with its times, if nothing has that, and reports whether that is so and
// there is such a map. The server does nothing else meanwhile, about a second for a million entries. On a cluster both
// names share a hash tag. What expires under the new name is swept by clients that use that.
//
// Cost: one script call. Errors: as Put. Source: RMap.copy.
func (w *wholeMap[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return w.named(ctx, "copy", to, mapstore.CopyScript, func(s mapstore.Sender, n string) []string { return s.TellAllOf(w.m.Hub.Engine.Map(to), n) })
}

// named runs a script about the keys of the map, n pairs with those of a map of another name.
func (w *wholeMap[K, V]) named(ctx context.Context, op, to string, by *scripts.Script, args func(s mapstore.Sender, n string) []string) (done bool, err error) {
	m := w.m
	var pairs []string
	if err = m.Usable(ctx); err == nil {
		pairs, err = object.Renamed(m.Hub.Engine, m.Key, to, m.keysOf)
	}
	if err == nil {
		done, err = mapstore.Writing(ctx, m.Hub, func() (bool, error) {
			s := m.Sender()
			return send.Yes(s.Write(ctx, by, pairs, args(s, mapstore.Decimal(int64(len(pairs)/2)))...))
		})
	}
	return done, m.Failed(op, err)
}

// SizeInMemory returns about how many bytes the map takes on the server, 0 if there is none. An ACL has to allow
// memory|usage.
//
// Cost: one script call. Errors: as Has. Source: RMap.sizeInMemory.
func (w *wholeMap[K, V]) SizeInMemory(ctx context.Context) (n int64, err error) {
	if err = w.m.Usable(ctx); err == nil {
		n, err = mapstore.Reading(ctx, w.m.Hub, func() (int64, error) {
			return w.m.Hub.Engine.SizeInMemory(ctx, w.m.Store.Object())
		})
	}
	return n, w.m.Failed("measure", err)
}
