package peer

import (
	"context"
	"strconv"
)

// AtomicLong is an RAtomicLong of Redisson as one Java thread uses it.
type AtomicLong struct{ object }

// AtomicLong returns the counter of that name.
func (p *Peer) AtomicLong(thread, name string) AtomicLong {
	return AtomicLong{object{peer: p, thread: thread, kind: "atomiclong", name: name}}
}

// Number runs an operation that answers a number, such as addAndGet.
func (a AtomicLong) Number(ctx context.Context, operation string, args ...any) (int64, error) {
	return a.number(ctx, operation, args...)
}

// Truth runs an operation that answers whether it did something, such as compareAndSet.
func (a AtomicLong) Truth(ctx context.Context, operation string, args ...any) (bool, error) {
	return a.truth(ctx, operation, args...)
}

// Set sets the number.
func (a AtomicLong) Set(ctx context.Context, n int64) error { return a.void(ctx, "set", n) }

// AtomicDouble is an RAtomicDouble of Redisson as one Java thread uses it.
type AtomicDouble struct{ object }

// AtomicDouble returns the float of that name.
func (p *Peer) AtomicDouble(thread, name string) AtomicDouble {
	return AtomicDouble{object{peer: p, thread: thread, kind: "atomicdouble", name: name}}
}

// Float runs an operation that answers a number, such as addAndGet.
func (a AtomicDouble) Float(ctx context.Context, operation string, args ...any) (float64, error) {
	reply, err := a.do(ctx, operation, args...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(reply[0].Text, 64)
}

// CompareAndSet sets the number to v if it is was, and reports whether it did.
func (a AtomicDouble) CompareAndSet(ctx context.Context, was, v float64) (bool, error) {
	return a.truth(ctx, "compareAndSet", was, v)
}

// Set sets the number.
func (a AtomicDouble) Set(ctx context.Context, v float64) error { return a.void(ctx, "set", v) }

// IDGenerator is an RIdGenerator of Redisson as one Java thread uses it.
type IDGenerator struct{ object }

// IDGenerator returns the id generator of that name.
func (p *Peer) IDGenerator(thread, name string) IDGenerator {
	return IDGenerator{object{peer: p, thread: thread, kind: "idgenerator", name: name}}
}

// TryInit sets the first id and the size of a block.
func (g IDGenerator) TryInit(ctx context.Context, start, block int64) (bool, error) {
	return g.truth(ctx, "tryInit", start, block)
}

// NextIDs returns n ids.
func (g IDGenerator) NextIDs(ctx context.Context, n int) ([]int64, error) {
	reply, err := g.do(ctx, "nextIds", n)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(reply))
	for i, v := range reply {
		if ids[i], err = strconv.ParseInt(v.Text, 10, 64); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// HyperLogLog is an RHyperLogLog of Redisson as one Java thread uses it.
type HyperLogLog struct{ object }

// HyperLogLog returns the count of that name with a codec of its own; see [Peer.Map].
func (p *Peer) HyperLogLog(thread, name, codec string) HyperLogLog {
	return HyperLogLog{p.mapOf("hyperloglog", thread, name, codec)}
}

// Add adds a value, and reports whether that has changed the count.
func (h HyperLogLog) Add(ctx context.Context, v Datum) (bool, error) { return h.truth(ctx, "add", v) }

// Count returns about how many different values were added to this count or to one of the others.
func (h HyperLogLog) Count(ctx context.Context, others ...string) (int64, error) {
	args := make([]any, len(others))
	for i, name := range others {
		args[i] = name
	}
	if len(args) == 0 {
		return h.number(ctx, "count")
	}
	return h.number(ctx, "countWith", args...)
}

// MergeWith adds all that was added to another.
func (h HyperLogLog) MergeWith(ctx context.Context, other string) error {
	return h.void(ctx, "mergeWith", other)
}
