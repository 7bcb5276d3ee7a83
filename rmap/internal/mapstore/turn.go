package mapstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/lock"
)

// sendTurn takes one turn of an entry: it is read once, all functions that wait are
// applied in their order, each to what the one before it has made, and what
// comes of it is written if the entry still is what was read. If it is not, all
// of it is done again.
func (h *Hub) sendTurn(e Entry, _ int, batch []*combine.Call[*Change, struct{}]) error {
	changes := make([]*Change, len(batch))
	for i, c := range batch {
		changes[i] = c.Ask
	}
	h.TakeTurn(context.Background(), e, changes)
	return nil
}

// TakeTurn gives each change its outcome, also when a function ends this
// goroutine: then nothing was written, and it is done again without that one.
func (h *Hub) TakeTurn(ctx context.Context, e Entry, changes []*Change) {
	t := turn{h, e, changes[0].Store, changes}
	settled := false
	defer func() {
		exited := slices.ContainsFunc(changes, func(c *Change) bool { return c.exited })
		if settled || !exited {
			return
		}
		if t.again(); slices.ContainsFunc(changes, func(c *Change) bool { return c.fate.Load() == waiting }) {
			h.TakeTurn(ctx, e, changes)
		} else {
			t.settle(nil)
		}
	}()
	var err error
	if e.lock {
		err = t.locked(ctx)
	} else {
		_, err = t.run(ctx, func() error { return nil })
	}
	t.settle(err)
	settled = true
}

type turn struct {
	h       *Hub
	e       Entry
	store   Store
	changes []*Change
}

// run goes on until nobody was faster. Why is a reason to write nothing.
func (t *turn) run(ctx context.Context, why func() error) (wrote bool, err error) {
	r := &race{Contest: t.h.Contest(t.e), t: t, began: t.h.Engine.Mono()}
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
				Pause(try)
			}
		}
	}
	r.leave()
	return false, err
}

// apply calls the functions of those who are there, and reports whether one of
// them writes.
func (t *turn) apply(old Value) (now Value, writes bool) {
	now = old
	for _, c := range t.changes {
		if c.fate.CompareAndSwap(waiting, running) { // else its caller has gone, or it was called
			c.rests = writes
			now = c.run(now)
			writes = writes || c.writes
		}
	}
	return now, writes
}

// again has all begin anew, where another write came first, but those that have ended their goroutine.
func (t *turn) again() {
	for _, c := range t.changes {
		if !c.exited {
			c.fate.CompareAndSwap(running, waiting)
		}
	}
}

// settle gives each change its outcome. A function whose error or panic rests on
// what was not written in the end has the error of the write. A panic that no caller
// gets is logged.
func (t *turn) settle(err error) {
	for _, c := range t.changes {
		var panicked *PanicError
		void := err != nil && c.rests
		if errors.As(c.err, &panicked) && (void || c.fate.Load() == goneTwo) {
			t.h.Engine.Logger.Error("a function of Compute panicked when its caller had gone, or on a value that was not written", "name", t.e.name, "err", c.err)
		}
		if c.err == nil || void {
			c.err = err
		}
		c.settled = true
	}
}

// longestPause bounds how long a turn waits that others of the fleet were
// faster than.
const longestPause = 5 * time.Millisecond

// Pause lets the others finish that are at the same entry.
func Pause(try int) {
	if try == 0 {
		return
	}
	time.Sleep(rand.N(min(50*time.Microsecond<<min(try, 10), longestPause)))
}

// locked takes a turn under the lock of its entry. If the hold is lost before
// anything was written, all is done again.
func (t *turn) locked(ctx context.Context) error {
	for {
		again, err := t.once(ctx)
		if !again {
			return err
		}
		t.again()
	}
}

func (t *turn) once(ctx context.Context) (again bool, err error) {
	waiting, stop := t.whileAnybodyWaits(ctx)
	hold, err := lock.New(t.h.Engine, keys.EntryLock(t.e.name, t.e.key)).Lock(waiting)
	stop()
	if err != nil {
		return false, err
	}
	defer func() { _ = hold.Unlock(context.WithoutCancel(ctx)) }()
	wrote, err := t.run(ctx, func() error {
		if hold.Err() != nil {
			return errOutrun
		}
		return nil
	})
	if err == errOutrun {
		return true, nil
	}
	if lost := hold.Err(); lost != nil && wrote {
		err = &outrunError{lost}
	}
	return false, err
}

// outrunError says that a turn lost its hold after it had written: the present holder of the
// lock may have read before that. The outcome is unknown, though no reply was lost.
type outrunError struct{ lost error }

func (e *outrunError) Error() string {
	return fmt.Sprintf("outcome unknown: it was written, but may have been overwritten: the lock of the entry was lost meanwhile: %v", e.lost)
}

func (e *outrunError) Unwrap() []error { return []error{core.ErrOutcomeUnknown, e.lost} }

// errOutrun is why a turn under a hold that was lost writes nothing.
var errOutrun = errors.New("the hold is lost")

// whileAnybodyWaits returns a context that ends when all callers have gone.
func (t *turn) whileAnybodyWaits(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	var left atomic.Int64
	left.Store(int64(len(t.changes)))
	stops := make([]func() bool, len(t.changes))
	for i, c := range t.changes {
		stops[i] = context.AfterFunc(c.Context, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
