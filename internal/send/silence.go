package send

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// silence is whether the last send was answered. A wait whose context ends while its first exchange is under way has no failure
// of its own, and says by this that the server is away. It is kept where there is one master: of a cluster's nodes one
// may be silent, and the others not. The zero value is ready for use.
type silence struct {
	broken atomic.Bool  // whether a send was not answered since the last answer
	heard  atomic.Int64 // when the latest send began that was answered, as a time.Duration

	mu  sync.Mutex
	at  time.Duration // of the last failure
	why error
}

// isLate reports whether a send was not answered in time. A connection that broke is made again at once, and says nothing of the
// server.
func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// failed notes a send that was not answered in time. If a later one was answered, the server is there, and one connection is
// silent.
func (q *silence) failed(started, now time.Duration, why error) {
	if time.Duration(q.heard.Load()) > started {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.at, q.why = now, why
	q.broken.Store(true)
}

// answered notes that the server has answered a send that began then. A millisecond is exact enough, and keeps calls from
// writing to one word all the time.
func (q *silence) answered(started time.Duration) {
	if started-time.Duration(q.heard.Load()) > time.Millisecond {
		q.heard.Store(int64(started))
	}
	if q.broken.Load() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.broken.Store(false)
	}
}

// silent returns why the last send has failed, if that was after since, and not long ago; nil if it was answered.
func (s *Sender) silent(since time.Duration) error {
	if s.Cluster() || !s.silence.broken.Load() {
		return nil
	}
	s.silence.mu.Lock()
	defer s.silence.mu.Unlock()
	if at := s.silence.at; at < since || s.Now().Mono-at > 2*s.SendTimeout() {
		return nil
	}
	return s.silence.why
}
