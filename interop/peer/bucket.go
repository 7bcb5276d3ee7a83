package peer

import "context"

// Bucket is an RBucket of Redisson, one plain value, as one Java thread uses it.
type Bucket struct{ object }

// Bucket returns the bucket of that name with a codec of its own; see [Peer.Map].
func (p *Peer) Bucket(thread, name, codec string) Bucket {
	return Bucket{p.mapOf("bucket", thread, name, codec)}
}

// Get returns the value, null for none.
func (b Bucket) Get(ctx context.Context) (Datum, error) { return b.datum(ctx, "get") }

// Set writes the value.
func (b Bucket) Set(ctx context.Context, value Datum) error { return b.void(ctx, "set", value) }
