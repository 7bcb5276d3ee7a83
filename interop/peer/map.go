package peer

import (
	"context"
	"errors"
	"time"
)

// Map is an RMap of Redisson as one Java thread uses it.
type Map struct{ object }

// Map returns the map of that name with a codec of its own, used by the thread. Codecs are named as in [Options]; two with
// a comma between are that of keys and that of values; "" is the one of the options.
func (p *Peer) Map(thread, name, codec string) Map {
	return Map{p.mapOf("map", thread, name, codec)}
}

func (p *Peer) mapOf(kind, thread, name, codec string) object {
	if codec != "" {
		kind += "@" + codec
	}
	return object{peer: p, thread: thread, kind: kind, name: name}
}

func (o object) datum(ctx context.Context, operation string, args ...any) (Datum, error) {
	reply, err := o.do(ctx, operation, args...)
	if err != nil {
		return Datum{}, err
	}
	if len(reply) != 1 {
		return Datum{}, errors.New("java returned no single value")
	}
	return reply[0].datum()
}

func anyOf(data []Datum) (all []any) {
	for _, d := range data {
		all = append(all, d)
	}
	return all
}

// Name returns that of the map.
func (m Map) Name() string { return m.name }

// Get returns the value of a key, null for none.
func (m Map) Get(ctx context.Context, key Datum) (Datum, error) { return m.datum(ctx, "get", key) }

// GetAll returns what there is of several keys.
func (m Map) GetAll(ctx context.Context, keys ...Datum) (map[Datum]Datum, error) {
	reply, err := m.do(ctx, "getAll", anyOf(keys)...)
	if err != nil {
		return nil, err
	}
	return reply.pairs()
}

// Put returns the value that was there.
func (m Map) Put(ctx context.Context, key, value Datum) (Datum, error) {
	return m.datum(ctx, "put", key, value)
}

// PutAll puts keys and values, one behind the other.
func (m Map) PutAll(ctx context.Context, pairs ...Datum) error {
	return m.void(ctx, "putAll", anyOf(pairs)...)
}

// FastPut says whether the key is new.
func (m Map) FastPut(ctx context.Context, key, value Datum) (bool, error) {
	return m.truth(ctx, "fastPut", key, value)
}

// PutIfAbsent returns the value that is there already, null if this one was put.
func (m Map) PutIfAbsent(ctx context.Context, key, value Datum) (Datum, error) {
	return m.datum(ctx, "putIfAbsent", key, value)
}

// FastPutIfAbsent says whether it was put.
func (m Map) FastPutIfAbsent(ctx context.Context, key, value Datum) (bool, error) {
	return m.truth(ctx, "fastPutIfAbsent", key, value)
}

// PutIfExists returns the value that was replaced, null for none.
func (m Map) PutIfExists(ctx context.Context, key, value Datum) (Datum, error) {
	return m.datum(ctx, "putIfExists", key, value)
}

// FastPutIfExists says whether it was put.
func (m Map) FastPutIfExists(ctx context.Context, key, value Datum) (bool, error) {
	return m.truth(ctx, "fastPutIfExists", key, value)
}

// Replace returns the value that was replaced, null for none.
func (m Map) Replace(ctx context.Context, key, value Datum) (Datum, error) {
	return m.datum(ctx, "replace", key, value)
}

// ReplaceExact replaces a value if it is the old one.
func (m Map) ReplaceExact(ctx context.Context, key, old, value Datum) (bool, error) {
	return m.truth(ctx, "replace", key, old, value)
}

// Remove returns what it removed.
func (m Map) Remove(ctx context.Context, key Datum) (Datum, error) {
	return m.datum(ctx, "remove", key)
}

// RemoveExact removes a key if its value is the old one.
func (m Map) RemoveExact(ctx context.Context, key, old Datum) (bool, error) {
	return m.truth(ctx, "remove", key, old)
}

// FastRemove returns how many of the keys were there.
func (m Map) FastRemove(ctx context.Context, keys ...Datum) (int64, error) {
	return m.number(ctx, "fastRemove", anyOf(keys)...)
}

