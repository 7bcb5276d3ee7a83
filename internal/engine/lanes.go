package engine

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// lanes are where the server remembers requests that must not run twice. A
// client has a few for each name, one for each exchange that it may have under
// way about it, and the server keeps the last request of each only: its number,
// which rises over the whole client, and its answer. So a second run of it
// changes nothing, and an older copy that comes late is refused.
type lanes struct {
	last atomic.Int64 // number

	mu     sync.Mutex
	few    atomic.Int32     // how many there are in astray
	astray map[string]int64 // where the flight of a lane goes on, while a request of that is to be settled
}

// Request is one request under a lane.
type Request struct {
	Lane   string // the key of the lane
	Number string
	began  time.Time
	base   string // the lane of the flight, which another may stand in for
}

// Age is how long ago it was numbered, which was before its first send.
func (r Request) Age() time.Duration { return time.Since(r.began) }

// Request numbers a request of a flight: one of several exchanges about a name,
// of which no other is under way meanwhile. Lane is what the keys of the name's
// lanes begin with.
func (e *Engine) Request(lane string, flight int) Request {
	n := e.lanes.last.Add(1)
	r := Request{Number: strconv.FormatInt(n, 10), began: time.Now(), base: lane + ":" + strconv.Itoa(flight)}
	r.Lane = e.lanes.of(r.base)
	return r
}

// of is the lane that stands in for base, or base itself.
func (l *lanes) of(base string) string {
	if l.few.Load() == 0 {
		return base
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, is := l.astray[base]; is {
		return base + "." + strconv.FormatInt(n, 10)
	}
	return base
}

// Settle sees a request through of which nobody knows whether it ran, or may
// run yet: run says so to the server, as an errand on name, for as long as that
// remembers the request. Meanwhile its flight goes on under a fresh lane, since a
// later number in this one would hide whether it ran.
func (e *Engine) Settle(r Request, name string, run func(ctx context.Context, r Request) error) {
	left := e.remembered() - time.Since(r.began)
	e.lanes.leave(r)
	if r.Lane == r.base {
		e.Due(Key{"lane", r.base}, left, func() time.Duration { e.lanes.comeBack(r); return -1 })
	}
	e.Later(name, r.began.Add(e.remembered()), func(ctx context.Context) error {
		err := run(ctx, r)
		if err == nil && r.Lane == r.base {
			e.lanes.comeBack(r)
			e.NotDue(Key{"lane", r.base})
		}
		return err
	})
}

// leave has the flight of r go on under a lane that nobody has used.
func (l *lanes) leave(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.astray == nil {
		l.astray = make(map[string]int64)
	}
	if _, is := l.astray[r.base]; !is && r.Lane != r.base {
		return // it is back already
	}
	l.astray[r.base] = l.last.Add(1)
	l.few.Store(int32(len(l.astray)))
}

// comeBack lets the flight use its own lane again: later numbers tell no lies
// there any more.
func (l *lanes) comeBack(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.astray, r.base)
	l.few.Store(int32(len(l.astray)))
}
