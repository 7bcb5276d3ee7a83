package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Granter is what one kind of thing with an owner and a lease says to the
// server about one name: a lock of any kind, a permit, a party of a barrier.
type Granter interface {
	// Key is the kind and the mapped name.
	Key() Key
	// Renewal is how the leases of the kind are lengthened: one variable for
	// each kind, since a batch is packed by it.
	Renewal() *Renewal
	// GiveBack releases an owner of which an acquire may still arrive: one that
	// does is refused.
	GiveBack(ctx context.Context, owner string) (Released, error)
}

// Released is the answer to a release.
type Released struct {
	Held     bool // false: the owner did not hold it
	Reached  int  // how many subscribers heard of it
	Replayed bool // an earlier send, whose reply was lost, may have done it
}

// Seat is the holder as the engine sees it: it is told when what it holds has
// ended without its doing, and when the client closes. It must not block.
type Seat interface {
	Ended(cause error)
}

// leaver is a [Seat] that may have told the server that it gives up what it holds, and
// is renewed until the server has answered: its end is no loss.
type leaver interface{ Leaving() bool }

// Grant is an owner with a lease that stands on the server, in the watchdog's
// care until it is finished or lost.
type Grant struct {
	e     *Engine
	g     Granter
	lease watchdog.Lease

	mu     sync.Mutex
	seat   Seat
	owner  string
	rename *renaming     // nil, unless the owner was put under another name
	asked  time.Duration // the longest lease that the server may have given
}

// renaming is what an export does to an owner.
type renaming struct {
	pending string // the owner under which an unanswered one may have put it
	serial  int    // counts changes
	asking  int    // how many have asked the server for it and wait
	unknown bool   // one of them will never know whether it was done
}

// granted is a Grant, or what a Grant is part of.
type granted interface {
	watchdog.Ender
	grant() *Grant
	closing()
}

// grantOf returns what the watchdog's lease is part of.
func grantOf(l *watchdog.Lease) granted { return l.Ender().(granted) }

// NewGrant puts what an attempt that started then has won under the watchdog's
// care: owner, for lease, renewed every so often; with every = 0 it is fixed.
// End, unless it is zero, is a hard end that neither renewals nor trust go
// beyond. Seat is told how it ends, also when that is now, since the client is
// being closed.
func (e *Engine) NewGrant(g Granter, owner string, started watchdog.Instant, lease, every time.Duration, end watchdog.Instant, seat Seat) *Grant {
	t := &Grant{seat: seat}
	t.init(e, g, owner)
	t.care(started, lease, every, end, t)
	// Close marks the client closed first and tells every seat in care then:
	// this one is told here or there.
	if e.Open() != nil {
		t.closing()
	}
	return t
}

// init makes t a grant of what g is for.
func (t *Grant) init(e *Engine, g Granter, owner string) { t.e, t.g, t.owner = e, g, owner }

// care hands the lease to the watchdog; whole is what the grant is part of.
func (t *Grant) care(started watchdog.Instant, lease, every time.Duration, end watchdog.Instant, whole granted) {
	t.asked = lease
	t.lease.Init(started, lease, every, end, whole)
	t.e.dog.Add(&t.lease)
}

func (t *Grant) grant() *Grant { return t }

// Key returns the kind and the mapped name.
func (t *Grant) Key() Key { return t.g.Key() }

// Owner returns the owner on the server.
func (t *Grant) Owner() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner
}

// owners returns the owner, the other one that it may stand under as long as a
// renaming is not settled, and the serial of the two.
func (t *Grant) owners() (owner, pending string, serial int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rename == nil {
		return t.owner, "", 0
	}
	return t.owner, t.rename.pending, t.rename.serial
}

// Err returns nil while the grant may be trusted. It compares the clocks at each
// call, so that a process which was paused does not pass.
func (t *Grant) Err() error { return t.errAt(t.e.Now()) }

func (t *Grant) errAt(now watchdog.Instant) error {
	cause, ended := t.lease.Check(now, watchdog.ErrRanOut)
	if !ended {
		return nil
	}
	return t.lossOf(cause)
}

// Deadline returns until when the grant is trusted without another renewal.
func (t *Grant) Deadline() time.Time { return time.Now().Add(t.lease.Left(t.e.Now())) }

// Expiring returns a channel that is closed when renewals have failed for half of the lease.
func (t *Grant) Expiring() <-chan struct{} { return t.lease.Expiring() }

