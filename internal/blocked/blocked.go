// Package blocked is the line in which all callers of a client stand who wait for elements of queues, or for entries of
// streams: they share its connections, whichever package they call.
package blocked

import (
	"errors"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
)

// PutBack is given elements that were popped and that no caller waits for any more.
type PutBack func(k *poller.Kind, key string, items []poller.Item)

// Line is the waiting callers of one client.
type Line struct {
	*poller.Poller

	mu      sync.Mutex
	putBack PutBack
}

type lineKey struct{}

// Of returns the line of a client.
func Of(e *locking.Engine) *Line {
	return e.Shared(lineKey{}, func() any {
		l := &Line{}
		l.Poller = e.NewPoller(l.back)
		return l
	}).(*Line)
}

// PutsBack has f be given what is popped for nobody. A package whose callers take elements calls it before they do.
func (l *Line) PutsBack(f PutBack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putBack = f
}

func (l *Line) back(k *poller.Kind, key string, items []poller.Item) {
	l.mu.Lock()
	f := l.putBack
	l.mu.Unlock()
	f(k, key, items)
}

// Passes reports whether a request failed for a reason that may pass, so that its caller waits all the same.
func Passes(err error) bool {
	return (send.Transient(err) || send.MayHaveRun(err)) && !errors.Is(err, core.ErrClosed)
}
