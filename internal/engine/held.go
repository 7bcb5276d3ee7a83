package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Protocol is what one kind of lock says to the server about one name. Its
// methods send scripts through Engine.Run and read their answers; waiting,
// order, trust and give-back are the engine's.
type Protocol interface {
	// Key is the kind and the mapped name.
	Key() Key
	// Channel is where releases are announced.
	Channel() string
	// Acquire tries once to take the lock for a fresh owner.
	Acquire(ctx context.Context, owner string, lease time.Duration) (Tried, error)
	// Release gives back a private owner.
	Release(ctx context.Context, owner string) (Released, error)
	// GiveBack is Release for an owner of which an acquire may still arrive:
	// one that does is refused.
	GiveBack(ctx context.Context, owner string) (Released, error)
	// Export renames a private owner to one that others may join. It is false
	// if neither of the two holds the lock.
	Export(ctx context.Context, private, exported string) (bool, error)
	// Join adds a level to a shared owner. It is false if that does not hold
	// the lock.
	Join(ctx context.Context, owner, request string, lease time.Duration) (Tried, error)
	// Leave undoes a join, whether or not it has arrived yet.
	Leave(ctx context.Context, owner, request string) error
	// Unlock gives back one level of a shared owner. It is false if that does
	// not hold the lock.
	Unlock(ctx context.Context, owner, request string, lease time.Duration) (bool, error)
}

// Released is the answer to a release.
type Released struct {
	Held     bool // false: the owner did not hold the lock
	Reached  int  // how many subscribers heard of it
	Replayed bool // an earlier send, whose reply was lost, may have done it
}

// Tried is the answer to an acquire.
type Tried struct {
	Free     bool             // it was free and is ours now
	Left     time.Duration    // else: the present holder's lease, negative if it has none
	Started  watchdog.Instant // before the send that was answered
	Replayed bool             // an earlier send, whose reply was lost, may still arrive
}

// Seat is the holder as the engine sees it: it is told, once, that its hold
// has ended without its doing. It must not block.
type Seat interface {
	Ended(cause error)
}

// Held is one acquisition on the server, as far as this process is concerned:
// an owner, its lease, and the seat that has it at present. Handed over inside
// the process, it changes its seat and nothing else.
type Held struct {
	e     *Engine
	p     Protocol
	key   Key
	local *local // nil for a hold that was joined
	lease watchdog.Lease
	late  string // the owner of which a send of the acquire may still arrive, if one may

	mu      sync.Mutex
	seat    Seat // nil: released, ended, or on its way to the next
	owner   string
	pending string // the owner under which an unanswered export may have put it
	serial  int    // counts changes of the two
	shared  bool   // exported or joined: others may have levels of their own
	foreign bool   // joined from another library, whose levels are its own business
	since   time.Duration
	passes  int           // hand-overs so far
	asked   time.Duration // the longest lease that the server may have given
}

// newHeld puts an acquisition under the watchdog's care.
func (e *Engine) newHeld(p Protocol, l *local, owner string, tried Tried, lease, every time.Duration) *Held {
	h := &Held{e: e, p: p, key: p.Key(), local: l, owner: owner, since: tried.Started.Mono, asked: lease}
	if tried.Replayed && l != nil {
		h.late = owner
	}
	h.lease.Init(h, tried.Started, lease, every, h)
	e.dog.Add(&h.lease)
	return h
}

// attach gives the hold to a seat. It fails with the cause if the hold has
// ended on its way; the caller then still has the turn.
func (h *Held) attach(seat Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if cause, ended := h.lease.Ended(); ended {
		return lossOf(cause)
	}
	// Close marks the client closed first and tells every seat then: this hold
	// is either refused here or told there.
	if err := h.e.Open(); err != nil {
		return err
	}
	h.seat = seat
	return nil
}

// detach takes the seat away. Whoever succeeds has the turn in the local
// queue, and must give it on.
func (h *Held) detach() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seat == nil {
		return false
	}
	h.seat = nil
	return true
}

// closing tells the seat that its client is being closed. The hold stays the
// seat's to release.
func (h *Held) closing() {
	h.mu.Lock()
	seat := h.seat
	h.mu.Unlock()
	if seat != nil {
		seat.Ended(ErrClosed)
	}
}

