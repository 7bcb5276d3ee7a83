package writethrough

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

func errFull(n int) error {
	return fmt.Errorf("%w: %d changes are queued already", ErrBacklog, n)
}

// longestLook bounds the time between two looks of a caller that waits for room.
const longestLook = 50 * time.Millisecond

// queue queues changes, if there is room, or waits for that. Most is how many changes
// may be queued with these.
func (w *Map[K, V]) queue(ctx context.Context, most int, change mapstore.Queuing) (q mapstore.Queued, err error) {
	if w.drain.closed.Load() { // since the operation began
		return q, ErrClosed
	}
	if w.cfg.wait == 0 || len(w.drain.line) == 0 { // else others wait already
		if q, err = w.queueNow(ctx, most, change); !q.Full || w.cfg.wait == 0 {
			return q, err
		}
	}
	return w.queueLater(ctx, most, change)
}

// queueLater is queue for callers that wait for room. One caller of the handle asks the server at
// a time, and the others wait in line.
func (w *Map[K, V]) queueLater(ctx context.Context, most int, change mapstore.Queuing) (q mapstore.Queued, err error) {
	over := time.NewTimer(w.cfg.wait)
	defer over.Stop()
	ended := func(ended error) (mapstore.Queued, error) {
		return mapstore.Queued{Full: true}, fmt.Errorf("%w: %w", errFull(w.cfg.backlog), ended)
	}
	select {
	case w.drain.line <- struct{}{}:
		defer func() { <-w.drain.line }()
	case <-over.C:
		return mapstore.Queued{Full: true}, errFull(w.cfg.backlog)
	case <-ctx.Done():
		return ended(core.ContextError(ctx))
	case <-w.h.Hub.Engine.Closing():
		return ended(ErrClosed)
	case <-w.drain.closing:
		return ended(ErrClosed)
	}
	for look := 0; ; look++ {
		if w.drain.closed.Load() {
			return ended(ErrClosed)
		}
		if q, err = w.queueNow(ctx, most, change); !q.Full {
			return q, err
		}
		pause := time.NewTimer(min(time.Millisecond<<min(look, 10), longestLook))
		select {
		case <-pause.C:
		case <-over.C:
			pause.Stop()
			return q, err
		case <-ctx.Done():
			pause.Stop()
			return ended(core.ContextError(ctx))
		case <-w.h.Hub.Engine.Closing():
			pause.Stop()
			return ended(ErrClosed)
		case <-w.drain.closing:
			pause.Stop()
			return ended(ErrClosed)
		}
	}
}

// queueNow makes one exchange.
func (w *Map[K, V]) queueNow(ctx context.Context, most int, change mapstore.Queuing) (mapstore.Queued, error) {
	q, err := mapstore.Writing(ctx, w.h.Hub, func() (mapstore.Queued, error) {
		return w.h.Store.(mapstore.Queues).Queue(ctx, most, change)
	})
	switch {
	case err == nil && q.Full:
		err = errFull(w.cfg.backlog)
	case !q.Other:
		w.drain.queued.Add(int64(len(change.Pairs) / 2))
	}
	w.drains() // also if the answer was lost, or there is no room
	return q, err
}
