package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
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
func (s *Sender) Request(lane string, flight int) Request {
	n := s.lanes.last.Add(1)
	r := Request{Number: strconv.FormatInt(n, 10), began: time.Now(), base: lane + ":" + strconv.Itoa(flight)}
	r.Lane = s.lanes.of(r.base)
	return r
}

// MemoryMillis is [RequestMemory] as scripts are told of it.
var MemoryMillis = strconv.FormatInt(core.Millis(RequestMemory), 10)

// Preamble returns the arguments that scripts under lanes begin with.
func (s *Sender) Preamble(r Request, channel string) []string {
	return []string{r.Number, MemoryMillis, channel, s.Publish()}
}

// ErrOvertaken says that the lane knows a later request already, which takes a
// client id that was used before, by a clock that was ahead.
var ErrOvertaken = errors.New("the server remembers a later request of this client id")

// Numbered has a request of a flight sent, about name, and returns the numbers
// that its script said. A single one below 0 says that it was overtaken: then it
// is sent once more, as another request under a fresh lane. What is to be settled
// otherwise, send settles.
func (s *Sender) Numbered(lane string, flight int, name string, send func(r Request) ([]int64, error)) ([]int64, error) {
	for again := true; ; again = false {
		r := s.Request(lane, flight)
		said, err := send(r)
		switch {
		case err != nil || len(said) != 1 || said[0] >= 0:
			return said, err
		case !again:
			return nil, ErrOvertaken
		}
		s.Overtaken(r, name)
	}
}

// RunNumbered is Numbered of a script that includes lane.lua, whose keys are key, the
// lane and more. One of which nobody knows whether it ran never runs later.
func (s *Sender) RunNumbered(lane string, flight int, script *scripts.Script, key string, more []string, args ...string) ([]int64, error) {
	return s.Numbered(lane, flight, key, func(r Request) ([]int64, error) {
		got, err := s.Run(context.Background(), script, append([]string{key, r.Lane}, more...), append([]string{r.Number, MemoryMillis}, args...))
		if err == nil {
			return got.AsIntSlice()
		}
		if errors.Is(err, core.ErrOutcomeUnknown) {
			s.Void(r, key)
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
		return 0, fmt.Errorf("%w: the script said %v", core.ErrOutcomeUnknown, said)
	}
	return said[0], nil
}

// VoidScript is what [Sender.Void] sends.
var VoidScript = scripts.Must(lua, "lua/void.lua")

// Void sees to it that a request which has not run never will.
func (s *Sender) Void(r Request, name string) { s.Settle(r, name, s.void) }

func (s *Sender) void(ctx context.Context, r Request) error {
	_, err := s.Run(ctx, VoidScript, []string{r.Lane}, []string{r.Number, MemoryMillis})
	return err
}

// Overtaken is [Sender.Void] of a request that the server answered with [ErrOvertaken]: its flight stays away from its lane until
// the server has forgotten the later request there, which the void has it remember anew.
func (s *Sender) Overtaken(r Request, name string) {
	s.goAstray(r, 2*RequestMemory)
	s.CleanUpLater(name, r.began.Add(s.Remembered()), func(ctx context.Context) error {
		err := s.void(ctx, r)
		if err == nil {
			s.goAstray(r, RequestMemory)
		}
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
// run yet: run says so to the server, as a cleanup task on name, for as long as that
// remembers the request. Meanwhile its flight goes on under a fresh lane, since a
// later number in this one would hide whether it ran.
func (s *Sender) Settle(r Request, name string, run func(ctx context.Context, r Request) error) {
	s.goAstray(r, s.Remembered()-time.Since(r.began))
	s.CleanUpLater(name, r.began.Add(s.Remembered()), func(ctx context.Context) error {
		err := run(ctx, r)
		if err == nil && r.Lane == r.base {
			s.lanes.comeBack(r)
			s.NotDue(core.Key{Kind: "lane", Name: r.base})
		}
		return err
	})
}

// goAstray has the flight of r go on under a fresh lane, for so long at most.
func (s *Sender) goAstray(r Request, most time.Duration) {
	s.lanes.leave(r)
	if r.Lane == r.base {
		s.Due(core.Key{Kind: "lane", Name: r.base}, most, func() time.Duration { s.lanes.comeBack(r); return -1 })
	}
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

// aged is a script under a lane whose further sends say how old the request is.
type aged struct {
	*scripts.Script
	r    Request
	at   int // where the age stands in the arguments
	sent bool
}

// Aged returns s for one [Sender.Run] of r. Its first send goes out with the arguments
// as they are. Each further send has the age of r in µs in args[at].
func Aged(s *scripts.Script, r Request, at int) Operation { return &aged{Script: s, r: r, at: at} }

func (a *aged) Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return a.Script.Exec(ctx, c, keys, a.grown(args))
}

func (a *aged) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return a.Script.ExecFresh(ctx, c, keys, a.grown(args))
}

func (a *aged) grown(args []string) []string {
	if a.sent {
		args = slices.Clone(args)
		args[a.at] = strconv.FormatInt(a.r.Age().Microseconds(), 10)
	}
	a.sent = true
	return args
}
