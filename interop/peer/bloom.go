package peer

import (
	"context"
	"strconv"
	"time"
)

// BloomFilter is an RBloomFilter of Redisson as one Java thread uses it. Java keeps the shape that a handle has computed.
type BloomFilter struct{ object }

// BloomFilter returns the filter of that name with a codec of its own; see [Peer.Map].
func (p *Peer) BloomFilter(thread, name, codec string) BloomFilter {
	return BloomFilter{p.mapOf("bloomfilter", thread, name, codec)}
}

// TryInit makes the filter.
func (f BloomFilter) TryInit(ctx context.Context, n int64, p float64) (bool, error) {
	return f.truth(ctx, "tryInit", n, strconv.FormatFloat(p, 'g', -1, 64))
}

// Add adds a value, and reports whether it was new.
func (f BloomFilter) Add(ctx context.Context, v Datum) (bool, error) { return f.truth(ctx, "add", v) }

// AddEach adds values one by one, and returns how many were new.
func (f BloomFilter) AddEach(ctx context.Context, vs ...Datum) (int64, error) {
	return f.number(ctx, "addEach", anyOf(vs)...)
}

// ContainsEach returns how many of the values are found, which are asked for one by one.
func (f BloomFilter) ContainsEach(ctx context.Context, vs ...Datum) (int64, error) {
	return f.number(ctx, "containsEach", anyOf(vs)...)
}

// Count returns about how many values were added.
func (f BloomFilter) Count(ctx context.Context) (int64, error) { return f.number(ctx, "count") }

// Shape returns the bits, the bits of a value, and how many values it is for.
func (f BloomFilter) Shape(ctx context.Context) (all []int64, err error) {
	reply, err := f.do(ctx, "shape")
	for _, v := range reply {
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, err
}

// FalseProbability returns the probability as Java writes it.
func (f BloomFilter) FalseProbability(ctx context.Context) (string, error) {
	reply, err := f.do(ctx, "falseProbability")
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// Expire deletes the filter when d has passed.
func (f BloomFilter) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return f.truth(ctx, "expire", d)
}

// Exists reports whether there is one.
func (f BloomFilter) Exists(ctx context.Context) (bool, error) { return f.truth(ctx, "isExists") }

// Delete deletes it.
func (f BloomFilter) Delete(ctx context.Context) (bool, error) { return f.truth(ctx, "delete") }
