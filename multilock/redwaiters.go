package multilock

import (
	"slices"
	"strings"
	"sync"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
)

// redWaiters is what the callers of this process that want the same red lock
// share, whichever handles they have.
type redWaiters struct {
	places.Entry
	outage send.Outage // of a quorum

	mu   sync.Mutex
	told chan struct{} // closed when one of them gives up, so that the others look
}

type redWaitersKey struct{}

// redWaitersOf returns the table of a client. That of a red lock is in the table of its campaigns' client.
func redWaitersOf(e *locking.Engine) *places.Places[string, *redWaiters] {
	return e.Shared(redWaitersKey{}, func() any {
		return &places.Places[string, *redWaiters]{
			Make: func(string) *redWaiters { return &redWaiters{told: make(chan struct{})} },
			Left: func(w *redWaiters) { w.outage.Answered() },
		}
	}).(*places.Places[string, *redWaiters])
}

// identity returns the same for all handles of a process on the same members, in whatever order.
func identity(members []member) string {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.e.IDs.Client() + "\x00" + m.key.Name
	}
	slices.Sort(ids)
	return strings.Join(ids, "\x00")
}

// givesUp wakes all waiters.
func (w *redWaiters) givesUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.told)
	w.told = make(chan struct{})
}

// givenUp returns a channel that is closed when one of them gives up from now on.
func (w *redWaiters) givenUp() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told
}
