package send

import (
	"context"
	"sync"
	"time"
)

// CutShort ends the exchanges that are under way when ctx has ended, a moment
// later. The returned function says that there is no need any more.
func (s *Sender) CutShort(ctx context.Context) (done func()) {
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
func (s *Sender) End() error {
	s.Tasks.Stop() // no goroutines from now on, so that those at work can be waited for
	s.Tasks.Wait()
	s.Crew.End()
	if d := s.soon.Load(); d != nil {
		d.cancel()
	}
	if s.Owned {
		s.Redis.Close()
	}
	return s.undone.err()
}
