// Package sweep deletes expired entries of objects whose times the server does not keep.
//
// A [Sweeper] visits an object when something in it is due. A visit deletes a bounded part of what has expired, because the
// server does nothing else meanwhile, and says when the next entry is due:
//
//	Expect, Listen -> waiting -> due -> with a worker (Visit) -> waiting
//	                                                          -> forgotten: nothing is left to expire
//
// An object enters with its first entry that may expire and leaves with the last. Names that were used once leave
// nothing behind. An object whose visits fail goes to a worker of its own, so that it delays no other.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/due"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// Period is how long a sweeper rests at least after it has swept all that was due in an object.
	Period = 800 * time.Millisecond

	// share is how many times as long as a visit took the next one waits.
	share = 4

	// longestRest is the longest pause between two visits: another process may have written what ends earlier, and have
	// ended.
	longestRest = 30 * time.Minute

	// listening is longestRest of an object with listeners: what ends may be written by processes that sweep seldom.
	listening = time.Second

	// workers is how many objects of a node are swept at the same time. One more is for those whose last visit failed.
	workers = 4

	// LongestBackoff is the longest pause after a visit that failed.
	LongestBackoff = time.Minute
)

// Never is when an object is due in which nothing expires.
const Never = math.MaxInt64

// Target is an object that is swept. One goroutine at a time visits it.
type Target interface {
	// Visit deletes a bounded part of what has expired.
	Visit() Visit
}

// Visit is the outcome of a visit.
type Visit struct {
	core.Sweep // which is reported

	More bool  // something is due still
	Next int64 // when the next entry is due, ms; Never

	// Wait is how long to wait until the next visit: exactly after an error or if the object was busy, at least if More is
	// set. After an error, 0 means an exponential backoff.
	Wait time.Duration
}

// Sweeper visits the objects in which this client has written entries that expire, or to which it listens.
type Sweeper struct {
	e    *locking.Engine
	tell func(core.Sweep)

	objects sync.Map // core.Key -> *object

	mu      sync.Mutex
	healthy *due.Workers[*object]
	ailing  *due.Workers[*object] // for objects whose last visit failed
}

// object is one object. Its fields are guarded by the sweeper's mutex; failures belongs to the worker.
type object struct {
	key       core.Key
	target    Target
	at        atomic.Int64 // when it is due, ms; written with the mutex
	away      bool         // it waits for a worker, or is with one
	listeners int

	failures int
}

type sweeperKey struct{}

// Of returns the sweeper of a client.
func Of(e *locking.Engine) *Sweeper {
	return e.Shared(sweeperKey{}, func() any {
		return New(e, func(s core.Sweep) {
			if e.Caches != nil {
				e.Caches.Swept(context.Background(), s)
			}
		})
	}).(*Sweeper)
}

// New returns a sweeper. tell, unless it is nil, is called after each visit.
func New(e *locking.Engine, tell func(core.Sweep)) *Sweeper {
	if tell == nil {
		tell = func(core.Sweep) {}
	}
	s := &Sweeper{e: e, tell: tell}
	open := func() bool { return e.Open() == nil }
	s.healthy = due.NewWorkers(workers, e.Spawn, open, s.work)
	s.ailing = due.NewWorkers(1, e.Spawn, open, s.work)
	if e.Clock != nil {
		e.Clock.Moved(s.hurry)
	}
	return s
}

// Expect has an object visited at that time, ms. Call it after the write: a visit that comes before the write forgets the
// object. target returns what is visited: the known target, which it may update, or a new one if known is nil.
func (s *Sweeper) Expect(key core.Key, at int64, target func(known Target) Target) {
	if there, ok := s.objects.Load(key); ok {
		o := there.(*object)
		target(o.target)
		if o.at.Load() <= at {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect(s.object(key, target), at)
}

// Listen keeps an object visited until stop is called.
func (s *Sweeper) Listen(key core.Key, target func(known Target) Target) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.object(key, target)
	o.listeners++
	s.expect(o, s.e.Wall())
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		o.listeners--
	})
}

