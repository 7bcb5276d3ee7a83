package peer

import (
	"context"
	"time"
)

// Multimap is a multimap of Redisson as one Java thread uses it.
type Multimap struct{ object }

// Multimap returns the multimap of that name with a codec of its own, used by the thread. Kind is list or set, or one of
// them with cache or cachenative behind "multimap": "listmultimap", "setmultimapcache".
func (p *Peer) Multimap(kind, thread, name, codec string) Multimap {
	return Multimap{p.mapOf(kind, thread, name, codec)}
}

func (m Multimap) data(ctx context.Context, operation string, args ...any) ([]Datum, error) {
	reply, err := m.do(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	return reply.data()
}

// Put says whether it was added.
func (m Multimap) Put(ctx context.Context, key, value Datum) (bool, error) {
	return m.truth(ctx, "put", key, value)
}

// PutAll says whether one was added.
func (m Multimap) PutAll(ctx context.Context, key Datum, values ...Datum) (bool, error) {
	return m.truth(ctx, "putAll", anyOf(append([]Datum{key}, values...))...)
}

// GetAll returns the values of a key.
func (m Multimap) GetAll(ctx context.Context, key Datum) ([]Datum, error) {
	return m.data(ctx, "getAll", key)
}

// ContainsKey says whether there is one.
func (m Multimap) ContainsKey(ctx context.Context, key Datum) (bool, error) {
	return m.truth(ctx, "containsKey", key)
}

// ContainsEntry says whether the key has that value.
func (m Multimap) ContainsEntry(ctx context.Context, key, value Datum) (bool, error) {
	return m.truth(ctx, "containsEntry", key, value)
}

// Remove says whether the key had that value.
func (m Multimap) Remove(ctx context.Context, key, value Datum) (bool, error) {
	return m.truth(ctx, "remove", key, value)
}

// RemoveAll returns the values that the key had.
func (m Multimap) RemoveAll(ctx context.Context, key Datum) ([]Datum, error) {
	return m.data(ctx, "removeAll", key)
}

// ReplaceValues returns the values that the key had.
func (m Multimap) ReplaceValues(ctx context.Context, key Datum, values ...Datum) ([]Datum, error) {
	return m.data(ctx, "replaceValues", anyOf(append([]Datum{key}, values...))...)
}

// FastRemove returns how many of the keys were there.
func (m Multimap) FastRemove(ctx context.Context, keys ...Datum) (int64, error) {
	return m.number(ctx, "fastRemove", anyOf(keys)...)
}

// FastRemoveValue removes values from all keys, and says how many there were.
func (m Multimap) FastRemoveValue(ctx context.Context, values ...Datum) (int64, error) {
	return m.number(ctx, "fastRemoveValue", anyOf(values)...)
}

// KeySize returns how many keys there are.
func (m Multimap) KeySize(ctx context.Context) (int64, error) { return m.number(ctx, "keySize") }

// Size returns how many values there are.
func (m Multimap) Size(ctx context.Context) (int64, error) { return m.number(ctx, "size") }

// ReadAllKeySet returns all keys.
func (m Multimap) ReadAllKeySet(ctx context.Context) ([]Datum, error) {
	return m.data(ctx, "readAllKeySet")
}

// Values returns the values of all keys.
func (m Multimap) Values(ctx context.Context) ([]Datum, error) { return m.data(ctx, "values") }

// ContainsValue says whether a key has that value.
func (m Multimap) ContainsValue(ctx context.Context, value Datum) (bool, error) {
	return m.truth(ctx, "containsValue", value)
}

// Range returns some of the values of a key of lists.
func (m Multimap) Range(ctx context.Context, key Datum, first, last int) ([]Datum, error) {
	return m.data(ctx, "range", key, first, last)
}

// NameOfEntryObject returns the name in Redis of what a getter of Java's multimap returns for a key, such as getFairLock.
func (m Multimap) NameOfEntryObject(ctx context.Context, getter string, key Datum) (string, error) {
	return m.nameOfEntryObject(ctx, getter, key)
}

// ExpireKey says whether there is such a key.
func (m Multimap) ExpireKey(ctx context.Context, key Datum, d time.Duration) (bool, error) {
	return m.truth(ctx, "expireKey", key, d)
}

// IsEntryLocked says whether somebody has the lock of a key.
func (m Multimap) IsEntryLocked(ctx context.Context, key Datum) (bool, error) {
	return m.truth(ctx, "isEntryLocked", key)
}

// Delete says whether there was one.
func (m Multimap) Delete(ctx context.Context) (bool, error) { return m.truth(ctx, "delete") }
