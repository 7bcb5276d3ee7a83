package semaphore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// permitRenewal extends the leases of permits.
var permitRenewal = &lease.Renewal{
	Script: scripts.Must(lua, "lua/permit_renew.lua"),
	Add: func(on, args []string, key core.Key, id string, lease time.Duration) (k, a []string) {
		return append(on, keys.PermitLeases(key.Name)), append(args, raw(id), decimal(core.Millis(lease)))
	},
}

// Renewal returns the renewal of all permits.
func (of *permitNames) Renewal() *lease.Renewal { return permitRenewal }

// GiveBack releases a permit whose acquire may still arrive.
func (of *permitNames) GiveBack(ctx context.Context, id string) (lease.Released, error) {
	if err := of.markReleased(ctx, raw(id)); err != nil {
		return lease.Released{}, err
	}
	released, err := of.release(ctx, raw(id))
	if errors.Is(err, errNotSet) { // nor any permit of it
		err = nil
	}
	return released, err
}

// markReleased leaves tombstones: an acquire that arrives after them takes nothing.
func (of *permitNames) markReleased(ctx context.Context, ids ...string) error {
	_, err := of.i.e.Run(ctx, buryScript, []string{of.gone}, append([]string{memory}, ids...))
	return err
}

// release releases one permit.
func (of *permitNames) release(ctx context.Context, id string) (lease.Released, error) {
	answer, err := of.i.e.Run(ctx, releaseScript, []string{of.key, of.leases}, []string{id, of.channel, of.i.e.Publish()})
	if err == nil && answer.Nil {
		err = errNotSet
	}
	if err != nil {
		return lease.Released{}, err
	}
	reached, err := answer.AsInt64()
	return lease.Released{Held: reached >= 0, Reached: int(max(0, reached)), Replayed: answer.Replayed}, err
}

// undo releases, for as long as it takes, permits that requests took for no caller. If late is
// true, one of the requests may still arrive.
func (of *permitNames) undo(wants []want, late bool) {
	if len(wants) == 0 {
		return
	}
	ids, lease := rawIDs(wants), time.Duration(0)
	for _, w := range wants {
		lease = max(lease, w.lease)
	}
	until := time.Now().Add(max(lease, send.RequestMemory) + send.RequestMemory)
	of.i.e.CleanUpLater(of.key, until, func(ctx context.Context) error {
		if late {
			if err := of.markReleased(ctx, ids...); err != nil {
				return err
			}
		}
		return of.giveBackAll(ctx, ids...)
	})
}

// giveBackAll releases permits, whether they are held or not.
func (of *permitNames) giveBackAll(ctx context.Context, ids ...string) error {
	if err := of.exchange(ctx, &trade{gives: ids}); !errors.Is(err, errNotSet) {
		return err
	}
	return nil
}

// terms are the wishes of one caller: a number of permits, all or none.
type terms struct {
	n     int
	lease time.Duration // 0: the watchdog's, renewed
	label string
}

// want is one request for permits, under fresh ids.
type want struct {
	id    string   // of the first permit
	more  []string // of the others
	lease time.Duration
	kept  bool // renewed by the watchdog
	label string
	waits bool // other waiters do not overtake it

	judged bool // it may have a label that is not known here
}

// size returns how many permits are wanted.
func (w *want) size() int { return 1 + len(w.more) }

// trade is the releases and wants of one call, and their outcome.
type trade struct {
	gives []string // ids
	wants []want

	send.Answer
	acked   bool // by as many replicas as the client wants
	reached int
	left    time.Duration // until the first lease ends; negative: none does
	gave    []int64       // of each: 1 done, 0 it was gone
	took    []int64       // of each request: 1 taken, 0 refused
}

// one takes a permit for the only want.
func (of *permitNames) one(ctx context.Context, x *trade) error {
	w := x.wants[0]
	err := of.send(ctx, acquireScript, x, []string{w.id, of.i.e.Millis(w.lease), of.channel, of.i.e.Publish()})
	if err != nil {
		return err
	}
	n, err := x.AsInt64()
	x.took, x.left = []int64{0}, -time.Millisecond // no lease is known to end
	switch {
	case n == 0:
		x.took[0] = 1
	case n > 0:
		x.left = time.Duration(n) * time.Millisecond
	}
	return err
}

// exchange gives back and takes all of x.
func (of *permitNames) exchange(ctx context.Context, x *trade) error {
	args := append(make([]string, 0, 3+len(x.gives)+5*len(x.wants)), of.channel, of.i.e.Publish(), decimal(int64(len(x.gives))))
	args = append(args, x.gives...)
	for n := range x.wants {
		w := &x.wants[n]
		kind := take
		if w.waits {
			kind = waitTake
		}
		args = append(args, kind.word(), of.i.e.Millis(w.lease), w.label, decimal(int64(w.size())), w.id)
		args = append(args, w.more...)
	}
	if err := of.send(ctx, exchangeScript, x, args); err != nil {
		return err
	}
	said, err := x.AsIntSlice()
	if err == nil && len(said) != 2+len(x.gives)+len(x.wants) {
		err = errors.New("permit_exchange.lua answered for another number of permits")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	x.reached, x.left = int(said[0]), time.Duration(said[1])*time.Millisecond
	x.gave, x.took = said[2:2+len(x.gives)], said[2+len(x.gives):]
	return nil
}

// send makes one call. Takes wait for replicas, if the client does.
func (of *permitNames) send(ctx context.Context, s *scripts.Script, x *trade, args []string) (err error) {
	on, e, acks := []string{of.key, of.leases, of.gone}, of.i.e, int64(0)
	if s == exchangeScript {
		on = append(on, of.labels)
	}
	if len(x.wants) > 0 && e.ReplicaAcks > 0 {
		x.Answer, acks, err = e.RunAcked(ctx, s, on, args)
	} else {
		x.Answer, err = e.Run(ctx, s, on, args)
	}
	x.acked = acks >= int64(e.ReplicaAcks)
	if err == nil && x.Nil {
		return errNotSet
	}
	return err
}