// LeaseEnded is the lease's end: by time, or by the server's word.
func (h *Held) LeaseEnded(cause error) {
	h.e.forget(h)
	cause = lossOf(cause)
	h.mu.Lock()
	seat := h.seat
	h.seat = nil
	h.mu.Unlock()
	if h.e.Observer != nil {
		h.e.Observer.Lost(h.key.Kind, h.key.Name, cause)
	}
	h.e.Logger.Warn("hold lost", "name", h.key.Name, "owner", h.Owner(), "err", cause)
	if seat == nil {
		return // on its way to the next seat, which will find out and has the turn
	}
	seat.Ended(cause)
	h.leave()
}

// lossOf wraps a reason of the watchdog's into ErrLost.
func lossOf(cause error) error {
	if errors.Is(cause, ErrClosed) || errors.Is(cause, ErrLost) || errors.Is(cause, ErrReleased) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}

// leave gives on the turn of a hold that has gone, and its reference.
func (h *Held) leave() {
	if h.local == nil {
		return
	}
	h.e.passTurn(h.local)
	h.e.locals.put(h.key, h.local)
}

// Err is nil while the hold may be trusted. It compares the clocks at each
// call, so that a process which was paused does not pass.
func (h *Held) Err() error { return h.errAt(h.e.Now()) }

func (h *Held) errAt(now watchdog.Instant) error {
	cause, ended := h.lease.Check(now, watchdog.ErrRanOut)
	if !ended {
		return nil
	}
	return lossOf(cause)
}

// Deadline is until when the hold is trusted without another renewal.
func (h *Held) Deadline() time.Time { return time.Now().Add(h.lease.Left(h.e.Now())) }

// Expiring is closed when renewals have failed for half of the lease.
func (h *Held) Expiring() <-chan struct{} { return h.lease.Expiring() }

// Kept reports whether the watchdog renews the hold.
func (h *Held) Kept() bool { return h.lease.Kept() }

// Owner is the owner on the server.
func (h *Held) Owner() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owner
}

// owners is every owner that the hold may stand under, and their serial.
func (h *Held) owners() (owners []string, serial int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending == "" {
		return []string{h.owner}, h.serial
	}
	return []string{h.owner, h.pending}, h.serial
}

// Shared reports whether others may take part in the hold.
func (h *Held) Shared() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shared
}

// Grow asks for a lease of d from now on, if that is longer than the present
// one. A fixed hold stays fixed. It is for the seat that has the hold: after a
// hand-over it is another's.
func (h *Held) Grow(ctx context.Context, d time.Duration, seat Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	if !h.isOf(seat) {
		return ErrReleased
	}
	_, err, answered := Await(h.e, ctx, 0, func() (struct{}, error) { return struct{}{}, h.renew(ctx, d) })
	if !answered {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

func (h *Held) isOf(seat Seat) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seat == seat
}

// asking remembers the longest lease that was asked for, and returns it.
func (h *Held) asking(d time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = max(h.asked, d)
	return h.asked
}

// renew asks for a lease of d now, on the caller's goroutine.
func (h *Held) renew(ctx context.Context, d time.Duration) error {
	h.asking(d)
	owners, serial := h.owners()
	keys, args := make([]string, 0, 2), make([]string, 0, 4)
	for _, owner := range owners {
		keys, args = append(keys, h.key.Name), append(args, owner, strconv.FormatInt(Millis(d), 10))
	}
	answer, err := h.e.Run(ctx, renewScript, keys, args)
	if err != nil {
		return err
	}
	stands, err := anyRenewed(answer)
	switch {
	case stands:
		h.e.dog.Grown(&h.lease, answer.Started, d)
		return h.Err()
	case err != nil:
		return err
	}
	if _, now := h.owners(); now != serial {
		return h.renew(ctx, d) // an export has renamed the owner meanwhile
	}
	h.lease.Lose(watchdog.ErrGone)
	return h.Err()
}

func anyRenewed(answer Answer) (stands bool, err error) {
	each, err := answer.ToArray()
	if err != nil {
		return false, err
	}
	for _, one := range each {
		n, notNumber := one.AsInt64()
		if notNumber != nil {
			text, _ := one.ToString()
			err = errors.New(text)
		}
		stands = stands || n == 1
	}
	return stands, err
}