// Listened reports whether an object has listeners.
func (s *Sweeper) Listened(key core.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	there, ok := s.objects.Load(key)
	return ok && there.(*object).listeners > 0
}

// Len returns the number of objects.
func (s *Sweeper) Len() (n int) {
	s.objects.Range(func(any, any) bool { n++; return true })
	return n
}

// object returns the object of a key, which it adds if it is not known.
func (s *Sweeper) object(key core.Key, target func(known Target) Target) *object {
	if there, ok := s.objects.Load(key); ok {
		o := there.(*object)
		target(o.target)
		return o
	}
	o := &object{key: key, target: target(nil)}
	o.at.Store(Never)
	s.objects.Store(key, o)
	return o
}

func (s *Sweeper) expect(o *object, at int64) {
	if at < o.at.Load() {
		o.at.Store(at)
		s.schedule(o)
	}
}

// schedule has o visited when it is due. An object with a worker is scheduled after its visit.
func (s *Sweeper) schedule(o *object) {
	if !o.away {
		left := time.Duration(o.at.Load()-s.e.Wall()) * time.Millisecond
		s.e.Due(o.key, max(left, 0), func() time.Duration { s.send(o); return -1 })
	}
}

// hurry makes all objects due at once.
func (s *Sweeper) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects.Range(func(_, there any) bool {
		o := there.(*object)
		o.at.Store(min(o.at.Load(), s.e.Wall()))
		s.schedule(o)
		return true
	})
}

// send gives o to a worker, unless it is with one already: it may come due on its way there.
func (s *Sweeper) send(o *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there, _ := s.objects.Load(o.key); o.away || there != o {
		return
	}
	to := s.healthy
	if o.failures > 0 {
		to = s.ailing
	}
	o.away = true
	to.Give(s.e.Node(o.key.Name), o)
}

func (s *Sweeper) work(o *object) {
	s.mu.Lock()
	o.at.Store(Never) // later writers call Expect again
	s.mu.Unlock()
	got := o.target.Visit()
	got.Kind = o.key.Kind
	if ahead, is := errors.AsType[*aheadError](got.Err); is {
		got.ClockAhead = ahead.by
	}
	s.tell(got.Sweep)
	s.back(o, s.next(o, got))
}

// next returns how long o waits for its next visit; negative: it needs none.
func (s *Sweeper) next(o *object, got Visit) time.Duration {
	switch {
	case got.Err != nil && got.Wait > 0:
		o.failures++
		return got.Wait
	case got.Err != nil:
		s.e.Logger.Debug("sweeping", "name", o.key.Name, "err", got.Err)
		if send.Permanent(got.Err) { // such as a key of another type, which is not what was left there
			return -1
		}
		o.failures++
		d := min(Period<<min(o.failures, 10), LongestBackoff)
		return d - rand.N(d/4)
	}
	o.failures = 0
	switch {
	case got.Busy:
		return got.Wait
	case got.More:
		return max(share*got.Took, got.Wait)
	case got.Next == Never:
		return -1
	}
	return min(max(time.Duration(min(got.Next-s.e.Wall(), longestRest.Milliseconds()))*time.Millisecond, Period), longestRest)
}

// back schedules the next visit of o; a negative next forgets it.
func (s *Sweeper) back(o *object, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.away = false
	if o.listeners > 0 && (next < 0 || next > listening) {
		next = listening
	}
	if next >= 0 {
		o.at.Store(min(o.at.Load(), s.e.Wall()+int64((next+time.Millisecond-1)/time.Millisecond)))
	}
	if o.at.Load() == Never {
		s.objects.Delete(o.key)
		return
	}
	s.schedule(o)
}

// Due returns a time, ms, from the score of a sorted set; an empty text is Never.
func Due(text string) (int64, error) {
	if text == "" {
		return Never, nil
	}
	at, err := strconv.ParseFloat(text, 64)
	if err == nil && math.IsNaN(at) {
		err = fmt.Errorf("%q is no time", text)
	}
	if err != nil {
		return 0, err
	}
	return int64(min(max(at, 0), 9e15)), nil
}
