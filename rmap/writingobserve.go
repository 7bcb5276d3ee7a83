package rmap

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// timed calls a writer, and notes what came of it.
func (w *Writing[K, V]) timed(told *engine.Write, write func() error) error {
	began := time.Now()
	err := write()
	told.Map, told.Took, told.Err = w.h.key, time.Since(began), err
	return err
}

// tell tells of a call of the writer, if there was one.
func (w *Writing[K, V]) tell(ctx context.Context, told engine.Write) {
	if e := w.h.h.e; e.Caches != nil && told.Map != "" {
		e.Caches.Wrote(ctx, told)
	}
}

// settle drops changes from the queue, and only then tells of the call that was about
// them: the writer is called again with what is not settled when ctx ends.
func (w *Writing[K, V]) settle(ctx context.Context, s *sender, how string, some []backlogged, told engine.Write) (err error) {
	for try := 0; ; try++ {
		if told.Queued, err = s.settled(ctx, how, some); err == nil || ctx.Err() != nil {
			break
		}
		w.note(err)
		w.rest(ctx, try, err)
	}
	w.tell(ctx, told)
	return err
}

// refused tells of a call that leaves all in the queue.
func (w *Writing[K, V]) refused(ctx context.Context, s *sender, told engine.Write) {
	told.Queued = -1
	if w.h.h.e.Caches != nil && ctx.Err() == nil {
		if n, err := s.queuedMany(ctx); err == nil {
			told.Queued = n
		}
	}
	w.tell(ctx, told)
}
