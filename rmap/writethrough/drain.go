package writethrough

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// drainer is this process's part in the writing of what is queued.
type drainer struct {
	lock    *lock.Fenced // of the process that does
	closed  atomic.Bool
	news    chan struct{} // something was queued
	queued  atomic.Int64  // so many changes, by this handle
	flushes atomic.Int64  // so many wait for what is queued
	line    chan struct{} // of those who wait for room: who is in it asks
	closing chan struct{} // is closed by the first Close

	mu    sync.Mutex
	again bool
	stop  context.CancelCauseFunc // of who drains; nil: nobody
	ended chan struct{}           // when it has
	bad   error                   // what the server has refused for good when it was last asked
	asked time.Duration           // when that exchange began, see Engine.Mono

	lookout
	streak streak        // of the process's own writer; of the goroutine that drains
	stuck  chan struct{} // closed when a call returns that was not waited for; nil: there is none
}

// drains sees to it that this process takes part, as long as there is something
// to do and the handle is open.
func (w *Map[K, V]) drains() { w.begin(false) }

// begin begins to drain, also for a handle that closes.
func (w *Map[K, V]) begin(closing bool) {
	d := &w.drain
	if w.cfg.others {
		return
	}
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
	if !w.h.Hub.Engine.Spawn(func() { defer close(ended); w.run(ctx) }) { // ends when nothing is queued, or with the client
		stop(ErrClosed)
		return
	}
	d.stop, d.ended = stop, ended
}

