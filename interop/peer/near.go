package peer

import "context"

// NearMap is an RLocalCachedMap of Redisson as one Java thread uses it.
type NearMap struct{ Map }

// NearMap returns the map of that name with a near cache of its own, which is kept in step as the sync says: "invalidate",
// "update", "load" (invalidate, and the log is read when it has reconnected), "silent", or "misses" (invalidate, and that
// there is no entry is kept, too). See [Peer.Map].
func (p *Peer) NearMap(thread, name, codec, sync string) NearMap {
	return NearMap{Map{p.mapOf("near"+sync, thread, name, codec)}}
}

// Cached says whether the near cache has the key.
func (m NearMap) Cached(ctx context.Context, key Datum) (bool, error) {
	return m.truth(ctx, "cached", key)
}

// ClearLocalCache drops all from all near caches, and waits until they have.
func (m NearMap) ClearLocalCache(ctx context.Context) error { return m.void(ctx, "clearLocalCache") }

// PutInTransaction puts in a transaction of its own.
func (m NearMap) PutInTransaction(ctx context.Context, key, value Datum) error {
	return m.void(ctx, "putInTransaction", key, value)
}
