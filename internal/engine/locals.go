package engine

import (
	"errors"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/places"
)

// Key says of what something is: its kind, as locks of two kinds do not share
// their protocol, and the mapped name.
type Key struct {
	Kind string
	Name string
}

// GroupKind is the kind of a key that stands for some values of a group: see
// keys.GroupValues.
const GroupKind = "group"

// Shown returns the mapped name as users know it: of some values of a group, the group's.
func (k Key) Shown() string {
	if k.Kind != GroupKind {
		return k.Name
	}
	name, _ := keys.GroupOf(k.Name)
	return name
}

// local is what the waiters and holders of one process share for one name. All
// of them are of one family.
type local struct {
	places.Entry
	e        *Engine
	family   atomic.Uint32 // see claim; 0: nobody is there
	tokens   atomic.Uint32 // how many the last chain had use for
	firsts   atomic.Int32  // of those who ask for a lock that is Queued without a place
	queue    handover.Queue[*Held]
	courtesy handover.Courtesy
	brief    atomic.Int64           // until when shared holds are brief, see briefFor
	last     atomic.Pointer[Held]   // the last hold of this process
	word     atomic.Pointer[Outage] // see outage
	ear      atomic.Pointer[ear]    // of whoever has the turn, and open while somebody waits; made by the first who listens
}

// ear is what those who wait for a name hear with: a listener, and for a lock that is
// Queued the line, which uses nothing else of it.
type ear struct {
	Listener
	line *line
}

func (r *ear) listens() bool { return r != nil && r.Listens() }

func (r *ear) close() {
	if r != nil {
		r.Close()
	}
}

func (r *ear) hush() {
	if r != nil {
		r.Hush()
	}
}

func newLocals(e *Engine) *places.Places[string, *local] {
	return &places.Places[string, *local]{
		Make:  func(string) *local { return &local{e: e} },
		Left:  (*local).left,
		Idle:  func(l *local) bool { return l.courtesy.Idle() }, // it remembers whom to stand back for
		Reuse: (*local).reuse,
	}
}

// left notes that the last one has left.
func (l *local) left() {
	l.family.Store(0)
	l.last.Store(nil)
	l.word.Load().Answered()
	l.ear.Load().close()
}

// reuse makes a local ready for another key, if nobody has listened with it:
// then nobody else knows it.
func (l *local) reuse() bool {
	if l.ear.Load() != nil {
		return false
	}
	l.courtesy = handover.Courtesy{}
	l.brief.Store(0)
	l.tokens.Store(0)
	l.word.Store(nil)
	return true
}

// outage returns what those who wait share, which the first of them makes.
func (l *local) outage() *Outage {
	if o := l.word.Load(); o != nil {
		return o
	}
	l.word.CompareAndSwap(nil, new(Outage))
	return l.word.Load()
}

// ended returns the error of a wait for the lock that ended with err. Where a hold of
// this process is in the way, there is no need of the server's word.
func (l *local) ended(e *Engine, err error) error {
	if !errors.Is(err, errWaitOver) {
		return err
	}
	if l.holds() {
		return ErrNotAcquired
	}
	return l.word.Load().Ended(e, err)
}

// holds reports whether this process has a hold. Of shared ones it may have several,
// and the last of them may be the first to end.
func (l *local) holds() bool {
	h := l.last.Load()
	return h != nil && h.Err() == nil || l.queue.Held()
}

// listener returns the ear for releases. A process has one for each key, however
// many of its goroutines wait.
func (l *local) listener(p Protocol) *ear {
	r := l.ear.Load()
	if r == nil {
		announcing, _ := p.(Announcing)
		r = &ear{Listener: *NewListener(func(payload string) bool { return l.heard(announcing, payload) }, &l.courtesy)}
		l.ear.Store(r)
	}
	if !r.listens() {
		l.courtesy.Listens()
	}
	return r
}

// heard reports whether a message tells of another's release.
func (l *local) heard(p Announcing, payload string) bool {
	return (released(payload) || p != nil && p.Announces(payload)) && l.courtesy.Message()
}

// released reports whether a message is one of those that Redisson's locks
// announce releases with: 0 of a lock, 1 of the write side of a read-write lock.
// Whatever else comes is somebody else's business.
func released(payload string) bool { return payload == "0" || payload == "1" }
