package peer

import (
	"context"
	"errors"
	"time"
)

// PermitSemaphore is an RPermitExpirableSemaphore of Redisson as one Java thread
// uses it.
type PermitSemaphore struct{ object }

// PermitSemaphore returns the semaphore of that name, used by the thread.
func (p *Peer) PermitSemaphore(thread, name string) PermitSemaphore {
	return PermitSemaphore{object{peer: p, thread: thread, kind: "permitsemaphore", name: name}}
}

// TrySetPermits sets how many there are if none are set.
func (s PermitSemaphore) TrySetPermits(ctx context.Context, permits int64) (bool, error) {
	return s.truth(ctx, "trySetPermits", permits)
}

// SetPermits sets how many there are.
func (s PermitSemaphore) SetPermits(ctx context.Context, permits int64) error {
	return s.void(ctx, "setPermits", permits)
}

// AddPermits adds permits, or takes them away.
func (s PermitSemaphore) AddPermits(ctx context.Context, permits int64) error {
	return s.void(ctx, "addPermits", permits)
}

// Acquire waits for a permit, which lasts for ever with a lease of 0, and returns its
// id.
func (s PermitSemaphore) Acquire(ctx context.Context, lease time.Duration) (id string, err error) {
	var args []any
	if lease > 0 {
		args = append(args, lease)
	}
	reply, err := s.do(ctx, "acquire", args...)
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// TryAcquire waits for a permit as long as it may, and returns its id, "" for none.
// With a lease of 0 it does not wait, and the permit lasts for ever.
func (s PermitSemaphore) TryAcquire(ctx context.Context, wait, lease time.Duration) (id string, err error) {
	var args []any
	if lease > 0 {
		args = append(args, wait, lease)
	}
	reply, err := s.do(ctx, "tryAcquire", args...)
	if err != nil {
		return "", err
	}
	id, err = reply.Text()
	if errors.Is(err, ErrNull) {
		return "", nil
	}
	return id, err
}

// AcquireSome waits for so many permits in one step, and returns their ids.
func (s PermitSemaphore) AcquireSome(ctx context.Context, n int, lease time.Duration) ([]string, error) {
	reply, err := s.do(ctx, "acquireSome", n, lease)
	if err != nil {
		return nil, err
	}
	return reply.Texts()
}

// TryAcquireSome waits for so many permits as long as it may, and returns their ids, none
// if there were too few.
func (s PermitSemaphore) TryAcquireSome(ctx context.Context, n int, wait, lease time.Duration) ([]string, error) {
	reply, err := s.do(ctx, "tryAcquireSome", n, wait, lease)
	if err != nil {
		return nil, err
	}
	return reply.Texts()
}

// ReleaseSome gives permits back in one step. It is an error if one of them had ended.
func (s PermitSemaphore) ReleaseSome(ctx context.Context, ids ...string) error {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return s.void(ctx, "releaseSome", args...)
}

// TryRelease gives the permit of that id back; false if it had ended.
func (s PermitSemaphore) TryRelease(ctx context.Context, id string) (bool, error) {
	return s.truth(ctx, "tryRelease", id)
}

// UpdateLeaseTime sets how long a permit lasts from now on; false if it had ended.
func (s PermitSemaphore) UpdateLeaseTime(ctx context.Context, id string, lease time.Duration) (bool, error) {
	return s.truth(ctx, "updateLeaseTime", id, lease)
}

// LeaseTime returns how long a permit lasts.
func (s PermitSemaphore) LeaseTime(ctx context.Context, id string) (time.Duration, error) {
	ms, err := s.number(ctx, "getLeaseTime", id)
	return time.Duration(ms) * time.Millisecond, err
}

// AvailablePermits returns how many are free.
func (s PermitSemaphore) AvailablePermits(ctx context.Context) (int64, error) {
	return s.number(ctx, "availablePermits")
}

// Delete removes the semaphore; false if there was none.
func (s PermitSemaphore) Delete(ctx context.Context) (bool, error) { return s.truth(ctx, "delete") }
