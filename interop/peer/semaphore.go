package peer

import (
	"context"
	"time"
)

// Semaphore is an RSemaphore of Redisson as one Java thread uses it.
type Semaphore struct{ object }

// Semaphore returns the semaphore of that name, used by the thread.
func (p *Peer) Semaphore(thread, name string) Semaphore {
	return Semaphore{object{peer: p, thread: thread, kind: "semaphore", name: name}}
}

// TrySetPermits sets how many there are if none are set.
func (s Semaphore) TrySetPermits(ctx context.Context, permits int64) (bool, error) {
	return s.truth(ctx, "trySetPermits", permits)
}

// TrySetPermitsFor is TrySetPermits for a time (Redisson 3.32 or later).
func (s Semaphore) TrySetPermitsFor(ctx context.Context, permits int64, ttl time.Duration) (bool, error) {
	return s.truth(ctx, "trySetPermits", permits, ttl)
}

// Acquire waits until that many are free.
func (s Semaphore) Acquire(ctx context.Context, permits int64) error {
	return s.void(ctx, "acquire", permits)
}

// TryAcquire takes that many if they are free, or become so within a positive wait.
func (s Semaphore) TryAcquire(ctx context.Context, permits int64, wait time.Duration) (bool, error) {
	if wait > 0 {
		return s.truth(ctx, "tryAcquire", permits, wait)
	}
	return s.truth(ctx, "tryAcquire", permits)
}

// Release gives permits back.
func (s Semaphore) Release(ctx context.Context, permits int64) error {
	return s.void(ctx, "release", permits)
}

// AddPermits adds permits, or takes them away.
func (s Semaphore) AddPermits(ctx context.Context, permits int64) error {
	return s.void(ctx, "addPermits", permits)
}

// DrainPermits takes all that are free.
func (s Semaphore) DrainPermits(ctx context.Context) (int64, error) {
	return s.number(ctx, "drainPermits")
}

// AvailablePermits returns how many are free.
func (s Semaphore) AvailablePermits(ctx context.Context) (int64, error) {
	return s.number(ctx, "availablePermits")
}

// Delete removes the semaphore; false if there was none.
func (s Semaphore) Delete(ctx context.Context) (bool, error) { return s.truth(ctx, "delete") }
