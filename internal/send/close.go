package send

import (
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// CutShort ends the exchanges that are under way when ctx has ended, a moment
// later. The returned function says that there is no need any more.
func CutShort(ctx context.Context, s *Sender) (done func()) {
	over := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() { // by over
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		timer := time.NewTimer(Lateness * 4 / 5) // the rest is for what ends then
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-over:
			return
		}
		s.abort()
		if s.Cut != nil {
			s.Cut()
		}
	})
	return func() {
		close(over)
		ended.Wait()
		s.abort()
	}
}

// End waits for the exchanges that are under way, after which there are no others, and closes a
// Redis client that is the client's own. It returns what was not done.
func End(s *Sender) error {
	core.End(s.Core)
	if d := s.soon.Load(); d != nil {
		d.cancel()
	}
	if s.Owned {
		s.Redis.Close()
	}
	return s.undone.err()
}
