package topic

import (
	"sync"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// message is what came by a channel.
type message struct {
	payload, channel string
	cut              interruption // of the subscription, before it
}

// interruption is what a loop is to be told of its connection: that it was lost, that it is
// back, or both in this order.
type interruption uint8

const (
	disconnected interruption = 1 << iota
	reconnected
)

// then returns i followed by next. A return that no loop was told of is left out if the
// connection is lost again.
func (i interruption) then(next interruption) interruption {
	if next&disconnected == 0 {
		return i | next
	}
	if i&reconnected != 0 {
		return i&^reconnected | next&reconnected
	}
	return next
}

// first returns what is told first.
func (i interruption) first() interruption {
	if i&disconnected != 0 {
		return disconnected
	}
	return i
}

// inbox is what came and waits for its reader: a ring that grows up to most. Who
// puts something in never waits.
type inbox struct {
	most int
	news chan struct{} // with one place

	mu        sync.Mutex
	ring      []message
	first, n  int
	missed    int64        // messages, before the first
	cutMissed interruption // among those that were missed, or before the first
	cut       interruption // after the last
	away      bool         // the connection is lost
	closed    bool
}

func newInbox(most int) *inbox { return &inbox{most: most, news: make(chan struct{}, 1)} }

// hear handles a message, on the hub's goroutine.
func (b *inbox) hear(ev pubsub.Event) {
	b.mu.Lock()
	switch {
	case b.closed:
	case ev.Kind == pubsub.Lost:
		b.lose()
	case ev.Kind == pubsub.Resumed:
		b.lose() // unless that was noticed
		b.away, b.cut = false, b.cut.then(reconnected)
	default:
		b.put(message{ev.Payload, ev.Name, b.cut})
		b.cut = 0
	}
	b.mu.Unlock()
	b.poke()
}

func (b *inbox) lose() {
	if !b.away {
		b.away, b.cut = true, b.cut.then(disconnected)
	}
}

func (b *inbox) poke() {
	select {
	case b.news <- struct{}{}:
	default: // one is enough: the loop that takes it looks whether there are more
	}
}

func (b *inbox) put(m message) {
	if b.n == b.most {
		b.missed++
		dropped := b.pop()
		b.cutMissed = b.cutMissed.then(dropped.cut)
	}
	if b.n == len(b.ring) {
		ring := make([]message, min(max(2*len(b.ring), 4), b.most))
		k := copy(ring, b.ring[b.first:])
		copy(ring[k:], b.ring[:b.first])
		b.ring, b.first = ring, 0
	}
	b.ring[(b.first+b.n)%len(b.ring)] = m
	b.n++
}

func (b *inbox) pop() message {
	m := b.ring[b.first]
	b.ring[b.first] = message{}
	b.first = (b.first + 1) % len(b.ring)
	b.n--
	return m
}

// notice is what a reader gets next.
type notice struct {
	message
	missed int64 // if it is none of these
	cut    interruption
}

// take returns the next for the reader, if there is some. Several readers share what
// comes.
func (b *inbox) take() (next notice, some, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return next, false, true
	case b.missed > 0:
		next.missed, b.missed = b.missed, 0
	case b.cutMissed != 0:
		next.cut = b.cutMissed.first()
		b.cutMissed &^= next.cut
	case b.n > 0 && b.ring[b.first].cut != 0:
		next.cut = b.ring[b.first].cut.first()
		b.ring[b.first].cut &^= next.cut
	case b.n > 0:
		next.message = b.pop()
	case b.cut != 0:
		next.cut = b.cut.first()
		b.cut &^= next.cut
	default:
		if len(b.ring) > 16 { // the memory of a burst goes
			b.ring, b.first = nil, 0
		}
		return next, false, false
	}
	if b.n > 0 || b.cut != 0 || b.cutMissed != 0 {
		b.poke()
	}
	return next, true, false
}

func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.ring, b.first, b.n = nil, 0, 0
	b.mu.Unlock()
	b.poke()
}
