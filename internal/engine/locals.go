package engine

import (
	"sync"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Key says which holds are the same lock to this process: its kind, as locks
// of two kinds under one name do not share their protocol, and the mapped name.
type Key struct {
	Kind string
	Name string
}

// local is what the waiters and holders of one process share for one key.
type local struct {
	places.Entry
	queue    handover.Queue[*Held]
	courtesy handover.Courtesy
	poke     chan struct{} // another's release was heard, or the subscription stands again; made by the first head that listens

	mu  sync.Mutex
	sub *pubsub.Subscription // kept while somebody waits
}

func newLocals() *places.Places[Key, *local] {
	return &places.Places[Key, *local]{
		Make:  func(Key) *local { return new(local) },
		Left:  (*local).quiet,
		Idle:  func(l *local) bool { return l.courtesy.Idle() }, // it remembers whom to stand back for
		Reuse: (*local).reuse,
	}
}

// reuse makes a local ready for another key, if nobody has listened with it:
// then nobody else knows it.
func (l *local) reuse() bool {
	if l.poke != nil {
		return false
	}
	l.courtesy = handover.Courtesy{}
	return true
}

// listener is how the hub tells a local about its channel.
func (l *local) listener() func(pubsub.Event) {
	return func(ev pubsub.Event) {
		if ev.Kind == pubsub.Resumed {
			l.courtesy.Reset()
		} else if !l.courtesy.Message() {
			return
		}
		l.wake()
	}
}

// hush forgets a release that was heard before a try: the try comes after it.
func (l *local) hush() {
	select {
	case <-l.poke:
	default:
	}
}

func (l *local) wake() {
	select {
	case l.poke <- struct{}{}:
	default: // one is enough: the head tries again after it
	}
}
