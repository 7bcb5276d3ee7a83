package semaphore

import (
	"sync"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
)

// hub is what the semaphores of one client have in common.
type hub struct {
	e       *locking.Engine
	table   *combine.Table[string, ask, answer]
	places  places.Places[string, *place]
	waiting atomic.Int64 // who has a place, or is about to
	extra   atomic.Int64 // exchanges beside the table's

	contenders sync.Pool
}

type hubKey struct{}

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

// flights is how many exchanges about one semaphore may be under way.
const flights = 4

// beside is the number of the first flight that is none of the table's.
const beside = 1 << 40

func newHub(e *locking.Engine) *hub {
	h := &hub{e: e}
	h.table = combine.New(combine.Config[string, ask, answer]{
		Send: h.send, Cut: cut, Left: h.left, Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	h.places.Make = func(string) *place { return newPlace(e) }
	h.places.Left = (*place).left
	h.places.Idle = func(p *place) bool { return p.courtesy.Idle() }
	h.places.Reuse = (*place).reuse
	e.WhenClosing(func() { h.places.Each((*place).dismiss) })
	return h
}

// left gives back what was taken for somebody who has gone.
func (h *hub) left(_ string, a ask, got answer) {
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

// giveBack gives permits back that nobody has. It is called by tasks that Close
// waits for.
func (h *hub) giveBack(of *names, n int64) {
	if a := (ask{of: of, kind: give, n: n}); !h.table.Post(of.key, a) {
		_ = h.send(of.key, beside+int(h.extra.Add(1)), batch{{Ask: a}})
	}
}