// Kept reports whether the watchdog renews the grant until it is finished.
func (t *Grant) Kept() bool { return t.lease.Kept() }

// Finish ends the grant and takes it out of the watchdog's care, without
// telling its seat: the caller is about to release what it stood for. It
// reports whether the grant was live.
func (t *Grant) Finish(cause error) bool {
	if !t.lease.Finish(cause) {
		return false
	}
	t.e.forget(t)
	return true
}

// GiveBackLater keeps saying that the owner is given back until the server has
// answered, or has forgotten it. It is for a grant that has ended.
func (t *Grant) GiveBackLater() { t.e.GiveBackLater(t.g, t.Owner(), t.asking(0)) }

// LeaseEnded is the lease's end: by time, or by the server's word.
func (t *Grant) LeaseEnded(cause error) {
	t.mu.Lock()
	seat := t.seat
	t.mu.Unlock()
	if l, is := seat.(leaver); is && l.Leaving() {
		t.e.forget(t)
		return
	}
	seat.Ended(t.lost(t.Key().Kind, cause))
}

// lost does what every loss asks for, and returns how the seats are told.
func (t *Grant) lost(kind string, cause error) error {
	t.e.forget(t)
	cause = t.lossOf(cause)
	key := t.Key()
	if t.e.Observer != nil {
		t.e.Observer.Lost(kind, key.Shown(), cause)
	}
	t.e.Logger.Warn("hold lost", "name", key.Shown(), "owner", t.Owner(), "err", cause)
	return cause
}

// lossOf wraps a reason of the watchdog's into ErrLost.
func lossOf(cause error) error {
	if errors.Is(cause, ErrClosed) || errors.Is(cause, ErrLost) || errors.Is(cause, ErrReleased) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLost, cause)
}

// closing tells the seat that its client is being closed. What it holds stays
// its to release.
func (t *Grant) closing() {
	t.mu.Lock()
	seat := t.seat
	t.mu.Unlock()
	if seat != nil {
		seat.Ended(ErrClosed)
	}
}

// Grow asks for a lease of d from now on, if that is longer than the present
// one. What is fixed stays fixed; a hard end moves, as it is the caller who
// had set it.
func (t *Grant) Grow(ctx context.Context, d time.Duration) error {
	if err := t.Err(); err != nil {
		return err
	}
	_, err, answered := Await(t.e, ctx, 0, func() (struct{}, error) { return struct{}{}, t.renew(ctx, d) })
	if !answered {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// asking remembers the longest lease that was asked for, and returns it.
func (t *Grant) asking(d time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = max(t.asked, d)
	return t.asked
}

// renew asks for a lease of d now, on the caller's goroutine.
func (t *Grant) renew(ctx context.Context, d time.Duration) error {
	d = t.e.dog.Outlast(&t.lease, t.e.Now(), d)
	t.asking(d)
	owner, pending, serial := t.owners()
	renewal, key, began := t.g.Renewal(), t.Key(), t.e.Now()
	keys, args := renewal.Add(nil, nil, key, owner, d)
	if pending != "" {
		keys, args = renewal.Add(keys, args, key, pending, d)
	}
	answer, err := t.e.runRenewal(ctx, renewal.Script, keys, args)
	if err != nil {
		return err
	}
	stands, err := anyRenewed(answer)
	switch {
	case stands:
		started := answer.Started
		if renewal.Dated {
			started = began
		}
		t.e.dog.Grown(&t.lease, started, d)
		return t.Err()
	case err != nil:
		return err
	}
	if _, _, now := t.owners(); now != serial {
		return t.renew(ctx, d) // an export has renamed the owner meanwhile
	}
	t.lease.Lose(watchdog.ErrGone)
	return t.Err()
}

// runRenewal sends a renewal, which replicas confirm if the client asks for that.
func (e *Engine) runRenewal(ctx context.Context, s *scripts.Script, keys, args []string) (Answer, error) {
	if !e.RenewalAcks {
		return e.Run(ctx, s, keys, args)
	}
	answer, acks, err := e.RunAcked(ctx, s, keys, args)
	if err == nil {
		err = e.tooFew(acks)
	}
	return answer, err
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

// forget takes a grant out of the watchdog's care.
func (e *Engine) forget(t *Grant) {
	e.dog.Remove(&t.lease)
	if e.Open() == nil {
		return
	}
	select { // Close waits for the last one
	case e.freed <- struct{}{}:
	default:
	}
}
