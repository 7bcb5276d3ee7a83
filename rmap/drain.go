package rmap

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/lock"
)

// drainer is this process's part in the writing of what is queued.
type drainer struct {
	lock   *lock.Fenced // of the process that does
	looked atomic.Bool  // for what others have left
	closed atomic.Bool
	news   chan struct{} // something was queued
	queued atomic.Int64  // so many changes, by this handle

	mu    sync.Mutex
	again bool
	stop  context.CancelCauseFunc // of who drains; nil: nobody
	ended chan struct{}           // when it has
	bad   error                   // what the server has refused for good when it was last asked
	turns int                     // so often this process has tried to be the one that drains
}

// drains sees to it that this process takes part, as long as there is something
// to do and the handle is open.
func (w *Writing[K, V]) drains() { w.begin(false) }

// begin is drains, also of who closes.
func (w *Writing[K, V]) begin(closing bool) {
	d := &w.drain
	select {
	case d.news <- struct{}{}:
	default:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() && !closing { // quit has been here, or comes
		return
	}
	if d.stop != nil {
		d.again = true
		return
	}
	ctx, stop := context.WithCancelCause(context.Background())
	ended := make(chan struct{})
	if !w.h.h.e.Spawn(func() { defer close(ended); w.run(ctx) }) { // ends when nothing is queued, or with the client
		stop(ErrClosed)
		return
	}
	d.stop, d.ended = stop, ended
}

// quit has this process take part no more. Who was called with a context that has
// ended has a moment to heed that.
func (w *Writing[K, V]) quit() {
	d := &w.drain
	d.mu.Lock()
	stop, ended := d.stop, d.ended
	d.mu.Unlock()
	if stop == nil {
		return
	}
	stop(ErrClosed)
	timer := time.NewTimer(2 * heed)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

func (w *Writing[K, V]) run(ctx context.Context) {
	ctx, stop := w.untilClosed(ctx)
	defer stop()
	for try := 0; ; try++ {
		err := w.drainAll(ctx)
		w.note(err)
		if w.ends(ctx, err == nil) {
			return
		}
		if err != nil {
			w.rest(ctx, try, err)
		} else {
			try = 0
		}
	}
}

// ends reports whether there is nothing more to do.
func (w *Writing[K, V]) ends(ctx context.Context, over bool) bool {
	d := &w.drain
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() == nil && (!over || d.again) {
		d.again = false
		return false
	}
	d.stop(nil)
	d.stop, d.again = nil, false
	return true
}

// note keeps what keeps this process from draining until somebody sees to it, for
// those who close, and tells the log of it once.
func (w *Writing[K, V]) note(err error) {
	if !forGood(err) {
		err = nil
	}
	d := &w.drain
	d.mu.Lock()
	known := d.bad != nil
	d.bad = err
	d.turns++
	d.mu.Unlock()
	if err != nil && !known {
		w.h.h.e.Logger.Warn("what is queued for a store cannot be taken: it is tried again", "name", w.h.key, "err", err)
	}
}

// forGood reports whether the server has refused something, and not for a moment.
func forGood(err error) bool {
	var reply *rueidis.RedisError
	return errors.Is(err, engine.ErrFamily) || errors.As(err, &reply) && !engine.Passing(err)
}

// untilClosed is a context that ends when the client begins to close, too.
func (w *Writing[K, V]) untilClosed(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() { // ends with run
		select {
		case <-w.h.h.e.Closing():
			cancel(ErrClosed)
		case <-stopped:
		}
	}()
	return ctx, func() {
		close(stopped)
		cancel(nil)
	}
}

// rest is a pause that grows with each failure in a row, of which so many were
// before.
func (w *Writing[K, V]) rest(ctx context.Context, try int, err error) {
	w.h.h.e.Logger.Debug("writing behind", "name", w.h.key, "attempt", try+1, "err", err)
	nap(ctx, min(50*time.Millisecond<<min(try, 10), 5*time.Second))
}

// nap waits for d, or for the end of ctx.
func nap(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// drainAll writes what is queued until there is nothing, as the only one of the
// fleet.
func (w *Writing[K, V]) drainAll(ctx context.Context) error {
	hold, err := w.drain.lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = hold.Unlock(context.WithoutCancel(ctx)) }()
	turn := draining{hold, hold.Context(ctx), w.h.sender()}
	for {
		if more, err := w.drainSome(&turn); !more || err != nil {
			return err
		}
	}
}

// draining is what this process does while it is the only one.
type draining struct {
	hold *lock.Hold
	ctx  context.Context // of the hold
	s    sender
}

// over is why it is not the only one any more. Who has slept knows at once.
func (t *draining) over() error {
	if err := t.hold.Err(); err != nil {
		return err
	}
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return nil
}

// drainSome writes a batch, if there is one, as often as it takes.
func (w *Writing[K, V]) drainSome(t *draining) (more bool, err error) {
	for tries := 1; ; tries++ {
		some, err := w.gather(t.ctx, &t.s)
		if err != nil || len(some) == 0 {
			return false, err
		}
		told, err := w.store(t, some, tries)
		if err == nil {
			return true, w.settle(t, "", some, told)
		}
		w.refused(t, told)
		if over := t.over(); over != nil {
			return false, over
		}
		w.complain(tries, err)
		if w.cfg.attempts > 0 && tries >= w.cfg.attempts {
			return true, w.giveUp(t, some, w.cfg.attempts+1)
		}
		w.rest(t.ctx, tries-1, err)
	}
}

// complain tells the log of a store that has begun to refuse changes, and of a
// writer that panics.
func (w *Writing[K, V]) complain(tries int, err error) {
	if _, panicked := err.(*errPanic); panicked {
		w.h.h.e.Logger.Error("the writer of a map panicked", "name", w.h.key, "attempt", tries, "err", err)
	} else if tries == 1 {
		w.h.h.e.Logger.Warn("the store does not take changes: they are tried again", "name", w.h.key, "err", err)
	}
}

// gather is the next batch: a full one, or what there is a delay later. Nothing
// comes when nothing was queued for a delay.
func (w *Writing[K, V]) gather(ctx context.Context, s *sender) ([]backlogged, error) {
	before := w.drain.queued.Load()
	some, err := s.backlog(ctx, w.cfg.batch)
	if err != nil || len(some) == w.cfg.batch {
		return some, err
	}
	timer := time.NewTimer(w.cfg.delay)
	defer timer.Stop()
	for there := int64(len(some)); ; {
		select {
		case <-timer.C:
			return s.backlog(ctx, w.cfg.batch)
		case <-ctx.Done():
			return nil, engine.ContextError(ctx)
		case <-w.drain.news:
			now := w.drain.queued.Load()
			if !w.drain.closed.Load() && there+now-before < int64(w.cfg.batch) {
				continue // what this process has queued does not make it full
			}
			if there, err = s.queuedMany(ctx); err != nil || w.drain.closed.Load() || there >= int64(w.cfg.batch) {
				return s.backlog(ctx, w.cfg.batch)
			}
			before = now
		}
	}
}

// store calls the writer with the last change of each key, and returns what is to
// be told of that. A turn that is over has it not called.
func (w *Writing[K, V]) store(t *draining, some []backlogged, attempt int) (told engine.Write, err error) {
	changes, err := w.changes(some)
	if err == nil {
		err = t.over()
	}
	if err != nil {
		return told, err
	}
	told = engine.Write{Changes: len(changes), Behind: true, Attempt: attempt}
	err = w.timed(&told, func() error { return w.guarded(t.ctx, changes) })
	return told, err
}

func (w *Writing[K, V]) changes(some []backlogged) (changes []Change[K, V], err error) {
	seen := make(map[string]bool)
	for _, b := range slices.Backward(some) {
		if seen[b.key] {
			continue
		}
		seen[b.key] = true
		c := Change[K, V]{Removed: !b.to.there}
		if c.Key, err = w.h.decodeKey(b.key); err != nil {
			return nil, err
		}
		if c.Value, _, err = w.h.decode(b.key, b.to); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	slices.Reverse(changes)
	return changes, nil
}

// guarded calls the writer. Its panic, or its end of the goroutine, is an error.
func (w *Writing[K, V]) guarded(ctx context.Context, changes []Change[K, V]) error {
	returned := make(chan error, 1)
	go func() { // ends with the writer
		err := errExited
		defer func() {
			if p := recover(); p != nil {
				err = &errPanic{p, debug.Stack()}
			}
			returned <- err
		}()
		err = w.write(ctx, changes)
	}()
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
		timer := time.NewTimer(heed)
		defer timer.Stop()
		select {
		case err := <-returned:
			return err
		case <-timer.C:
			return engine.ContextError(ctx)
		}
	}
}

// giveUp writes changes one by one, and puts aside those that are refused.
func (w *Writing[K, V]) giveUp(t *draining, some []backlogged, attempt int) error {
	for i := range some {
		one, how := some[i:i+1], ""
		told, err := w.store(t, one, attempt)
		if err != nil {
			if over := t.over(); over != nil {
				w.refused(t, told)
				return over
			}
			how, told.Dead = "dead", true
			w.h.h.e.Logger.Warn("the store does not take a change", "name", w.h.key, "id", one[0].id, "err", err)
		}
		if err := w.settle(t, how, one, told); err != nil {
			return err
		}
	}
	return nil
}
