package peer

import (
	"context"
	"strconv"
	"time"
)

// Bucket is an RBucket of Redisson, one plain value, as one Java thread uses it.
type Bucket struct{ object }

// Bucket returns the bucket of that name with a codec of its own; see [Peer.Map].
func (p *Peer) Bucket(thread, name, codec string) Bucket {
	return Bucket{p.mapOf("bucket", thread, name, codec)}
}

// Get returns the value, null for none.
func (b Bucket) Get(ctx context.Context) (Datum, error) { return b.datum(ctx, "get") }

// Set writes the value; with a time to live, if there is one.
func (b Bucket) Set(ctx context.Context, value Datum, ttl ...time.Duration) error {
	return b.void(ctx, "set", withTTL(ttl, value)...)
}

func withTTL(ttl []time.Duration, args ...any) []any {
	for _, d := range ttl {
		args = append(args, d)
	}
	return args
}

// SetAndKeepTTL writes the value, and keeps the time to live.
func (b Bucket) SetAndKeepTTL(ctx context.Context, value Datum) error {
	return b.void(ctx, "setAndKeepTTL", value)
}

// SetIfAbsent says whether it wrote the value.
func (b Bucket) SetIfAbsent(ctx context.Context, value Datum, ttl ...time.Duration) (bool, error) {
	return b.truth(ctx, "setIfAbsent", withTTL(ttl, value)...)
}

// SetIfExists says whether it wrote the value.
func (b Bucket) SetIfExists(ctx context.Context, value Datum, ttl ...time.Duration) (bool, error) {
	return b.truth(ctx, "setIfExists", withTTL(ttl, value)...)
}

// GetAndSet returns the value before, null for none.
func (b Bucket) GetAndSet(ctx context.Context, value Datum, ttl ...time.Duration) (Datum, error) {
	return b.datum(ctx, "getAndSet", withTTL(ttl, value)...)
}

// GetAndDelete returns the value that it deleted, null for none.
func (b Bucket) GetAndDelete(ctx context.Context) (Datum, error) { return b.datum(ctx, "getAndDelete") }

// GetAndExpire returns the value, which has a time to live then.
func (b Bucket) GetAndExpire(ctx context.Context, ttl time.Duration) (Datum, error) {
	return b.datum(ctx, "getAndExpire", ttl)
}

// GetAndClearExpire returns the value, which has none then.
func (b Bucket) GetAndClearExpire(ctx context.Context) (Datum, error) {
	return b.datum(ctx, "getAndClearExpire")
}

// CompareAndSet says whether the value was old, and is the other now. Either may be null.
func (b Bucket) CompareAndSet(ctx context.Context, old, value Datum) (bool, error) {
	return b.truth(ctx, "compareAndSet", old, value)
}

// Increment adds one to a text so often, by CompareAndSet.
func (b Bucket) Increment(ctx context.Context, times int) error {
	return b.void(ctx, "increment", strconv.Itoa(times))
}

// Size returns the number of bytes.
func (b Bucket) Size(ctx context.Context) (int64, error) { return b.number(ctx, "size") }

// Delete says whether there was one.
func (b Bucket) Delete(ctx context.Context) (bool, error) { return b.truth(ctx, "delete") }

// RemainTimeToLive returns ms; -1: it has no end, -2: there is none.
func (b Bucket) RemainTimeToLive(ctx context.Context) (int64, error) {
	return b.number(ctx, "remainTimeToLive")
}

// Buckets is an RBuckets of Redisson, as one Java thread uses it.
type Buckets struct{ object }

// Buckets returns the buckets of a client with a codec.
func (p *Peer) Buckets(thread, codec string) Buckets {
	return Buckets{p.mapOf("buckets", thread, "all", codec)}
}

// Get returns the values of those of the names that have one.
func (b Buckets) Get(ctx context.Context, names ...string) (map[string]Datum, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	reply, err := b.do(ctx, "get", args...)
	if err != nil {
		return nil, err
	}
	pairs, err := reply.pairs()
	all := map[string]Datum{}
	for name, v := range pairs {
		all[name.Text] = v
	}
	return all, err
}

// Set writes values.
func (b Buckets) Set(ctx context.Context, values map[string]Datum) error {
	return b.void(ctx, "set", namesAndValues(values)...)
}

// TrySet says whether it wrote the values: none was there.
func (b Buckets) TrySet(ctx context.Context, values map[string]Datum) (bool, error) {
	return b.truth(ctx, "trySet", namesAndValues(values)...)
}

func namesAndValues(values map[string]Datum) (args []any) {
	for name, v := range values {
		args = append(args, name, v)
	}
	return args
}

// BinaryStream is an RBinaryStream of Redisson, as one Java thread uses it.
type BinaryStream struct{ object }

// BinaryStream returns the stream of bytes of that name.
func (p *Peer) BinaryStream(thread, name string) BinaryStream {
	return BinaryStream{p.mapOf("binarystream", thread, name, "")}
}

// Read reads all by the input stream.
func (b BinaryStream) Read(ctx context.Context) (Datum, error) { return b.datum(ctx, "read") }

// Write appends by the output stream.
func (b BinaryStream) Write(ctx context.Context, p []byte) error {
	return b.void(ctx, "write", Bytes(p))
}

// ReadAt reads by the channel.
func (b BinaryStream) ReadAt(ctx context.Context, off int64, n int) (Datum, error) {
	return b.datum(ctx, "readAt", off, n)
}

// WriteAt writes by the channel.
func (b BinaryStream) WriteAt(ctx context.Context, off int64, p []byte) (int64, error) {
	return b.number(ctx, "writeAt", off, Bytes(p))
}

// Truncate cuts by the channel.
func (b BinaryStream) Truncate(ctx context.Context, n int64) error {
	return b.void(ctx, "truncate", n)
}
