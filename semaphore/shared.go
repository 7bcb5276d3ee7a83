package semaphore

import (
	"sync"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
)

// shared is what the semaphores of one client have in common.
type shared struct {
	e       *locking.Engine
	table   *combine.Table[string, ask, answer]
	places  places.Places[string, *waiters]
	waiting atomic.Int64 // goroutines that have a place, or are about to
	extra   atomic.Int64 // exchanges in addition to the table's

	waiters sync.Pool // of *waiter
}

type sharedKey struct{}

// names is the keys of one semaphore on the server.
type names struct {
	key     string // the mapped name
	channel string
	lane    string // the prefix of its lanes
	set     string // when this library set the permits
}

// flights is how many exchanges about one semaphore may be under way.
const flights = 4

// The number of the first flight that does not belong to the table.
const beside = 1 << 40

func newShared(e *locking.Engine) *shared {
	h := &shared{e: e}
	h.table = combine.New(combine.Config[string, ask, answer]{
		Send: h.send, Cut: cut, Left: h.left, Sent: e.Sent("semaphore"), Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	h.places.Make = func(string) *waiters { return newWaiters(e) }
	h.places.Idle = func(p *waiters) bool { return p.Courtesy.Idle() }
	h.places.Reuse = func(p *waiters) bool {
		quiet := p.Quiet()
		if quiet {
			*p = *newWaiters(e)
		}
		return quiet
	}
	e.WhenClosing(func() { h.places.Each(func(p *waiters) { p.Dismiss() }) })
	return h
}

// left releases permits whose caller has gone.
func (h *shared) left(_ string, a ask, got answer) {
	switch {
	case got.err != nil || got.n == 0:
	case a.kind == take:
		h.giveBack(a.of, a.n)
	case a.kind == drain:
		h.giveBack(a.of, got.n)
	case a.kind == waitTake:
		n := int64(0)
		for _, one := range a.queue {
			k := min(one.count, got.n)
			n, got.n = n+k*one.size, got.n-k
		}
		h.giveBack(a.of, n)
	}
}

// giveBack releases permits that have no holder. It is called by tasks for which Close waits.
func (h *shared) giveBack(of *names, n int64) {
	if a := (ask{of: of, kind: give, n: n}); !h.table.Post(of.key, a) {
		_ = h.send(of.key, beside+int(h.extra.Add(1)), batch{{Ask: a}})
	}
}
