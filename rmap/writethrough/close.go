package writethrough

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Close refuses further changes by this handle, and waits until the changes that are queued
// when it is called were written, by any process. When ctx ends, Close returns an error that
// says how many are left. Other processes write them, or the next one that uses the map;
// another Close waits again. After Close has returned, write of this handle is not called any
// more. A call of write that has ignored the end of its context for 100 ms may still run. A
// Map that writes through has nothing to wait for. Close also ends when the server refuses
// for good. The map and the client stay open. Other calls after Close return [ErrClosed].
//
// Cost: a script call for each look, at most each 50 ms. Errors: ctx's error and cause, with the
// number of changes that are left; [ErrClosed] if the client was closed; those of Redis.
func (w *Map[K, V]) Close(ctx context.Context) error {
	if w.bad != nil {
		return nil
	}
	if ctx == nil {
		return w.h.Failed("close", object.CheckContext(ctx))
	}
	first := !w.drain.closed.Swap(true)
	if !w.cfg.behind {
		return nil
	}
	if first {
		close(w.drain.closing)
	}
	defer w.quit()
	return w.h.Failed("close", w.written(ctx, true))
}

// Flush waits until the changes that are queued when it is called were written, by any
// process, and has this one not wait for more to write them with. ctx ends the wait,
// and its error says how much is left. Of a Map that writes through there is
// nothing to wait for.
//
// Cost: a script call for each look, at most each 50 ms. Errors: as [Map.Close].
func (w *Map[K, V]) Flush(ctx context.Context) error {
	err := w.usable("flush")
	switch {
	case err != nil:
		return err
	case ctx == nil:
		return w.h.Failed("flush", object.CheckContext(ctx))
	case !w.cfg.behind:
		return nil
	}
	w.drain.flushes.Add(1)
	defer w.drain.flushes.Add(-1)
	return w.h.Failed("flush", w.written(ctx, false))
}

// Backlog returns how many changes are queued for the store, by any process. Of a Map
// that writes through there are none.
//
// Cost: one command. Errors: as the map's Len.
func (w *Map[K, V]) Backlog(ctx context.Context) (n int64, err error) {
	if err = w.usable("count what is queued for"); err != nil || !w.cfg.behind {
		return 0, err
	}
	if err = w.h.Usable(ctx); err == nil {
		n, err = mapstore.Reading(ctx, w.h.Hub, func() (int64, error) {
			s := w.h.Sender()
			return s.QueuedMany(ctx)
		})
	}
	return n, w.h.Failed("count what is queued for", err)
}

// written waits until what is queued now is not queued any more.
func (w *Map[K, V]) written(ctx context.Context, closing bool) error {
	last, left, err := "", int64(0), error(nil)
	since := w.h.Hub.Engine.Mono()
	for look, asked := 0, false; ; look++ {
		if !asked {
			var q mapstore.Ends
			q, err = w.ends(ctx)
			last, asked = q.Last, err == nil
		}
		if err == nil {
			left, err = w.queuedUntil(ctx, last, left)
		}
		if err == nil && left == 0 {
			return nil
		}
		if err == nil {
			err = w.refusal(since)
		}
		if over := w.over(ctx, left, err); over != nil {
			return over
		}
		w.begin(closing)
		nap(ctx, min(time.Millisecond<<min(look, 10), 50*time.Millisecond))
	}
}

// refusal returns what keeps this process from draining, if that exchange began since then: a refusal from before may be
// over.
func (w *Map[K, V]) refusal(since time.Duration) error {
	d := &w.drain
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked < since {
		return nil
	}
	return d.bad
}

// over returns why a Close does not go on, if it does not; err is what it has met.
func (w *Map[K, V]) over(ctx context.Context, left int64, err error) error {
	why := w.h.Hub.Engine.Open()
	if why == nil && ctx.Err() != nil {
		why = core.ContextError(ctx)
	}
	switch {
	case why == nil && left > 0 && forGood(err):
		return fmt.Errorf("%d changes are not written: %w", left, err)
	case why == nil && err != nil && !send.Transient(err):
		return fmt.Errorf("changes may not be written: %w", err)
	case why == nil:
		return nil
	case err != nil && !errors.Is(err, why):
		return fmt.Errorf("changes may not be written: %w (last answer: %w)", why, err)
	case left == 0:
		return fmt.Errorf("changes may not be written: %w", why)
	}
	return fmt.Errorf("%d changes are not written: %w", left, why)
}

func (w *Map[K, V]) ends(ctx context.Context) (mapstore.Ends, error) {
	return mapstore.Reading(ctx, w.h.Hub, func() (mapstore.Ends, error) {
		s := w.h.Sender()
		return s.Ends(ctx)
	})
}

// queuedUntil returns how many changes are queued, if one is that is not newer than id.
// Who does not know says what is known.
func (w *Map[K, V]) queuedUntil(ctx context.Context, id string, known int64) (int64, error) {
	if id == "" {
		return 0, nil
	}
	q, err := w.ends(ctx)
	switch {
	case err != nil:
		return known, err
	case q.First == "" || !mapstore.NotAfter(q.First, id):
		return 0, nil
	}
	return q.Many, nil
}