// ContainsKey says whether there is one.
func (m Map) ContainsKey(ctx context.Context, key Datum) (bool, error) {
	return m.truth(ctx, "containsKey", key)
}

// ContainsValue says whether a key has that value.
func (m Map) ContainsValue(ctx context.Context, value Datum) (bool, error) {
	return m.truth(ctx, "containsValue", value)
}

// Size returns how many entries there are.
func (m Map) Size(ctx context.Context) (int64, error) { return m.number(ctx, "size") }

// ValueSize returns how long the bytes of a value are.
func (m Map) ValueSize(ctx context.Context, key Datum) (int64, error) {
	return m.number(ctx, "valueSize", key)
}

// ReadAllKeySet returns all keys.
func (m Map) ReadAllKeySet(ctx context.Context) ([]Datum, error) { return m.all(ctx, "readAllKeySet") }

// ReadAllValues returns all values.
func (m Map) ReadAllValues(ctx context.Context) ([]Datum, error) { return m.all(ctx, "readAllValues") }

func (m Map) all(ctx context.Context, operation string, args ...any) ([]Datum, error) {
	reply, err := m.do(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	return reply.data()
}

// ReadAllMap returns all entries.
func (m Map) ReadAllMap(ctx context.Context) (map[Datum]Datum, error) {
	reply, err := m.do(ctx, "readAllMap")
	if err != nil {
		return nil, err
	}
	return reply.pairs()
}

// AddAndGet adds to a number; the codec writes it as a decimal.
func (m Map) AddAndGet(ctx context.Context, key, delta Datum) (Datum, error) {
	return m.datum(ctx, "addAndGet", key, delta)
}

// Compute puts the value, or removes the key if it is null, by a function that takes that long.
func (m Map) Compute(ctx context.Context, key, value Datum, pause time.Duration) (Datum, error) {
	return m.datum(ctx, "compute", key, value, pause)
}

// ComputeIfAbsent puts the value if there is none, and returns the one that is there then.
func (m Map) ComputeIfAbsent(ctx context.Context, key, value Datum) (Datum, error) {
	return m.datum(ctx, "computeIfAbsent", key, value)
}

// Increment adds one as often as told, each time by a compute of its own, and returns the last value.
func (m Map) Increment(ctx context.Context, key Datum, times int) (Datum, error) {
	return m.datum(ctx, "increment", key, times)
}

// LockEntry takes the lock of a key, which compute takes, too.
func (m Map) LockEntry(ctx context.Context, key Datum) error { return m.void(ctx, "lockEntry", key) }

// UnlockEntry gives it back.
func (m Map) UnlockEntry(ctx context.Context, key Datum) error {
	return m.void(ctx, "unlockEntry", key)
}

// IsEntryLocked says whether somebody has it.
func (m Map) IsEntryLocked(ctx context.Context, key Datum) (bool, error) {
	return m.truth(ctx, "isEntryLocked", key)
}

// NameOfEntryLock returns its name in Redis.
func (m Map) NameOfEntryLock(ctx context.Context, key Datum) (string, error) {
	reply, err := m.do(ctx, "nameOfEntryLock", key)
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// Expire gives the map an end.
func (m Map) Expire(ctx context.Context, after time.Duration) (bool, error) {
	return m.truth(ctx, "expire", after)
}

// ClearExpire takes it away.
func (m Map) ClearExpire(ctx context.Context) (bool, error) { return m.truth(ctx, "clearExpire") }

// ExpireAt gives the map an end at a time.
func (m Map) ExpireAt(ctx context.Context, at time.Time) (bool, error) {
	return m.truth(ctx, "expireAt", at.UnixMilli())
}

// Remaining returns what is left of the whole map, in milliseconds: -2 if there is none, -1 if it has no end.
func (m Map) Remaining(ctx context.Context) (int64, error) { return m.number(ctx, "remainTimeToLive") }

// RandomKeys returns up to so many keys.
func (m Map) RandomKeys(ctx context.Context, n int) ([]Datum, error) {
	return m.all(ctx, "randomKeys", n)
}

// RandomEntries returns up to so many entries.
func (m Map) RandomEntries(ctx context.Context, n int) (map[Datum]Datum, error) {
	reply, err := m.do(ctx, "randomEntries", n)
	if err != nil {
		return nil, err
	}
	return reply.pairs()
}

// SizeInMemory returns how many bytes of memory it takes.
func (m Map) SizeInMemory(ctx context.Context) (int64, error) { return m.number(ctx, "sizeInMemory") }

// RenameNX renames the map if nothing has the new name.
func (m Map) RenameNX(ctx context.Context, to string) (bool, error) {
	return m.truth(ctx, "renamenx", to)
}

// Copy copies the map if nothing has the name of the copy.
func (m Map) Copy(ctx context.Context, to string) (bool, error) { return m.truth(ctx, "copy", to) }

// NameOfEntryObject returns the name in Redis of what a getter of Java's map returns for a key, such as getFairLock.
func (m Map) NameOfEntryObject(ctx context.Context, getter string, key Datum) (string, error) {
	return m.nameOfEntryObject(ctx, getter, key)
}

func (o object) nameOfEntryObject(ctx context.Context, getter string, key Datum) (string, error) {
	reply, err := o.do(ctx, "nameOfEntryObject", getter, key)
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// Clear removes all entries.
func (m Map) Clear(ctx context.Context) error { return m.void(ctx, "clear") }

// Delete removes the map; false if there was none.
func (m Map) Delete(ctx context.Context) (bool, error) { return m.truth(ctx, "delete") }

// MapCache is an RMapCache of Redisson as one Java thread uses it. Java sweeps it from the first use on.
type MapCache struct{ Map }

// MapCache returns the cache of that name; see [Peer.Map].
func (p *Peer) MapCache(thread, name, codec string) MapCache {
	return MapCache{Map{p.mapOf("mapcache", thread, name, codec)}}
}

// PutFor is Put with a time to live and one of idleness, 0 for none.
func (m MapCache) PutFor(ctx context.Context, key, value Datum, ttl, idle time.Duration) (Datum, error) {
	return m.datum(ctx, "put", key, value, ttl, idle)
}

// FastPutFor is FastPut with both.
func (m MapCache) FastPutFor(ctx context.Context, key, value Datum, ttl, idle time.Duration) (bool, error) {
	return m.truth(ctx, "fastPut", key, value, ttl, idle)
}

// PutIfAbsentFor is PutIfAbsent with both.
func (m MapCache) PutIfAbsentFor(ctx context.Context, key, value Datum, ttl, idle time.Duration) (Datum, error) {
	return m.datum(ctx, "putIfAbsent", key, value, ttl, idle)
}

// FastPutIfAbsentFor is FastPutIfAbsent with both.
func (m MapCache) FastPutIfAbsentFor(ctx context.Context, key, value Datum, ttl, idle time.Duration) (bool, error) {
	return m.truth(ctx, "fastPutIfAbsent", key, value, ttl, idle)
}

// PutAllFor is PutAll with a time to live.
func (m MapCache) PutAllFor(ctx context.Context, ttl time.Duration, pairs ...Datum) error {
	return m.void(ctx, "putAllFor", append([]any{ttl}, anyOf(pairs)...)...)
}

// GetWithTTLOnly is Get that touches nothing.
func (m MapCache) GetWithTTLOnly(ctx context.Context, key Datum) (Datum, error) {
	return m.datum(ctx, "getWithTTLOnly", key)
}

// RemainTimeToLive returns what is left of an entry, in milliseconds: -2 if there is none, -1 if it has no end.
func (m MapCache) RemainTimeToLive(ctx context.Context, key Datum) (int64, error) {
	return m.number(ctx, "remainTimeToLive", key)
}

// ExpireEntry changes both times of an entry.
func (m MapCache) ExpireEntry(ctx context.Context, key Datum, ttl, idle time.Duration) (bool, error) {
	return m.truth(ctx, "expireEntry", key, ttl, idle)
}

// ExpireEntries changes the time to live of entries, and says how many; when is a part of the name of Java's method:
// empty, or IfNotSet.
func (m MapCache) ExpireEntries(ctx context.Context, when string, ttl time.Duration, keys ...Datum) (int64, error) {
	return m.number(ctx, "expireEntries"+when, append([]any{ttl}, anyOf(keys)...)...)
}

// SetMaxSize bounds the map; the mode is LRU or LFU.
func (m MapCache) SetMaxSize(ctx context.Context, n int, mode string) error {
	return m.void(ctx, "setMaxSize", n, mode)
}

// TrySetMaxSize does so if there is no bound.
func (m MapCache) TrySetMaxSize(ctx context.Context, n int, mode string) (bool, error) {
	return m.truth(ctx, "trySetMaxSize", n, mode)
}

// Destroy ends Java's sweeping of the map, as this client does it.
func (m MapCache) Destroy(ctx context.Context) error { return m.void(ctx, "destroy") }

// Event is what a listener of a cache was told. What was removed is Old, and Value in Redisson 3.24.3.
type Event struct {
	Kind            string // CREATED, UPDATED, REMOVED or EXPIRED
	Key, Value, Old Datum
}

// Listen adds listeners for all events.
func (m MapCache) Listen(ctx context.Context) error { return m.void(ctx, "listen") }

// Unlisten removes them.
func (m MapCache) Unlisten(ctx context.Context) error { return m.void(ctx, "unlisten") }

// Events waits for so many events, and returns fewer when the wait is over. It keeps the thread of the map meanwhile.
func (m MapCache) Events(ctx context.Context, count int, wait time.Duration) ([]Event, error) {
	reply, err := m.do(ctx, "events", count, wait)
	if err != nil {
		return nil, err
	}
	var events []Event
	for ; len(reply) >= 4; reply = reply[4:] {
		data, err := reply[1:4].data()
		if err != nil {
			return nil, err
		}
		events = append(events, Event{reply[0].Text, data[0], data[1], data[2]})
	}
	return events, nil
}

// MapCacheNative is an RMapCacheNative of Redisson (3.33 or later) as one Java thread uses it.
type MapCacheNative struct{ Map }

// MapCacheNative returns the cache of that name; see [Peer.Map].
func (p *Peer) MapCacheNative(thread, name, codec string) MapCacheNative {
	return MapCacheNative{Map{p.mapOf("mapcachenative", thread, name, codec)}}
}

// PutFor is Put with a time to live.
func (m MapCacheNative) PutFor(ctx context.Context, key, value Datum, ttl time.Duration) (Datum, error) {
	return m.datum(ctx, "put", key, value, ttl)
}

// FastPutFor is FastPut with a time to live.
func (m MapCacheNative) FastPutFor(ctx context.Context, key, value Datum, ttl time.Duration) (bool, error) {
	return m.truth(ctx, "fastPut", key, value, ttl)
}

// PutIfAbsentFor is PutIfAbsent with a time to live.
func (m MapCacheNative) PutIfAbsentFor(ctx context.Context, key, value Datum, ttl time.Duration) (Datum, error) {
	return m.datum(ctx, "putIfAbsent", key, value, ttl)
}

// RemainTimeToLive returns what is left of an entry, in milliseconds: -2 if there is none, -1 if it has no end.
func (m MapCacheNative) RemainTimeToLive(ctx context.Context, key Datum) (int64, error) {
	return m.number(ctx, "remainTimeToLive", key)
}

// ExpireEntry changes the time of an entry.
func (m MapCacheNative) ExpireEntry(ctx context.Context, key Datum, ttl time.Duration) (bool, error) {
	return m.truth(ctx, "expireEntry", key, ttl)
}

// ExpireEntries changes the time of entries, and says how many; when is a part of the name of Java's method: empty,
// IfNotSet, IfGreater or IfLess.
func (m MapCacheNative) ExpireEntries(ctx context.Context, when string, ttl time.Duration, keys ...Datum) (int64, error) {
	return m.number(ctx, "expireEntries"+when, append([]any{ttl}, anyOf(keys)...)...)
}

// ClearExpireEntry makes an entry stay.
func (m MapCacheNative) ClearExpireEntry(ctx context.Context, key Datum) (bool, error) {
	return m.truth(ctx, "clearExpireEntry", key)
}
