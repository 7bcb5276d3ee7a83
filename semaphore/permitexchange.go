package semaphore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
)

// permitShared is shared by the semaphores of one client whose permits have leases.
type permitShared struct {
	e       *locking.Engine
	client  string // the prefix of ids
	table   *combine.Table[string, permitAsk, permitAnswer]
	places  places.Places[string, *permitWaiters]
	waiting atomic.Int64 // goroutines that have a place, or are about to
}

type permitSharedKey struct{}

func newPermitShared(e *locking.Engine) *permitShared {
	digits, _ := hex.DecodeString(strings.ReplaceAll(e.ClientID, "-", "")) // a uuid
	i := &permitShared{e: e, client: string(append(digits, make([]byte, clientBytes)...)[:clientBytes])}
	i.table = combine.New(combine.Config[string, permitAsk, permitAnswer]{
		Send: i.send, Cut: cutPermits, Left: i.left, Sent: e.Sent("permit"), Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	i.places.Make = func(string) *permitWaiters { return newPermitWaiters(i) }
	i.places.Idle = func(r *permitWaiters) bool { return r.Courtesy.Idle() }
	i.places.Reuse = func(r *permitWaiters) bool {
		quiet := r.Quiet()
		if quiet {
			*r = *newPermitWaiters(i)
		}
		return quiet
	}
	e.WhenClosing(func() { i.places.Each(func(r *permitWaiters) { r.Dismiss() }) })
	return i
}

// permitAsk is one request: to release a permit, to take some, or both.
type permitAsk struct {
	of     *permitNames
	gives  string   // an id, or none
	also   []string // further ids
	judged bool     // the server decides whether its lease has ended, which is not known here; or it has a label
	wants  []want
	from   *permitWaiters // of the goroutine that gives
}

// permitAnswer is the outcome of a permitAsk.
type permitAnswer struct {
	send.Answer
	err   error // of all; a want may have one of its own:
	short error
	gave  []int64 // of each given permit: 1 done, 0 it was gone
	left  int64   // ms until the first lease ends, below 0: none does
	took  []int64 // of each request: 1 taken, 0 refused
	woken bool    // waiters have heard of the given permits
}

type (
	permitCall  = combine.Call[permitAsk, permitAnswer]
	permitBatch = []*permitCall
)

// mostIDs bounds how long one script call occupies the server.
const mostIDs = 100

// cutPermits returns how many of the waiting calls go out as one.
func cutPermits(waiting permitBatch) int {
	ids := 0
	for n, c := range waiting {
		ids += 1 + len(c.Ask.also)
		for k := range c.Ask.wants {
			ids += c.Ask.wants[k].size()
		}
		if ids > mostIDs {
			return max(n, 1)
		}
	}
	return len(waiting)
}

// send makes one exchange about a semaphore. Each call has its own outcome, so it returns no error
// for all. Wants are not sent while the client closes.
func (i *permitShared) send(_ string, _ int, b permitBatch) error {
	open, of := i.e.Open() == nil, b[0].Ask.of
	var x trade
	var release releasing
	for _, c := range b {
		if c.Ask.gives != "" {
			x.gives = append(append(x.gives, c.Ask.gives), c.Ask.also...)
			if release.courtesy == nil {
				release = c.Ask.from.releasing(of.channel)
			}
		}
		switch {
		case !open:
		case len(b) == 1:
			x.wants = c.Ask.wants // the wants of c alone
		default:
			x.wants = append(x.wants, c.Ask.wants...)
		}
	}
	err := of.trade(&x, b[0].Ask.judged || len(b) > 1)
	short := of.account(&x, err)
	woken := err == nil && release.done(x.reached)
	for _, c := range b {
		a := permitAnswer{Answer: x.Answer, err: err, short: short, left: x.left.Milliseconds(), woken: woken}
		if c.Ask.gives != "" && err == nil {
			n := 1 + len(c.Ask.also)
			a.gave, x.gave = x.gave[:n], x.gave[n:]
		}
		switch n := len(c.Ask.wants); {
		case n > 0 && !open:
			a.short = ErrClosed
		case n > 0 && err == nil && short == nil: // else the taken permits have gone back
			a.took, x.took = x.took[:n], x.took[n:]
		}
		c.Answer = a
	}
	return nil
}

// trade makes the call.
func (of *permitNames) trade(x *trade, judged bool) error {
	ctx := context.Background()
	switch {
	case len(x.gives) == 0 && len(x.wants) == 0:
		return ErrClosed
	case len(x.gives) == 0 && len(x.wants) == 1 && len(x.wants[0].more) == 0 && x.wants[0].label == "": // the common case
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

// account releases permits that were taken for no caller. It returns why taken permits go back.
func (of *permitNames) account(x *trade, err error) error {
	if err != nil {
		if errors.Is(err, ErrOutcomeUnknown) || x.Replayed { // it may arrive when permits are set
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
	if x.Replayed { // an earlier send of a refused request may still arrive
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
		return fmt.Errorf("%w: %w: giving it back: %w", ErrOutcomeUnknown, short, undo)
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

// left releases permits whose caller has gone.
func (i *permitShared) left(_ string, a permitAsk, got permitAnswer) {
	if got.err != nil || got.short != nil {
		return
	}
	var granted []want
	for n, w := range a.wants {
		if n < len(got.took) && got.took[n] == 1 {
			granted = append(granted, w)
		}
	}
	a.of.undo(granted, got.Replayed)
}
