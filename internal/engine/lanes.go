package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/scripts"
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

// Age returns how long ago it was numbered, which was before its first send.
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

// MemoryMillis is [RequestMemory] as scripts are told of it.
var MemoryMillis = strconv.FormatInt(Millis(RequestMemory), 10)

// Preamble returns the arguments that scripts under lanes begin with.
func (e *Engine) Preamble(r Request, channel string) []string {
	return []string{r.Number, MemoryMillis, channel, e.Publish()}
}

// errOvertaken says that the lane knows a later request already, which takes a
// client id that was used before, by a clock that was ahead.
var errOvertaken = errors.New("the server remembers a later request of this client id")

// Numbered has a request of a flight sent, about name, and returns the numbers
// that its script said. A single one below 0 says that it was overtaken: then it
// is sent once more, as another request under a fresh lane. What is to be settled
// otherwise, send settles.
func (e *Engine) Numbered(lane string, flight int, name string, send func(r Request) ([]int64, error)) ([]int64, error) {
	for again := true; ; again = false {
		r := e.Request(lane, flight)
		said, err := send(r)
		switch {
		case err != nil || len(said) != 1 || said[0] >= 0:
			return said, err
		case !again:
			return nil, errOvertaken
		}
		e.Void(r, name)
	}
}

// RunNumbered is Numbered of a script that includes lane.lua, whose keys are key, the
// lane and more. One of which nobody knows whether it ran never runs later.
func (e *Engine) RunNumbered(lane string, flight int, s *scripts.Script, key string, more []string, args ...string) ([]int64, error) {
	return e.Numbered(lane, flight, key, func(r Request) ([]int64, error) {
		got, err := e.Run(context.Background(), s, append([]string{key, r.Lane}, more...), append([]string{r.Number, MemoryMillis}, args...))
		if err == nil {
			return got.AsIntSlice()
		}
		if errors.Is(err, ErrUnknown) {
			e.Void(r, key)
		}
		return nil, err
	})
}

// Only returns the one number that a script said.
func Only(said []int64, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, err
	case len(said) != 1:
		return 0, fmt.Errorf("%w: the script said %v", ErrUnknown, said)
	}
	return said[0], nil
}

// VoidScript is what [Engine.Void] sends.
var VoidScript = scripts.Must(lua, "lua/void.lua")

// Void sees to it that a request which has not run never will.
func (e *Engine) Void(r Request, name string) {
	e.Settle(r, name, func(ctx context.Context, r Request) error {
		_, err := e.Run(ctx, VoidScript, []string{r.Lane}, []string{r.Number, MemoryMillis})
		return err
	})
}

// of returns the lane that stands in for base, or base itself.
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
