package rmap

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

func errFull(n int) error {
	return fmt.Errorf("%w: %d changes are queued already", ErrBacklog, n)
}

// longestLook bounds the time between two looks of a caller that waits for room.
const longestLook = 50 * time.Millisecond

// queue queues changes, if there is room, or waits for that. Most is how many changes
// may be queued with these.
func (w *Writing[K, V]) queue(ctx context.Context, most int, change queuing) (q queued, err error) {
	if w.cfg.wait == 0 || len(w.drain.line) == 0 { // else others wait already
		if q, err = w.queueNow(ctx, most, change); !q.full || w.cfg.wait == 0 {
			return q, err
		}
	}
	return w.queueLater(ctx, most, change)
}

// queueLater is queue for callers that wait for room. One caller of the handle asks the server at
// a time, and the others wait in line.
func (w *Writing[K, V]) queueLater(ctx context.Context, most int, change queuing) (q queued, err error) {
	over := time.NewTimer(w.cfg.wait)
	defer over.Stop()
	ended := func(ended error) (queued, error) {
		return queued{full: true}, fmt.Errorf("%w: %w", errFull(w.cfg.backlog), ended)
	}
	select {
	case w.drain.line <- struct{}{}:
		defer func() { <-w.drain.line }()
	case <-over.C:
		return queued{full: true}, errFull(w.cfg.backlog)
	case <-ctx.Done():
		return ended(core.ContextError(ctx))
	case <-w.h.h.e.Closing():
		return ended(ErrClosed)
	}
	for look := 0; ; look++ {
		if q, err = w.queueNow(ctx, most, change); !q.full {
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
		case <-w.h.h.e.Closing():
			pause.Stop()
			return ended(ErrClosed)
		}
		if w.drain.closed.Load() {
			return ended(ErrClosed)
		}
	}
}

// queueNow makes one exchange.
func (w *Writing[K, V]) queueNow(ctx context.Context, most int, change queuing) (queued, error) {
	q, err := writing(ctx, w.h.h, func() (queued, error) {
		return w.h.store.(queues).queue(ctx, most, change)
	})
	switch {
	case err == nil && q.full:
		err = errFull(w.cfg.backlog)
	case !q.other:
		w.drain.queued.Add(int64(len(change.pairs) / 2))
	}
	w.drains() // also if the answer was lost, or there is no room
	return q, err
}
