package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Protocol is what one kind of thing with an owner and a lease says to the
// server about one name: a lock of any kind, a permit, a party of a barrier.
type Protocol interface {
	// Key is the kind and the mapped name.
	Key() core.Key
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

// Seat is the holder as its lease sees it: it is told when what it holds has
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
	k     *Keeper
	Of    Protocol       // what it is a grant of
	Lease watchdog.Lease // whose end is the grant's

	Mu     sync.Mutex    // guards what follows, and the fields of a hold that the grant is part of
	Seat   Seat          // is told of the end; nil: nobody has it at the moment
	Bearer string        // the owner, see Owner
	Rename *Renaming     // nil, unless the owner was put under another name
	asked  time.Duration // the longest lease that the server may have given
}

// Renaming is what an export does to an owner.
type Renaming struct {
	Pending string // the owner under which an unanswered one may have put it
	Serial  int    // counts changes
	Asking  int    // how many have asked the server for it and wait
	Unknown bool   // one of them will never know whether it was done
}

// Granted is a Grant, or what a Grant is part of.
type Granted interface {
	watchdog.Ender
	grant() *Grant
	// Closing says that the client is being closed.
	Closing()
}

// GrantOf returns what the watchdog's lease is part of.
func GrantOf(l *watchdog.Lease) Granted { return l.Ender().(Granted) }

// NewGrant puts what an attempt that started then has won under the watchdog's
// care: owner, for lease, renewed every so often; with every = 0 it is fixed.
// End, unless it is zero, is a hard end that neither renewals nor trust go
// beyond. Seat is told how it ends, also when that is now, since the client is
// being closed.
func (k *Keeper) NewGrant(g Protocol, owner string, started watchdog.Instant, lease, every time.Duration, end watchdog.Instant, seat Seat) *Grant {
	t := &Grant{Seat: seat}
	t.Init(k, g, owner)
	t.Care(started, lease, every, end, t)
	// Close marks the client closed first and tells every seat in care then:
	// this one is told here or there.
	if k.Open() != nil {
		t.Closing()
	}
	return t
}

// Init makes t a grant of what g is for.
func (t *Grant) Init(k *Keeper, g Protocol, owner string) { t.k, t.Of, t.Bearer = k, g, owner }

// Care hands the lease to the watchdog; whole is what the grant is part of.
func (t *Grant) Care(started watchdog.Instant, lease, every time.Duration, end watchdog.Instant, whole Granted) {
	t.asked = lease
	t.Lease.Init(started, lease, every, end, whole)
	t.k.dog.Add(&t.Lease)
}

func (t *Grant) grant() *Grant { return t }

// Key returns the kind and the mapped name.
func (t *Grant) Key() core.Key { return t.Of.Key() }

// Owner returns the owner on the server.
func (t *Grant) Owner() string {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.Bearer
}

// owners returns the owner, the other one that it may stand under as long as a
// renaming is not settled, and the serial of the two.
func (t *Grant) owners() (owner, pending string, serial int) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.Rename == nil {
		return t.Bearer, "", 0
	}
	return t.Bearer, t.Rename.Pending, t.Rename.Serial
}

// Err returns nil while the grant may be trusted. It compares the clocks at each
// call, so that a process which was paused does not pass.
func (t *Grant) Err() error { return t.ErrAt(t.k.Now()) }

// ErrAt is Err at that time.
func (t *Grant) ErrAt(now watchdog.Instant) error {
	cause, ended := t.Lease.Check(now, watchdog.ErrRanOut)
	if !ended {
		return nil
	}
	return t.LossOf(cause)
}

// Deadline returns until when the grant is trusted without another renewal.
func (t *Grant) Deadline() time.Time { return time.Now().Add(t.Lease.Left(t.k.Now())) }

// Expiring returns a channel that is closed when renewals have failed for half of the lease.
func (t *Grant) Expiring() <-chan struct{} { return t.Lease.Expiring() }

// Finish ends the grant and takes it out of the watchdog's care, without
// telling its seat: the caller is about to release what it stood for. It
// reports whether the grant was live.
func (t *Grant) Finish(cause error) bool {
	if !t.Lease.Finish(cause) {
		return false
	}
	t.k.forget(t)
	return true
}

