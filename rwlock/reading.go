package rwlock

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// reading is the holding of a read hold: an acquisition that other goroutines of the process may
// share. Other processes cannot join it.
type reading locking.Held

var _ locking.Holding = (*reading)(nil)

func (r *reading) held() *locking.Held { return (*locking.Held)(r) }

func (r *reading) Err() error                { return r.held().Err() }
func (r *reading) Deadline() time.Time       { return r.held().Deadline() }
func (r *reading) Expiring() <-chan struct{} { return r.held().Expiring() }

func (r *reading) Grow(ctx context.Context, d time.Duration, seat lease.Seat) error {
	return r.held().Grow(ctx, d, seat)
}

func (r *reading) Release(ctx context.Context, seat lease.Seat) error {
	return r.held().Release(ctx, seat)
}

func (r *reading) Fence(seat lease.Seat) int64 { return r.held().Fence(seat) }
