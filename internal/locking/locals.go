package locking

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// local is what the waiters and holders of one process share for one name. All
// of them are of one family.
type local struct {
	places.Entry
	e          *Engine
	family     atomic.Uint32 // see claim; 0: nobody is there
	tokens     atomic.Uint32 // how many the last chain had use for
	firsts     atomic.Int32  // of those who ask for a lock that is Queued without a place
	queue      handover.Queue[*Held]
	courtesy   handover.Courtesy
	brief      atomic.Int64                // until when shared holds are brief, see briefFor
	last       atomic.Pointer[Held]        // the last hold of this process
	word       atomic.Pointer[send.Outage] // see outage
	subscriber atomic.Pointer[subscriber]  // of the head; open while a goroutine waits; made by the first that listens
}

// subscriber brings the waiters of a name reasons to look: a listener. Of a lock that is Queued it has the line, and nothing
// else of it is used.
type subscriber struct {
	wait.Listener
	line *fairLine
}

func (r *subscriber) listens() bool { return r != nil && r.Listens() }

func (r *subscriber) close() {
	if r != nil {
		r.Close()
	}
}

func (r *subscriber) drain() {
	if r != nil {
		r.Drain()
	}
}

// left notes that the last one has left.
func (l *local) left() {
	l.family.Store(0)
	l.last.Store(nil)
	l.word.Load().Answered()
	l.subscriber.Load().close()
}

// reuse makes a local ready for another key, if nobody has listened with it:
// then nobody else knows it.
func (l *local) reuse() bool {
	if l.subscriber.Load() != nil {
		return false
	}
	l.courtesy = handover.Courtesy{}
	l.brief.Store(0)
	l.tokens.Store(0)
	l.word.Store(nil)
	return true
}

// outage returns what those who wait share, which the first of them makes.
func (l *local) outage() *send.Outage {
	if o := l.word.Load(); o != nil {
		return o
	}
	l.word.CompareAndSwap(nil, new(send.Outage))
	return l.word.Load()
}

// ended returns the error of a wait for the lock that ended with err. Where a hold of
// this process is in the way, there is no need of the server's word.
func (l *local) ended(e *Engine, err error) error {
	switch over := errors.Is(err, core.ErrWaitOver); {
	case over && l.holds():
		return core.ErrNotAcquired
	case over:
		return l.word.Load().Ended(e.Sender, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return l.word.Load().Because(e.Sender, err)
	}
	return err
}

// holds reports whether this process has a hold. Of shared ones it may have several,
// and the last of them may be the first to end.
func (l *local) holds() bool {
	h := l.last.Load()
	return h != nil && h.Err() == nil || l.queue.Held()
}

// listener returns the subscriber to releases. A process has one for each key, however
// many of its goroutines wait.
func (l *local) listener(p Protocol) *subscriber {
	r := l.subscriber.Load()
	if r == nil {
		announcing, _ := p.(Announcing)
		r = &subscriber{Listener: *wait.NewListener(func(payload string) bool {
			// 0 is how Redisson's locks announce a release, 1 the write side of a read-write lock.
			another := payload == "0" || payload == "1" || announcing != nil && announcing.Announces(payload)
			return another && l.courtesy.Message()
		}, &l.courtesy)}
		l.subscriber.Store(r)
	}
	if !r.listens() {
		l.courtesy.Listens()
	}
	return r
}

// claim makes the name that l is of one of key's family, unless somebody who
// has a place there is of another: then it says of which. The claim ends with
// the last place.
func (l *local) claim(key core.Key) error {
	own := core.FamilyNumber(key.Kind)
	there := l.family.Load()
	if there == own || own == 0 || there == 0 && l.family.CompareAndSwap(0, own) {
		return nil
	}
	if there = l.family.Load(); there == own { // another of it has just come
		return nil
	}
	return core.Mixed(core.FamilyOf(there))
}