// GiveBackLater keeps saying that the owner is given back until the server has
// answered, or has forgotten it. It is for a grant that has ended.
func (t *Grant) GiveBackLater() { t.k.GiveBackLater(t.Of, t.Owner(), t.Asking(0)) }

// LeaseEnded is the lease's end: by time, or by the server's word.
func (t *Grant) LeaseEnded(cause error) {
	t.Mu.Lock()
	seat := t.Seat
	t.Mu.Unlock()
	if l, is := seat.(leaver); is && l.Leaving() {
		t.k.forget(t)
		return
	}
	seat.Ended(t.Lost(t.Key().Kind, cause))
}

// Lost does what every loss asks for, and returns how the seats are told.
func (t *Grant) Lost(kind string, cause error) error {
	t.k.forget(t)
	cause = t.LossOf(cause)
	key := t.Key()
	if t.k.Observer != nil {
		t.k.Observer.Lost(kind, key.Shown(), cause)
	}
	t.k.Logger.Warn("hold lost", "name", key.Shown(), "owner", t.Owner(), "err", cause)
	return cause
}

// LossOf wraps a reason of the watchdog's into ErrLost.
func LossOf(cause error) error {
	if errors.Is(cause, core.ErrClosed) || errors.Is(cause, core.ErrLost) || errors.Is(cause, core.ErrReleased) {
		return cause
	}
	return fmt.Errorf("%w: %w", core.ErrLost, cause)
}

// Closing tells the seat that its client is being closed. What it holds stays
// its to release.
func (t *Grant) Closing() {
	t.Mu.Lock()
	seat := t.Seat
	t.Mu.Unlock()
	if seat != nil {
		seat.Ended(core.ErrClosed)
	}
}

// Grow asks for a lease of d from now on, if that is longer than the present
// one. What is fixed stays fixed; a hard end moves, as it is the caller who
// had set it.
func (t *Grant) Grow(ctx context.Context, d time.Duration) error {
	if err := t.Err(); err != nil {
		return err
	}
	_, err, answered := send.Await(t.k.Sender, ctx, 0, func() (struct{}, error) { return struct{}{}, t.Renew(ctx, d) })
	if !answered {
		return core.Left(err)
	}
	return err
}

// Asking remembers the longest lease that was asked for, and returns it.
func (t *Grant) Asking(d time.Duration) time.Duration {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.asked = max(t.asked, d)
	return t.asked
}

// Renew asks for a lease of d now, on the caller's goroutine.
func (t *Grant) Renew(ctx context.Context, d time.Duration) error {
	d = t.k.dog.Outlast(&t.Lease, t.k.Now(), d)
	t.Asking(d)
	owner, pending, serial := t.owners()
	renewal, key, began := t.Of.Renewal(), t.Key(), t.k.Now()
	keys, args := renewal.Add(nil, nil, key, owner, d)
	if pending != "" {
		keys, args = renewal.Add(keys, args, key, pending, d)
	}
	answer, err := t.k.runRenewal(ctx, renewal.Script, keys, args)
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
		t.k.dog.Grown(&t.Lease, started, d)
		return t.Err()
	case err != nil:
		return err
	}
	if _, _, now := t.owners(); now != serial {
		return t.Renew(ctx, d) // an export has renamed the owner meanwhile
	}
	t.Lease.Lose(watchdog.ErrGone)
	return t.Err()
}

// runRenewal sends a renewal, which replicas confirm if the client asks for that.
func (k *Keeper) runRenewal(ctx context.Context, s *scripts.Script, keys, args []string) (send.Answer, error) {
	if !k.RenewalAcks {
		return k.Run(ctx, s, keys, args)
	}
	answer, acks, err := k.RunAcked(ctx, s, keys, args)
	if err == nil {
		err = k.tooFew(acks)
	}
	return answer, err
}

func anyRenewed(answer send.Answer) (stands bool, err error) {
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
func (k *Keeper) forget(t *Grant) {
	k.dog.Remove(&t.Lease)
	if k.Open() == nil {
		return
	}
	select { // Close waits for the last one
	case k.freed <- struct{}{}:
	default:
	}
}
