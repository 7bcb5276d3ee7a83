package peer

import "context"

// Geo is an RGeo of Redisson, as one Java thread uses it.
type Geo struct{ object }

// Geo returns the set of places of that name with a codec of its own, used by the thread.
func (p *Peer) Geo(thread, name, codec string) Geo {
	return Geo{p.mapOf("geo", thread, name, codec)}
}

// Add puts an element at a position, and returns how many were not there.
func (g Geo) Add(ctx context.Context, longitude, latitude float64, v Datum) (int64, error) {
	return g.number(ctx, "add", longitude, latitude, v)
}

// AddIf does tryAdd or addIfExists.
func (g Geo) AddIf(ctx context.Context, operation string, longitude, latitude float64, v Datum) (bool, error) {
	return g.truth(ctx, operation, longitude, latitude, v)
}

// Dist returns how many metres two elements are apart, as Java spells it.
func (g Geo) Dist(ctx context.Context, a, b Datum) (string, error) { return g.text(ctx, "dist", a, b) }

// Hash returns the geohash of an element.
func (g Geo) Hash(ctx context.Context, v Datum) (string, error) { return g.text(ctx, "hash", v) }

func (g Geo) text(ctx context.Context, operation string, args ...any) (string, error) {
	reply, err := g.do(ctx, operation, args...)
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// Pos returns the longitude and the latitude of an element, texts; nothing if it is not there.
func (g Geo) Pos(ctx context.Context, v Datum) ([]Datum, error) {
	return ScoredSet(g).list(ctx, "pos", v)
}

// Circle returns what is within so many metres of a position, each element with its distance, the nearest first.
func (g Geo) Circle(ctx context.Context, longitude, latitude, metres float64) ([]Datum, error) {
	return ScoredSet(g).list(ctx, "circle", longitude, latitude, metres)
}

// Box returns what is within a box around a position, each element with its distance, the farthest first.
func (g Geo) Box(ctx context.Context, longitude, latitude, width, height float64) ([]Datum, error) {
	return ScoredSet(g).list(ctx, "box", longitude, latitude, width, height)
}

// Nearest returns the elements that are nearest to one.
func (g Geo) Nearest(ctx context.Context, v Datum, metres float64, n int) ([]Datum, error) {
	return ScoredSet(g).list(ctx, "nearest", v, metres, n)
}

// StoreSearch does storeSearchTo or storeSortedSearchTo of what is near an element, and returns how many there are.
func (g Geo) StoreSearch(ctx context.Context, operation, to string, v Datum, metres float64) (int64, error) {
	return g.number(ctx, operation, to, v, metres)
}

// Remove removes an element.
func (g Geo) Remove(ctx context.Context, v Datum) (bool, error) { return g.truth(ctx, "remove", v) }

// Keys is the RKeys of Redisson, as one Java thread uses it.
type Keys struct{ object }

// Keys returns the keys of the server, used by the thread.
func (p *Peer) Keys(thread string) Keys { return Keys{object{p, thread, "keys", thread}} }

// Matching returns the keys that match a pattern.
func (k Keys) Matching(ctx context.Context, pattern string) ([]Datum, error) {
	return ScoredSet(k).list(ctx, "getKeysByPattern", pattern)
}

// Number does a count, countExists, touch, delete, unlink, or deleteByPattern.
func (k Keys) Number(ctx context.Context, operation string, keys ...any) (int64, error) {
	return k.number(ctx, operation, keys...)
}

// Type returns the type of a key, as Java spells it.
func (k Keys) Type(ctx context.Context, key string) (string, error) {
	return Geo(k).text(ctx, "getType", key)
}

// Expire has a key end after some milliseconds.
func (k Keys) Expire(ctx context.Context, key string, ms int64) (bool, error) {
	return k.truth(ctx, "expire", key, ms)
}

// ClearExpire has a key stay.
func (k Keys) ClearExpire(ctx context.Context, key string) (bool, error) {
	return k.truth(ctx, "clearExpire", key)
}

// RemainTimeToLive returns how many milliseconds a key stays.
func (k Keys) RemainTimeToLive(ctx context.Context, key string) (int64, error) {
	return k.number(ctx, "remainTimeToLive", key)
}
