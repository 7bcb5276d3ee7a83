package rmap

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
)

// sendTurn takes one turn of an entry: it is read once, all functions that wait are
// applied in their order, each to what the one before it has made, and what
// comes of it is written if the entry still is what was read. If it is not, all
// of it is done again.
func (h *hub) sendTurn(e entry, _ int, batch []*combine.Call[*change, struct{}]) error {
	changes := make([]*change, len(batch))
	for i, c := range batch {
		changes[i] = c.Ask
	}
	h.takeTurn(context.Background(), e, changes)
	return nil
}

// takeTurn gives each change its outcome, also when a function ends this
// goroutine: then nothing was written, and it is done again without that one.
func (h *hub) takeTurn(ctx context.Context, e entry, changes []*change) {
	t := turn{h, e, changes[0].store, changes}
	settled := false
	defer func() {
		if settled || !t.exited() {
			return
		}
		if t.again(); t.anybodyWaits() {
			h.takeTurn(ctx, e, changes)
		} else {
			t.settle(nil)
		}
	}()
	err := t.take(ctx)
	t.settle(err)
	settled = true
}

func (t *turn) take(ctx context.Context) error {
	if t.e.lock {
		return t.locked(ctx)
	}
	_, err := t.run(ctx, func() error { return nil })
	return err
}

type turn struct {
	h       *hub
	e       entry
	store   store
	changes []*change
}

// run goes on until nobody was faster. Why is a reason to write nothing.
func (t *turn) run(ctx context.Context, why func() error) (wrote bool, err error) {
	r := t.race()
	old, err := r.read(ctx)
	for try := 0; err == nil; try++ {
		now, writes := t.apply(old)
		if !writes {
			r.leave()
			return false, nil
		}
		if err = why(); err != nil {
			break
		}
		done := false
		if old, done, err = r.change(ctx, old, now); done {
			return true, nil
		}
		if err == nil {
			r.lost()
			t.again()
			if r.lasts == 0 {
				pause(try)
			}
		}
	}
	r.leave()
	return false, err
}

// read goes by itself: the flight of a turn is one of its own already.
func (t *turn) read(ctx context.Context) (value, error) {
	if err := t.h.e.Open(); err != nil {
		return value{}, err
	}
	return t.store.get(ctx, t.e.key)
}

// apply calls the functions of those who are there, and reports whether one of
// them writes.
func (t *turn) apply(old value) (now value, writes bool) {
	now = old
	for _, c := range t.changes {
		if c.begin() {
			c.rests = writes
			now = c.run(now)
			writes = writes || c.writes
		}
	}
	return now, writes
}

func (t *turn) again() {
	for _, c := range t.changes {
		c.again()
	}
}

// settle gives each change its outcome. A function whose error or panic rests on
// what was not written in the end has the error of the write. A panic that no caller
// gets is logged.
func (t *turn) settle(err error) {
	for _, c := range t.changes {
		var panicked *errPanic
		void := err != nil && c.rests
		if errors.As(c.err, &panicked) && (void || c.fate.Load() == goneTwo) {
			t.h.e.Logger.Error("a function of Compute panicked when its caller had gone, or on a value that was not written", "name", t.e.name, "err", c.err)
		}
		if c.err == nil || void {
			c.err = err
		}
		c.settled = true
	}
}

// exited reports whether a function has ended the goroutine of the turn.
func (t *turn) exited() bool {
	return slices.ContainsFunc(t.changes, func(c *change) bool { return c.exited })
}

// anybodyWaits reports whether there is a function to call.
func (t *turn) anybodyWaits() bool {
	return slices.ContainsFunc(t.changes, func(c *change) bool { return c.fate.Load() == waiting })
}

// longestPause bounds how long a turn waits that others of the fleet were
// faster than.
const longestPause = 5 * time.Millisecond

// pause lets the others finish that are at the same entry.
func pause(try int) {
	if try == 0 {
		return
	}
	time.Sleep(rand.N(min(50*time.Microsecond<<min(try, 10), longestPause)))
}
