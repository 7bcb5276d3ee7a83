package peer

import (
	"context"
	"time"
)

// Latch is an RCountDownLatch of Redisson as one Java thread uses it.
type Latch struct{ object }

// Latch returns the latch of that name, used by the thread.
func (p *Peer) Latch(thread, name string) Latch {
	return Latch{object{peer: p, thread: thread, kind: "latch", name: name}}
}

// TrySetCount arms the latch unless it is armed.
func (l Latch) TrySetCount(ctx context.Context, count int64) (bool, error) {
	return l.truth(ctx, "trySetCount", count)
}

// CountDown counts down once.
func (l Latch) CountDown(ctx context.Context) error { return l.void(ctx, "countDown") }

// GetCount returns what is left.
func (l Latch) GetCount(ctx context.Context) (int64, error) { return l.number(ctx, "getCount") }

// Await waits until the latch opens, for a positive wait at the most, and reports whether it did.
func (l Latch) Await(ctx context.Context, wait time.Duration) (bool, error) {
	if wait > 0 {
		return l.truth(ctx, "await", wait)
	}
	return l.truth(ctx, "await")
}

// Delete removes the latch; false if there was none.
func (l Latch) Delete(ctx context.Context) (bool, error) { return l.truth(ctx, "delete") }
