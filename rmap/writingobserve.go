package rmap

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// timed calls a writer, and notes what came of it.
func (w *Writing[K, V]) timed(told *core.Write, write func() error) error {
	began := time.Now()
	err := write()
	told.Map, told.Took, told.Err = w.h.key, time.Since(began), err
	return err
}

// tell tells of a call of the writer, if there was one.
func (w *Writing[K, V]) tell(ctx context.Context, told core.Write) {
	if e := w.h.h.e; e.Caches != nil && told.Map != "" {
		e.Caches.Wrote(ctx, told)
	}
}

// settle drops changes from the queue, and only then tells of the call that was about
// them: the writer is called again with what is not settled when the turn is over.
func (w *Writing[K, V]) settle(t *draining, aside grave, some []backlogged, told core.Write) (err error) {
	for try := 0; ; try++ {
		if told.Queued, err = t.s.settled(t.ctx, aside, some); err == nil || t.over() != nil {
			break
		}
		w.note(err)
		w.rest(t.ctx, try, err)
	}
	w.tell(t.ctx, told)
	return err
}

// refused tells of a call that leaves all in the queue.
func (w *Writing[K, V]) refused(t *draining, told core.Write) {
	told.Queued = -1
	if w.h.h.e.Caches != nil && t.ctx.Err() == nil {
		if n, err := t.s.queuedMany(t.ctx); err == nil {
			told.Queued = n
		}
	}
	w.tell(t.ctx, told)
}