// quit has this process take part no more. Who was called with a context that has
// ended has a moment to heed that.
func (w *Map[K, V]) quit() {
	d := &w.drain
	d.mu.Lock()
	stop, ended := d.stop, d.ended
	d.mu.Unlock()
	if stop == nil {
		return
	}
	stop(ErrClosed)
	timer := time.NewTimer(2 * mapstore.Heed)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

func (w *Map[K, V]) run(ctx context.Context) {
	ctx, stop := w.untilClosed(ctx)
	defer stop()
	for try := 0; ; try++ {
		began := w.h.Hub.Engine.Mono()
		next, err := w.drainAll(ctx)
		w.note(began, err)
		if w.finish(ctx, err == nil && next == (later{})) {
			return
		}
		switch {
		case err == errStandBack:
			w.standBack(ctx)
			try = 0
		case err != nil:
			w.rest(ctx, try, err)
		default:
			w.await(ctx, next)
			try = 0
		}
	}
}

// finish ends the part of this process, if there is nothing more to do.
func (w *Map[K, V]) finish(ctx context.Context, over bool) bool {
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
// those who close, and tells the log of it once. Began is when the server was asked.
func (w *Map[K, V]) note(began time.Duration, err error) {
	if !forGood(err) {
		err = nil
	}
	d := &w.drain
	d.mu.Lock()
	known := d.bad != nil
	d.bad, d.asked = err, began
	d.mu.Unlock()
	if err != nil && !known {
		w.h.Hub.Engine.Logger.Warn("what is queued for a store cannot be taken: it is tried again", "name", w.h.Key, "err", err)
	}
}

// forGood reports whether the server has refused something, and not for a moment.
func forGood(err error) bool {
	var reply *rueidis.RedisError
	return errors.Is(err, core.ErrWrongKind) || errors.As(err, &reply) && !send.Transient(err)
}

// untilClosed returns a context that ends when the client begins to close, too.
func (w *Map[K, V]) untilClosed(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() { // ends with run
		select {
		case <-w.h.Hub.Engine.Closing():
			cancel(ErrClosed)
		case <-stopped:
		}
	}()
	return ctx, func() {
		close(stopped)
		cancel(nil)
	}
}

// rest pauses after a failure. The pause grows with each failure in a row; try counts those
// before.
func (w *Map[K, V]) rest(ctx context.Context, try int, err error) {
	w.h.Hub.Engine.Logger.Debug("writing behind", "name", w.h.Key, "attempt", try+1, "err", err)
	nap(ctx, restOf(try))
}

func restOf(try int) time.Duration { return min(50*time.Millisecond<<min(try, 10), 5*time.Second) }

// nap waits for d, or for the end of ctx.
func nap(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// later is when a batch is due that is not full yet. Its zero value says that nothing
// is queued.
type later struct {
	wait   time.Duration
	there  int   // so many changes are queued
	queued int64 // by this handle, before these were counted
}

// longestHeld is for how long the one that drains waits for a batch to be due; where
// it takes longer, others that have no time for it may write meanwhile.
const longestHeld = time.Second

// drainAll writes what is due, as the only one of the fleet, and returns when there is
// something again.
func (w *Map[K, V]) drainAll(ctx context.Context) (later, error) {
	hold, err := w.drain.lock.Lock(ctx)
	if err != nil {
		return later{}, err
	}
	defer func() { _ = hold.Unlock(context.WithoutCancel(ctx)) }()
	t := draining{hold, hold.Context(ctx), w.h.Sender()}
	for {
		some, next, err := w.due(t.ctx, &t.s)
		switch {
		case err != nil || some == nil && (next.wait == 0 || next.wait > longestHeld):
			return next, err
		case some == nil:
			w.await(t.ctx, next)
			err = t.over()
		default:
			err = w.drainSome(&t, some)
		}
		if err != nil {
			return later{}, err
		}
	}
}

// due returns the next batch, if it is full, has waited for the delay, or is not to wait:
// because a Close or a Flush
// waits for it, or the writer has refused it before.
func (w *Map[K, V]) due(ctx context.Context, s *mapstore.Sender) (some []mapstore.Backlogged, next later, err error) {
	queued := w.drain.queued.Load() // what is queued while these are read, or later, may make the batch full
	b, err := s.Backlog(ctx, w.cfg.batch)
	if err != nil || len(b.Changes) == 0 {
		return nil, later{}, err
	}
	left := w.cfg.delay - max(b.Age, 0)
	if b.Full || left <= 0 || w.drain.hurries() || w.drain.streak.calls > 0 {
		return b.Changes, later{}, nil
	}
	return nil, later{left, len(b.Changes), queued}, nil
}

// await waits until a batch is due, or this process has queued what makes it full.
func (w *Map[K, V]) await(ctx context.Context, next later) {
	timer := time.NewTimer(next.wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-w.drain.news:
			if w.drain.hurries() || int64(next.there)+w.drain.queued.Load()-next.queued >= int64(w.cfg.batch) {
				return
			}
		}
	}
}

// hurries reports whether a caller waits until nothing is queued.
func (d *drainer) hurries() bool { return d.closed.Load() || d.flushes.Load() > 0 }

// draining is what this process does while it is the only one.
type draining struct {
	hold *lock.Hold
	ctx  context.Context // of the hold
	s    mapstore.Sender
}

// over returns why the process is not the only writer any more. A process that has slept knows at once.
func (t *draining) over() error {
	if err := t.hold.Err(); err != nil {
		return err
	}
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return nil
}

// drainSome has the writer called with a batch, once.
func (w *Map[K, V]) drainSome(t *draining, some []mapstore.Backlogged) error {
	w.drain.saw(w.h.Hub, some)
	began := w.h.Hub.Engine.Mono()
	told, err := w.store(t, some, w.drain.streak.calls+1)
	switch {
	case err == nil:
		w.drain.streak = streak{}
		return w.settle(t, mapstore.Grave{}, some, told)
	case len(some) == 1 && discarded(err) && t.over() == nil:
		return w.bury(t, some, told, err)
	}
	w.refused(t, told)
	if over := t.over(); over != nil {
		return over
	}
	if discarded(err) {
		return w.oneByOne(t, some, discarded)
	}
	return w.failed(t, some, began, err)
}

// settle drops changes from the queue, and only then tells of the call that was about
// them: the writer is called again with what is not settled when the turn is over.
func (w *Map[K, V]) settle(t *draining, aside mapstore.Grave, some []mapstore.Backlogged, told core.Write) (err error) {
	for try := 0; ; try++ {
		began := w.h.Hub.Engine.Mono()
		if told.Queued, err = t.s.Settled(t.ctx, aside, some); err == nil || t.over() != nil {
			break
		}
		w.note(began, err)
		w.rest(t.ctx, try, err)
	}
	w.tell(t.ctx, told)
	return err
}

// refused tells of a call that leaves all in the queue.
func (w *Map[K, V]) refused(t *draining, told core.Write) {
	told.Queued = -1
	if w.h.Hub.Engine.Caches != nil && t.ctx.Err() == nil {
		if n, err := t.s.QueuedMany(t.ctx); err == nil {
			told.Queued = n
		}
	}
	w.tell(t.ctx, told)
}

// failed handles a call that began then, and that is to be made again.
func (w *Map[K, V]) failed(t *draining, some []mapstore.Backlogged, began time.Duration, err error) error {
	d, now := &w.drain, w.h.Hub.Engine.Mono()
	d.streak.add(some[0].ID, began, now)
	if _, panicked := err.(*turn.PanicError); panicked {
		w.h.Hub.Engine.Logger.Error("the writer of a map panicked", "name", w.h.Key, "attempt", d.streak.calls, "err", err)
	} else if d.streak.calls == 1 {
		w.h.Hub.Engine.Logger.Warn("the store does not take changes: they are tried again", "name", w.h.Key, "err", err)
	}
	if w.cfg.retries > 0 && !errors.Is(err, errStuck) && now-d.streak.since >= w.cfg.retries {
		return w.oneByOne(t, some, func(err error) bool { return !errors.Is(err, errStuck) })
	}
	if d.streak.calls >= fewFailures || errors.Is(err, errTimeout) {
		return errStandBack
	}
	w.rest(t.ctx, d.streak.calls-1, err)
	return t.over()
}

// store calls the writer with the last change of each key, and returns what is to
// be told of that. A turn that is over has it not called.
func (w *Map[K, V]) store(t *draining, some []mapstore.Backlogged, attempt int) (told core.Write, err error) {
	changes, err := w.changes(some)
	if err == nil {
		err = t.over()
	}
	if err != nil {
		return told, err
	}
	told = core.Write{Changes: len(changes), Behind: true, Attempt: attempt}
	err = w.timed(&told, func() error { return w.guarded(t.ctx, changes) })
	return told, err
}

func (w *Map[K, V]) changes(some []mapstore.Backlogged) (changes []Change[K, V], err error) {
	seen := make(map[string]bool)
	for _, b := range slices.Backward(some) {
		if seen[b.Key] {
			continue
		}
		seen[b.Key] = true
		c := Change[K, V]{Removed: !b.To.There}
		if c.Key, err = w.h.Codecs.DecodeKey(b.Key); err != nil {
			return nil, err
		}
		if c.Value, _, err = w.h.Decode(b.Key, b.To); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	slices.Reverse(changes)
	return changes, nil
}

// errTimeout is why a call of the writer is not waited for any more.
var errTimeout = fmt.Errorf("the writer took too long: %w", context.DeadlineExceeded)

// errStuck is why the writer was not called: the last call goes on.
var errStuck = fmt.Errorf("%w, and has not returned yet", errTimeout)

// guarded calls the writer. Its panic, or its end of the goroutine, is an error. A
// writer that does not return when its context has ended is not called again before
// it does.
func (w *Map[K, V]) guarded(ctx context.Context, changes []Change[K, V]) error {
	if w.drain.stuck != nil {
		select {
		case <-w.drain.stuck:
		default:
			return errStuck
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.timeout, errTimeout)
	defer cancel()
	returned, done := make(chan error, 1), make(chan struct{})
	w.drain.stuck = done
	go func() { // ends with the writer
		err := turn.ErrExited
		defer func() {
			if p := recover(); p != nil {
				err = turn.Panicked(p)
			}
			returned <- err
			close(done)
		}()
		err = w.write(ctx, changes)
	}()
	select {
	case err := <-returned:
		return timely(ctx, err)
	case <-ctx.Done():
		timer := time.NewTimer(mapstore.Heed)
		defer timer.Stop()
		select {
		case err := <-returned:
			return timely(ctx, err)
		case <-timer.C:
			return context.Cause(ctx)
		}
	}
}

// timely names the end of the writer's time, if an error is of that.
func timely(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errTimeout && !errors.Is(err, errTimeout) {
		return fmt.Errorf("%w: %w", errTimeout, err)
	}
	return err
}

// oneByOne has the writer called with each change alone, and puts aside those of whose
// error that is said.
func (w *Map[K, V]) oneByOne(t *draining, some []mapstore.Backlogged, aside func(error) bool) error {
	attempt := max(w.drain.streak.calls, 1) + 1
	for i := range some {
		one, began := some[i:i+1], w.h.Hub.Engine.Mono()
		told, err := w.store(t, one, attempt)
		if err == nil {
			w.drain.streak = streak{}
			if err = w.settle(t, mapstore.Grave{}, one, told); err != nil {
				return err
			}
			continue
		}
		if over := t.over(); over != nil {
			w.refused(t, told)
			return over
		}
		if !aside(err) {
			w.refused(t, told)
			return w.failed(t, one, began, err)
		}
		if err = w.bury(t, one, told, err); err != nil {
			return err
		}
	}
	return nil
}
