package peer

import (
	"context"
	"strconv"
)

// BitSet is an RBitSet of Redisson, as one Java thread uses it.
type BitSet struct{ object }

// BitSet returns the bitset of that name.
func (p *Peer) BitSet(thread, name string) BitSet {
	return BitSet{p.mapOf("bitset", thread, name, "")}
}

// Get returns a bit.
func (b BitSet) Get(ctx context.Context, i int64) (bool, error) { return b.truth(ctx, "get", i) }

// Set writes a bit, and returns what it was.
func (b BitSet) Set(ctx context.Context, i int64, v bool) (bool, error) {
	return b.truth(ctx, "set", i, strconv.FormatBool(v))
}

// SetRange writes bits, one by one.
func (b BitSet) SetRange(ctx context.Context, from, to int64, v bool) error {
	return b.void(ctx, "setRange", from, to, strconv.FormatBool(v))
}

// SetAll writes those of a java.util.BitSet of some bytes, over all that was there.
func (b BitSet) SetAll(ctx context.Context, p []byte) error { return b.void(ctx, "setAll", Bytes(p)) }

// Cardinality counts the bits that are 1.
func (b BitSet) Cardinality(ctx context.Context) (int64, error) { return b.number(ctx, "cardinality") }

// Length returns the highest of them, plus 1.
func (b BitSet) Length(ctx context.Context) (int64, error) { return b.number(ctx, "length") }

// Size returns how many bits there is room for.
func (b BitSet) Size(ctx context.Context) (int64, error) { return b.number(ctx, "size") }

// ToByteArray returns the bytes as Java has them.
func (b BitSet) ToByteArray(ctx context.Context) (Datum, error) { return b.datum(ctx, "toByteArray") }

// Combine does and, or, xor or not.
func (b BitSet) Combine(ctx context.Context, how string, names ...string) error {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	return b.void(ctx, how, args...)
}

// Number does getSigned, setSigned, incrementAndGetSigned, or the same of Unsigned, with a size, an offset, and a number.
func (b BitSet) Number(ctx context.Context, how string, size int, args ...any) (int64, error) {
	return b.number(ctx, how, append([]any{size}, args...)...)
}

// RemainTimeToLive returns ms; -1: it has no end, -2: there is none.
func (b BitSet) RemainTimeToLive(ctx context.Context) (int64, error) {
	return b.number(ctx, "remainTimeToLive")
}
