package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/object"
)

// Hold is one level of holding a lock. [Lock.Lock] returns it and [Hold.Unlock] ends it. It belongs
// to the code that has the value, not to a goroutine. All methods may be called from any goroutine.
type Hold struct {
	seat *seat

	// Guarded by the seat's mutex.
	released bool
	contexts contexts
	lost     chan struct{}
}

// Err returns nil while the hold is trusted. Else it returns why the hold ended: ErrLost,
// [ErrReleased] or [ErrClosed]. It compares the clocks at each call, so it reports the loss at once
// in a process that was paused past its lease. It does no I/O.
func (h *Hold) Err() error {
	if err := h.seat.ended(h); err != nil {
		return err
	}
	if err := h.seat.held.Err(); err != nil {
		return err
	}
	return h.seat.ended(h) // the client may have been closed
}

// Lost returns a channel that is closed when the hold ends without having been unlocked: it was
// lost, or its client was closed. [Hold.Err] then says which. For a hold that was unlocked before,
// the channel never closes.
func (h *Hold) Lost() <-chan struct{} {
	s := h.seat
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.lost == nil {
		h.lost = make(chan struct{})
		if s.cause != nil && !h.released {
			close(h.lost)
		}
	}
	return h.lost
}

// Expiring returns a channel that is closed when renewals have failed for half of the lease: time
// to finish, or to hurry. If renewals succeed after that, the next call returns a new channel. With
// a fixed lease the channel never closes. For a hold that was unlocked it is nil.
func (h *Hold) Expiring() <-chan struct{} {
	if h.seat.ended(h) == ErrReleased {
		return nil
	}
	return h.seat.held.Expiring()
}

// Deadline returns the time until which the hold is trusted if no further renewal succeeds. Each
// renewal of a watchdog hold moves it. For a hold that was unlocked it is the zero time.
func (h *Hold) Deadline() time.Time {
	if h.seat.ended(h) == ErrReleased {
		return time.Time{}
	}
	return h.seat.held.Deadline()
}

// Extend makes the lease last for at least d from now; it never shortens one. The watchdog
// continues to renew a watchdog hold; a fixed lease stays fixed. ctx bounds the round trip.
//
// Cost: one script call.
// Errors: [ErrLost]; [ErrReleased]; [ErrInvalidArgument] for a lease that [WithLease] would refuse;
// ctx's; [ErrNotReplicated] with rueidisson.Renewals; [ErrOutcomeUnknown] if the reply was lost.
// After the last two the lease may have grown without this side trusting it.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	err := h.usable(ctx)
	if err == nil {
		err = core.CheckLease(d)
	}
	if err == nil {
		err = h.seat.held.Grow(ctx, d, h.seat)
	}
	return h.seat.failed("extend", err)
}

// Fence returns the fencing token of the hold, which its re-entries share: see [Fenced]. It returns
// false for the hold of another kind of lock, for a Java hold that was joined, and for a hold that
// has ended. It does no I/O.
func (h *Hold) Fence() (fence.Token, bool) {
	number := h.seat.held.Fence(h.seat)
	if number == 0 || h.seat.ended(h) != nil {
		return fence.Token{}, false
	}
	token, err := fence.New(h.seat.of.names()[0], number)
	if client, of := h.seat.held.(interface{ Client() string }); of {
		token = token.By(client.Client())
	}
	return token, err == nil
}

// Token makes the hold joinable and returns the token for [Lock.Join], here or in another process,
// Go or Java. Further calls return the same token. The hold and its re-entries stay one level on
// the server. From then on the hold is not handed over inside the process. ctx bounds the round
// trip.
//
// Cost: one script call, the first time; unlocking takes two instead of one.
// Errors: as [Hold.Extend]; [ErrToken] for a hold that is not of a lock or of a fenced lock. After
// [ErrOutcomeUnknown] the next call completes the export.
func (h *Hold) Token(ctx context.Context) (Token, error) {
	err := h.usable(ctx)
	if err != nil {
		return Token{}, h.seat.failed("token of", err)
	}
	exporter, ok := h.seat.held.(exporter)
	if !ok {
		return Token{}, h.seat.failed("token of", fmt.Errorf("%w: only a hold of a lock or of a fenced lock can be made joinable", ErrToken))
	}
	owner, err := exporter.Export(ctx, h.seat)
	if err != nil {
		return Token{}, h.seat.failed("token of", err)
	}
	return ParseToken(owner)
}

// exporter is a holding that can be made joinable.
type exporter interface {
	Export(ctx context.Context, seat lease.Seat) (string, error)
}

// Unlock ends this level, also under a ctx that has ended. With the last level of a hold the lock
// is free: it is handed to the next waiter of this client, or released on the server. The hold's
// contexts end with [ErrReleased] first.
//
// Unlock returns at most 250 ms after ctx ends. If the release has no answer by then, the client
// continues it and Unlock returns [ErrDeferred]. Under a ctx that never ends, Unlock takes a few
// seconds if the server is silent.
//
// Cost: one script call for the last level, none for a hand-over or for an inner level; two for a
// hold that was exported or joined.
// Errors: [ErrReleased] if Unlock was called before; [ErrLost] if the hold had ended, so that the
// work may have overlapped with the work of another holder; [ErrDeferred] if the server refused or
// did not answer (the client continues until the server accepts the release or the lease ends),
// with [ErrOutcomeUnknown] if the release may have been done; [ErrClosed] if the client was closed
// before, when the lock stays held until its lease ends.
func (h *Hold) Unlock(ctx context.Context) error {
	if ctx == nil {
		return h.seat.failed("unlock", object.CheckContext(ctx))
	}
	before := h.seat.held.Err() // after leave, another level may own the holding
	last, err := h.seat.leave(h)
	if err == nil && last {
		err = h.seat.held.Release(ctx, h.seat)
	} else if err == nil {
		err = before
	}
	return h.seat.failed("unlock", err)
}

func (h *Hold) usable(ctx context.Context) error {
	return object.Checked(ctx, h.Err())
}
