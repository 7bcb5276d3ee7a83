package rmap

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/entrycodec"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// A CacheOption changes a handle on a [Cache]. If an option is invalid, such as a codec of
// another type, every operation of the handle returns [ErrInvalidArgument].
type CacheOption interface {
	applyHandle(*mapstore.Config) error
	forCache()
}

// A TTLMapOption changes a handle on a [TTLMap], or on a Cache.
type TTLMapOption interface {
	CacheOption
	forTTLMap()
}

// A MapOption changes a handle on a [Map] or a [Sharded], on a TTLMap, or on a Cache.
type MapOption interface {
	TTLMapOption
	forMap()
}

// A PutOption changes one write. A map that cannot keep what it says returns an
// [ErrInvalidArgument] before anything is sent: all kinds share their methods, see [Mapping].
type PutOption interface {
	applyPut(*mapstore.Lifetime) error
}

// A TTLOption changes one write of a [TTLMap] or a [Cache]. As an option of the handle it changes all
// of its writes.
type TTLOption interface {
	TTLMapOption
	PutOption
}

// An IdleOption changes one write of a [Cache]. As an option of the handle it changes all of its writes.
type IdleOption interface {
	CacheOption
	PutOption
}

// WithCodec sets the codec of the values, as rueidisson.WithCodec does for all
// objects of a client. Keys stay [codec.Text]: see [WithKeyCodec] and [WithCodecs].
func WithCodec(f codec.Family) MapOption {
	return mapOption(func(c *mapstore.Config) error {
		c.Codecs.SetFamily(f)
		return nil
	})
}

// WithCodecs sets the codec of the keys and the codec of the values. A Java map that has one codec
// for both is WithCodecs(f, f).
func WithCodecs(keys, values codec.Family) MapOption {
	return mapOption(func(c *mapstore.Config) error {
		c.Codecs.SetFamilies(keys, values)
		return nil
	})
}

// WithKeyCodec sets the codec of the keys. Two keys are one key when their
// bytes are the same, and only then: equal keys have to give equal bytes, on
// every version of the program.
func WithKeyCodec[K comparable](c codec.Codec[K]) MapOption {
	return mapOption(func(cfg *mapstore.Config) error {
		return entrycodec.SetKey(&cfg.Codecs, c)
	})
}

// WithValueCodec sets the codec of the values to one of the program's own. [WithCodec] takes
// a family, which has a codec for each type.
func WithValueCodec[V any](c codec.Codec[V]) MapOption {
	return mapOption(func(cfg *mapstore.Config) error {
		return entrycodec.SetValue(&cfg.Codecs, c)
	})
}

// WithRequestIDs makes every write safe to send again. The server keeps the answer to a write
// until the caller has it, 45 s at most, and gives it to a second send. So a write does not
// return [ErrOutcomeUnknown] after a lost reply, if the server answers again within the time
// that an operation is sent again for. A write is a script call then, and a further command
// deletes its answer. During a slot migration of the map, writes wait for its end.
//
// The value that [Map.Take] or [Map.Swap] returns is kept, too, if it takes longer on its way
// than a send has, 3 s for about 24 MB. Without request IDs they return ErrOutcomeUnknown
// then, unless the client has read values of the map that were as long.
func WithRequestIDs() MapOption {
	return mapOption(func(c *mapstore.Config) error {
		c.RequestIDs = true
		return nil
	})
}

// WithEntryLock has Compute take the lock of the entry, see [Map.Lock], as
// Redisson's compute does. It is for maps on which Java computes: its compute
// reads, and writes what came of it, whatever was written meanwhile.
func WithEntryLock() MapOption {
	return mapOption(func(c *mapstore.Config) error {
		c.EntryLock = true
		return nil
	})
}

// WithAnnounce makes every write tell the near caches of the map what it changes, in the step of
// the write: those of this library that are made with nearcache.WithAnnounced, and Redisson's
// RLocalCachedMap. Every writer of such a map needs it, with a near cache of its own or without.
// It is for [Map], [TTLMap], [Sharded] and [Cache]. A write is a script call then, of a Cache
// its general script. A [Cache] also tells of what it evicts and sweeps. So a process that does
// that needs the option, even if it only listens ([Cache.Events]) or sets a bound. See
// docs/guide/near-caches.md for what Java hears of that.
func WithAnnounce() MapOption {
	return mapOption(func(c *mapstore.Config) error {
		c.Announce = true
		return nil
	})
}

// WithTTL sets the time to live of one entry, or as an option of the handle of every
// entry that it writes. It is counted in whole milliseconds, rounded up. Operations return
// [ErrInvalidArgument] if it is below a millisecond or above 100 years.
//
// WithTTL(0) makes the entry permanent, whatever the handle says and the entry has.
func WithTTL(d time.Duration) TTLOption {
	return ttlOption(func(l *mapstore.Lifetime) error {
		l.TTL, l.Keep, l.Forever = d, false, d == 0
		if d == 0 {
			return nil
		}
		return send.CheckTTL("time to live", d)
	})
}

// WithKeepTTL keeps the existing entry's expiry: in one write, or as an option of the handle
// in every one. Without it a write without [WithTTL] makes the entry permanent.
func WithKeepTTL() TTLOption {
	return ttlOption(func(l *mapstore.Lifetime) error {
		*l = mapstore.Lifetime{Keep: true}
		return nil
	})
}

// WithMaxIdle sets the idle time of one entry, or as an option of the handle of every
// entry that it writes. The entry expires when it was not read, written or touched
// for d. With [WithTTL], too, it expires at the earlier of the two. It is
// counted as a time to live is.
func WithMaxIdle(d time.Duration) IdleOption {
	return idleOption(func(l *mapstore.Lifetime) error {
		l.Idle, l.Keep = d, false
		return send.CheckTTL("idle time", d)
	})
}

type mapOption func(*mapstore.Config) error

func (o mapOption) applyHandle(c *mapstore.Config) error { return o(c) }
func (mapOption) forCache()                              {}
func (mapOption) forTTLMap()                             {}
func (mapOption) forMap()                                {}

type ttlOption func(*mapstore.Lifetime) error

func (o ttlOption) applyHandle(c *mapstore.Config) error { return o(&c.Entries) }
func (o ttlOption) applyPut(l *mapstore.Lifetime) error  { return o(l) }
func (ttlOption) forCache()                              {}
func (ttlOption) forTTLMap()                             {}

type idleOption func(*mapstore.Lifetime) error

func (o idleOption) applyHandle(c *mapstore.Config) error { return o(&c.Entries) }
func (o idleOption) applyPut(l *mapstore.Lifetime) error  { return o(l) }
func (idleOption) forCache()                              {}

// staying refuses what a plain map cannot do.
func staying(l mapstore.Lifetime) error {
	if !l.Stays() {
		return fmt.Errorf("%w: WithTTL, WithKeepTTL and WithMaxIdle are not supported by a plain map: use a TTLMap (Redis 7.4, Valkey 9) or a Cache", ErrInvalidArgument)
	}
	return nil
}
