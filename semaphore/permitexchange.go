package semaphore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
)

// issuer is what the semaphores of one client whose permits have leases have in
// common.
type issuer struct {
	e       *locking.Engine
	client  string // what ids begin with
	table   *combine.Table[string, permitAsk, permitAnswer]
	rooms   places.Places[string, *room]
	waiting atomic.Int64 // who has a room, or is about to
}

type issuerKey struct{}

func issuerOf(e *locking.Engine) *issuer {
	return e.Shared(issuerKey{}, func() any { return newIssuer(e) }).(*issuer)
}

func newIssuer(e *locking.Engine) *issuer {
	i := &issuer{e: e, client: clientPart(e.ClientID)}
	i.table = combine.New(combine.Config[string, permitAsk, permitAnswer]{
		Send: i.send, Cut: cutPermits, Left: i.left, Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	i.rooms.Make = func(string) *room { return newRoom(i) }
	i.rooms.Left = (*room).left
	i.rooms.Idle = func(r *room) bool { return r.courtesy.Idle() }
	i.rooms.Reuse = (*room).reuse
	e.WhenClosing(func() { i.rooms.Each((*room).dismiss) })
	return i
}

// permitAsk is one request: to give a permit back, to take some, or both.
type permitAsk struct {
	of     *permitNames
	gives  string   // an id, or none
	also   []string // further ids
	judged bool     // the server says whether its lease has ended: nobody here knows; or it has a label
	wants  []want
	from   *room // of who gives
}

// permitAnswer is what became of it.
type permitAnswer struct {
	send.Answer
	err   error // of all; what is wanted may have one of its own:
	short error
	gave  []int64 // of each that is given: 1 done, 0 it was gone
	left  int64   // ms until the first lease ends, below 0: none does
	took  []int64 // of each request: 1 taken, 0 refused
	woken bool    // those who wait have heard of what was given
}

type (
	permitCall  = combine.Call[permitAsk, permitAnswer]
	permitBatch = []*permitCall
)

// mostIDs bounds how long one script call keeps the server.
const mostIDs = 100

// ids returns how many ids the request is about.
func (a *permitAsk) ids() int {
	ids := 1 + len(a.also)
	for n := range a.wants {
		ids += a.wants[n].size()
	}
	return ids
}

// cutPermits returns how many of the waiting calls go out as one.
func cutPermits(waiting permitBatch) int {
	ids := 0
	for n, c := range waiting {
		if ids += c.Ask.ids(); ids > mostIDs {
			return max(n, 1)
		}
	}
	return len(waiting)
}

// send makes one exchange about a semaphore. Each call has its own outcome, so it
// returns no error for all.
func (i *issuer) send(_ string, _ int, b permitBatch) error {
	open := i.e.Open() == nil
	x, from := gather(b, open)
	of := b[0].Ask.of
	heard := i.listening(of, from)
	err := of.trade(&x, b[0].Ask.judged || len(b) > 1)
	short := of.account(&x, err)
	woken := err == nil && heard.released(x.reached)
	for _, c := range b {
		a := permitAnswer{Answer: x.Answer, err: err, short: short, left: x.left.Milliseconds(), woken: woken}
		if c.Ask.gives != "" && err == nil {
			n := 1 + len(c.Ask.also)
			a.gave, x.gave = x.gave[:n], x.gave[n:]
		}
		switch n := len(c.Ask.wants); {
		case n > 0 && !open:
			a.short = ErrClosed
		case n > 0 && err == nil:
			a.took, x.took = x.took[:n], x.took[n:]
		}
		c.Answer = a
	}
	return nil
}

// gather returns what the calls are about, and the room of one who gives.
func gather(b permitBatch, open bool) (x trade, from *room) {
	if first := &b[0].Ask; len(b) == 1 && open {
		x.wants = first.wants // which is its own
	}
	for _, c := range b {
		if c.Ask.gives != "" {
			x.gives, from = append(append(x.gives, c.Ask.gives), c.Ask.also...), c.Ask.from
		}
		if open && len(b) > 1 {
			x.wants = append(x.wants, c.Ask.wants...)
		}
	}
	return x, from
}

// listening is what was heard before a release, for its courtesy.
type listening struct {
	r          *room // nil: nobody gives
	subscribed bool
	before     handover.Mark
}

func (i *issuer) listening(of *permitNames, r *room) listening {
	if r == nil {
		return listening{}
	}
	return listening{r, i.e.Subscribed(of.channel), r.courtesy.Mark()}
}

// released takes how many heard of the release, and reports whether they are among
// those who wait here: by our own message, which came before the reply and so
// counts as another's.
func (l listening) released(reached int) (woken bool) {
	if l.r == nil {
		return false
	}
	woken = l.subscribed && l.r.courtesy.HeardSince(l.before)
	l.r.courtesy.Released(reached, l.subscribed, l.before)
	return woken
}

// trade makes the call.
func (of *permitNames) trade(x *trade, judged bool) error {
	ctx := context.Background()
	switch {
	case len(x.gives) == 0 && len(x.wants) == 0:
		return ErrClosed
	case x.single():
		return of.one(ctx, x)
	case len(x.gives) == 1 && len(x.wants) == 0 && !judged:
		released, err := of.release(ctx, x.gives[0])
		x.reached, x.gave = released.Reached, []int64{0}
		if released.Held {
			x.gave[0] = 1
		}
		x.Replayed = released.Replayed
		return err
	}
	return of.exchange(ctx, x)
}

// account sees to it that nothing stays taken that nobody has. It returns why
// what was taken goes back.
func (of *permitNames) account(x *trade, err error) error {
	if err != nil {
		if errors.Is(err, ErrUnknown) || x.Replayed { // it may arrive when permits are set
			of.undo(x.wants, true)
		}
		return nil
	}
	var took, refused []want
	for n, w := range x.wants {
		if x.took[n] == 1 {
			took = append(took, w)
		} else {
			refused = append(refused, w)
		}
	}
	if x.Replayed { // an earlier send of what was refused may still arrive
		of.undo(refused, true)
	}
	if x.acked || len(took) == 0 {
		return nil
	}
	e := of.i.e
	short := fmt.Errorf("%w: fewer than %d within %v", ErrNotReplicated, e.ReplicaAcks, e.AckTimeout)
	back := trade{gives: rawIDs(took)}
	if undo := of.exchange(context.Background(), &back); undo != nil {
		of.undo(took, true)
		return fmt.Errorf("%w: %w: giving it back: %w", ErrUnknown, short, undo)
	}
	if x.Replayed {
		of.undo(took, true)
	}
	return short
}

func rawIDs(wants []want) (ids []string) {
	for _, w := range wants {
		ids = append(append(ids, w.id), w.more...)
	}
	return ids
}

// left gives back what was taken for somebody who has gone.
func (i *issuer) left(_ string, a permitAsk, got permitAnswer) {
	if got.err == nil && got.short == nil {
		a.of.undo(a.granted(got), got.Replayed)
	}
}

// granted returns what was taken of what is wanted.
func (a *permitAsk) granted(got permitAnswer) (wants []want) {
	for n, w := range a.wants {
		if n < len(got.took) && got.took[n] == 1 {
			wants = append(wants, w)
		}
	}
	return wants
}
