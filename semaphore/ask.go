package semaphore

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
)

// kind is the kind of a request. Takes, waits and gives are sent together.
type kind uint8

const (
	take     kind = iota
	waitTake      // takes of the waiters, in their order
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

// word returns the name of the kind in move.lua.
func (k kind) word() string { return [...]string{"take", "wait", "give"}[k] }

// ask is one request.
type ask struct {
	of     *names
	kind   kind
	n      int64         // permits
	queue  []run         // of a wait: the waiters
	ttl    time.Duration // of a trySet
	held   string        // of a request about permits with leases: their key
	labels string        // of a removeHeld: their key
	from   *waiters      // of a give, if its goroutine has a place
}

// answer is the outcome of a request.
type answer struct {
	n     int64 // how many of a wait, whether a take was granted, or what the script said
	err   error
	woken bool // of a give: the waiters have heard of it already

	at     int   // the run that it is in, or begins with
	before int64 // how many of that run belong to other requests
}

type (
	call  = combine.Call[ask, answer]
	batch = []*call
)

// run is adjacent requests of one kind.
type run struct {
	kind  kind
	size  int64
	count int64
	k     int64 // how many were granted
}

// mostRuns bounds how long one script call occupies the server.
const mostRuns = 32

// cut returns how many of the waiting calls are sent as one.
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
