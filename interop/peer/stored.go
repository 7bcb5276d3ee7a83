package peer

import (
	"context"
	"errors"
	"time"
)

// StoredMap is an RMap, or an RMapCache, of Redisson in front of a store, as one Java thread uses it.
type StoredMap struct{ Map }

// StoredMap returns the map of that name with a store of its own: kind is "loadedmap", "loadedcache", "writtenmap" (through)
// or "behindmap". See [Peer.Map].
func (p *Peer) StoredMap(kind, thread, name, codec string) StoredMap {
	return StoredMap{Map{p.mapOf(kind, thread, name, codec)}}
}

// On returns the same map, as another thread uses it.
func (m StoredMap) On(thread string) StoredMap {
	m.thread = thread
	return m
}

// Loads returns how many calls of the loader there were.
func (m StoredMap) Loads(ctx context.Context) (int64, error) { return m.number(ctx, "loads") }

// LetLoad lets one call of the loader return, which loads "java".
func (m StoredMap) LetLoad(ctx context.Context) error { return m.void(ctx, "letLoad") }

// Write is what the store was told of one key: a value, or null for what was removed.
type Write struct{ Key, Value Datum }

// Written returns what the store was told.
func (m StoredMap) Written(ctx context.Context) (all []Write, err error) {
	reply, err := m.do(ctx, "written")
	if err != nil {
		return nil, err
	}
	data, err := reply.data()
	for ; len(data) >= 2; data = data[2:] {
		all = append(all, Write{data[0], data[1]})
	}
	return all, err
}

// GetWithLease returns the value of a key, or else, of one that nobody loads, the lease to load it and its token.
func (m MapCache) GetWithLease(ctx context.Context, key Datum, lease time.Duration) (v Datum, acquired bool, token string, err error) {
	reply, err := m.do(ctx, "getWithLease", key, lease)
	if err == nil && len(reply) != 3 {
		err = errors.New("java returned no value, lease and token")
	}
	if err != nil {
		return v, false, "", err
	}
	if v, err = reply[0].datum(); err == nil {
		acquired, err = reply[1:2].Bool()
	}
	return v, acquired, reply[2].Text, err
}

// PutWithLease puts what was loaded; false if the lease has gone.
func (m MapCache) PutWithLease(ctx context.Context, key, value Datum, token string) (bool, error) {
	return m.truth(ctx, "putWithLease", key, value, token)
}
