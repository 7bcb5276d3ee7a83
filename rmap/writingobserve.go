package rmap

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// observes calls a writer, and tells of it.
func (w *Writing[K, V]) observes(ctx context.Context, told engine.Write, write func() error) error {
	began := time.Now()
	err := write()
	if e := w.h.h.e; e.Caches != nil {
		told.Map, told.Took, told.Err = w.h.key, time.Since(began), err
		told.Dead = told.Dead && err != nil && ctx.Err() == nil
		if told.Behind {
			told.Queued = w.stillQueued(ctx, told.Queued, err)
		}
		e.Caches.Wrote(ctx, told)
	}
	return err
}

// stillQueued is how many changes are queued, without those that the store has now.
func (w *Writing[K, V]) stillQueued(ctx context.Context, these int64, failed error) int64 {
	s := w.h.sender()
	n, err := s.queuedMany(ctx)
	switch {
	case err != nil:
		return -1
	case failed == nil:
		return max(n-these, 0)
	}
	return n
}
