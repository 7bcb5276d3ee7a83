package rmap

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// wholeMap has the operations on a whole map, which Map, TTLMap and Cache share.
type wholeMap[K comparable, V any] struct{ common[K, V] }

func wholeOf[K comparable, V any](m *handle[K, V]) wholeMap[K, V] { return wholeMap[K, V]{commonOf(m)} }

// Delete deletes the map, of a [Cache] with its bound, and reports whether there was one. Listeners of a Cache stay:
// a client with this library tells them of what comes later.
//
// Cost: one command; a script call with [WithAnnounce]. Errors: as Put. Source: RMap.delete.
func (w wholeMap[K, V]) Delete(ctx context.Context) (there bool, err error) {
	m := w.m
	if err = m.usable(ctx); err == nil {
		there, err = writing(ctx, m.h, func() (bool, error) {
			s := m.sender()
			if c, is := m.store.(*cached); is {
				return send.Yes(c.drop(ctx, c.object()))
			}
			if m.cfg.announce {
				return send.Yes(s.dropAll(ctx))
			}
			return send.Yes(s.delete(ctx, m.store.object()))
		})
	}
	return there, m.failed("delete", err)
}

// Exists reports whether there is an entry at all. Of a [Cache] an expired entry counts until it is swept.
//
// Cost: one command. Errors: as Has. Source: RMap.isExists.
func (w wholeMap[K, V]) Exists(ctx context.Context) (bool, error) { return w.m.exists(ctx) }

func (m *handle[K, V]) exists(ctx context.Context) (there bool, err error) {
	if err = m.usable(ctx); err == nil {
		there, err = reading(ctx, m.h, func() (bool, error) {
			s := m.sender()
			return send.Yes(s.read(ctx, exists))
		})
	}
	return there, m.failed("look for", err)
}

// Expire deletes the whole map when d has passed, with all that is written until then, and reports whether there is
// one. A map that was removed, cleared or is empty, and is written anew, has no such time. Entries of a [TTLMap] or a
// [Cache] may end before. No listener of a Cache is told, except near caches with [WithAnnounce].
//
// Cost: one script call. Errors: as Put. Source: RMap.expire.
func (w wholeMap[K, V]) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = send.CheckTTL("time to live", d); err == nil {
		there, err = w.setTime(ctx, decimal(core.Millis(d)))
	}
	return there, w.m.failed("expire", err)
}

// ExpireAt is Expire at a time, by the clock of the server. A time that has passed deletes the map at once. ExpireAt returns
// [ErrInvalidArgument] if the time is not after 1970, or is too far ahead.
//
// Cost: one script call. Errors: as Put. Source: RMap.expire.
func (w wholeMap[K, V]) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	ms, err := send.Instant(at)
	if err == nil {
		there, err = w.setTime(ctx, ms)
	}
	return there, w.m.failed("expire", err)
}

// Persist removes the time of Expire, and reports whether there was one. The times of entries stay.
//
// Cost: one script call. Errors: as Put. Source: RMap.clearExpire.
func (w wholeMap[K, V]) Persist(ctx context.Context) (had bool, err error) {
	had, err = w.setTime(ctx, "")
	return had, w.m.failed("persist", err)
}

// setTime ends the map at a time in ms since 1970, or never if there is none.
func (w wholeMap[K, V]) setTime(ctx context.Context, ms string) (bool, error) {
	m := w.m
	if err := m.usable(ctx); err != nil {
		return false, err
	}
	return writing(ctx, m.h, func() (bool, error) {
		if c, is := m.store.(*cached); is {
			if ms == "" {
				return send.Yes(c.write(ctx, mapcache.Persist, c.n.All()))
			}
			return send.Yes(c.write(ctx, mapcache.Expire, c.n.All(), c.tellAll(ms)...))
		}
		all, s := m.store.object(), m.sender()
		return send.Yes(s.write(ctx, expireScript, append(all, s.keys()[1:]...), s.tellAll(decimal(int64(len(all))), ms)...))
	})
}

// Remaining returns how long the whole map stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Has. Source: RMap.remainTimeToLive.
func (w wholeMap[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return w.m.remaining(ctx)
}

func (m *handle[K, V]) remaining(ctx context.Context) (left time.Duration, err error) {
	if err = m.usable(ctx); err == nil {
		left, err = reading(ctx, m.h, func() (time.Duration, error) {
			s := m.sender()
			return send.Remainder(send.Number(s.read(ctx, pttl)))
		})
	}
	return left, m.failed("look at", err)
}

// Rename gives the map another name, over a map that has it, and reports whether
// there was one to rename. Entries keep their times, and a [Cache] its bound. The handle stays one on the old name. On a
// cluster both names share a hash tag, such as a:{1} and b:{1}. The locks of entries and the listeners of a Cache are those of
// the name. What expires under the new name is swept by clients that use that.
//
// Cost: one script call. Errors: as Put. Source: RMap.rename.
func (w wholeMap[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return w.named(ctx, "rename", to, renameScript, func(s sender, n string) []string { return s.tellBoth(w.m.h.e.Map(to), n, flag(false)) })
}

// RenameIfAbsent is Rename if nothing has the new name, and reports whether that is so and there is a map to rename.
//
// Cost: one script call. Errors: as Put. Source: RMap.renamenx.
func (w wholeMap[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return w.named(ctx, "rename", to, renameScript, func(s sender, n string) []string { return s.tellBoth(w.m.h.e.Map(to), n, flag(true)) })
}

// Copy copies the map under another name, with its times, if nothing has that, and reports whether that is so and
// there is such a map. The server does nothing else meanwhile, about a second for a million entries. On a cluster both
// names share a hash tag. What expires under the new name is swept by clients that use that.
//
// Cost: one script call. Errors: as Put. Source: RMap.copy.
func (w wholeMap[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return w.named(ctx, "copy", to, copyScript, func(s sender, n string) []string { return s.tellAllOf(w.m.h.e.Map(to), n) })
}

// named runs a script about the keys of the map, n pairs with those of a map of another name.
func (w wholeMap[K, V]) named(ctx context.Context, op, to string, by *scripts.Script, args func(s sender, n string) []string) (done bool, err error) {
	m := w.m
	var pairs []string
	if err = m.usable(ctx); err == nil {
		pairs, err = object.Renamed(m.h.e, m.key, to, m.keysOf)
	}
	if err == nil {
		done, err = writing(ctx, m.h, func() (bool, error) {
			s := m.sender()
			return send.Yes(s.write(ctx, by, pairs, args(s, decimal(int64(len(pairs)/2)))...))
		})
	}
	return done, m.failed(op, err)
}

// SizeInMemory returns about how many bytes the map takes on the server, 0 if there is none. An ACL has to allow
// memory|usage.
//
// Cost: one script call. Errors: as Has. Source: RMap.sizeInMemory.
func (w wholeMap[K, V]) SizeInMemory(ctx context.Context) (n int64, err error) {
	if err = w.m.usable(ctx); err == nil {
		n, err = reading(ctx, w.m.h, func() (int64, error) {
			return w.m.h.e.SizeInMemory(ctx, w.m.store.object())
		})
	}
	return n, w.m.failed("measure", err)
}
