package semaphore

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
)

// kind is what is asked. Takes, waits and gives go out together.
type kind uint8

const (
	take     kind = iota
	waitTake      // takes of those who wait, in their order
	give
	set
	trySet
	add
	drain
	remove
	setHeld // of permits with leases, from here on
	trySetHeld
	addHeld
	removeHeld
)

// word returns what move.lua calls it.
func (k kind) word() string { return [...]string{"take", "wait", "give"}[k] }

// ask is one request.
type ask struct {
	of     *names
	kind   kind
	n      int64         // permits
	queue  []run         // of a wait: who waits
	ttl    time.Duration // of a trySet
	held   string        // of an order about permits with leases: the key of those
	labels string        // of a removeHeld: the key of those
	from   *waiters      // of a give, if it is that of somebody who has a place
}

// answer is what became of it.
type answer struct {
	n     int64 // how many of a wait, whether a take was granted, or what the script said
	err   error
	woken bool // of a give: those who wait have heard of it already

	at     int   // the run that it is in, or begins with
	before int64 // how many of that run are another's
}

type (
	call  = combine.Call[ask, answer]
	batch = []*call
)

// run is neighbours who want the same.
type run struct {
	kind  kind
	size  int64
	count int64
	k     int64 // how many were granted
}

// mostRuns bounds how long one script call keeps the server.
const mostRuns = 32

// cut returns how many of the waiting calls go out as one.
func cut(waiting batch) int {
	runs := 0
	for i, c := range waiting {
		if c.Ask.kind > give {
			return max(i, 1)
		}
		switch {
		case c.Ask.kind == waitTake:
			runs += len(c.Ask.queue)
		case i == 0 || !alike(&waiting[i-1].Ask, &c.Ask):
			runs++
		}
		if runs > mostRuns {
			return max(i, 1)
		}
	}
	return len(waiting)
}

func alike(a, b *ask) bool { return a.kind == b.kind && a.n == b.n && a.kind != waitTake }
