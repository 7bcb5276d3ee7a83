package admission

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Quiet keeps a server that does not answer from filling the log: it allows a line a second.
type Quiet struct {
	mu    sync.Mutex
	until time.Time
	held  int
}

// Warn logs that a limiter failed, unless it did so less than a second ago. key is redacted.
func (q *Quiet) Warn(ctx context.Context, logger *slog.Logger, limiter, key, outcome string, err error, more ...any) {
	unlogged, ok := q.speak(time.Now())
	if !ok {
		return
	}
	logger.WarnContext(ctx, "rate limiter failed", append(more, slog.String("name", limiter), slog.String("key", key),
		slog.String("outcome", outcome), slog.Int("unlogged", unlogged), slog.Any("err", err))...)
}

// speak reports whether a line may be written now, and how many were not since the last one.
func (q *Quiet) speak(now time.Time) (unlogged int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.until) {
		q.held++
		return 0, false
	}
	unlogged, q.held, q.until = q.held, 0, now.Add(time.Second)
	return unlogged, true
}
