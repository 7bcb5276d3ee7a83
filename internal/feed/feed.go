// Package feed keeps what was heard on channels of events until one loop reads it. What the loop is too slow for, and what may
// have come while a connection was lost, becomes a gap.
package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// most is how many events wait for a slow reader before some are missed, and mostBytes how many bytes they have together.
const (
	most      = 10_000
	mostBytes = 32 << 20
)

// ErrLeft says that the loop over the events was left before.
var ErrLeft = errors.New("the loop over the events was left")

// Heard is an event of a kind, or that some may have been missed, or a notice.
type Heard[K comparable] struct {
	Kind    K
	Payload string
	Gap     bool
	Notice  error
}

// Feed is what was heard and waits for its reader.
type Feed[K comparable] struct {
	e    *locking.Engine
	news chan struct{}

	mu     sync.Mutex
	queue  []Heard[K]
	bytes  int  // of what is in queue
	full   bool // events are dropped until the queue has been read
	closed bool
	away   map[K]bool // whose subscription is lost
	end    []func()
}

// New returns a feed that is closed when ctx ends.
func New[K comparable](ctx context.Context, e *locking.Engine) *Feed[K] {
	f := &Feed[K]{e: e, news: make(chan struct{}, 1), away: map[K]bool{}}
	stop := context.AfterFunc(ctx, f.Close)
	f.Ends(func() { stop() })
	return f
}

// Subscribe adds the events of a kind, which come on a channel. told is called for each, and for each gap.
func (f *Feed[K]) Subscribe(ctx context.Context, kind K, channel string, told func(gap bool)) error {
	sub, err := f.e.Subscribe(ctx, channel, func(ev pubsub.Event) { // on the hub's goroutine
		switch ev.Kind {
		case pubsub.Lost:
			f.lost(kind)
			return
		case pubsub.Resumed:
			f.back(kind)
		default:
			f.add(Heard[K]{Kind: kind, Payload: ev.Payload})
		}
		told(ev.Kind == pubsub.Resumed)
	})
	if err != nil {
		return err
	}
	f.Ends(sub.Close)
	sub.Losses()
	return nil
}

// Ends has what is called when the feed is closed, or is closed already.
func (f *Feed[K]) Ends(what func()) {
	f.mu.Lock()
	closed := f.closed
	if !closed {
		f.end = append(f.end, what)
	}
	f.mu.Unlock()
	if closed {
		what()
	}
}

// lost notes that the subscription to one kind of events is lost. The first has the loop told.
func (f *Feed[K]) lost(kind K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose(kind)
}

func (f *Feed[K]) lose(kind K) {
	if len(f.away) == 0 {
		f.put(Heard[K]{Notice: core.ErrDisconnected})
	}
	f.away[kind] = true
}

// back notes that it is back, also if nothing has noticed that it was lost. The last has the loop told.
func (f *Feed[K]) back(kind K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose(kind)
	if delete(f.away, kind); len(f.away) == 0 {
		f.put(Heard[K]{Notice: core.ErrReconnected})
		f.put(Heard[K]{Gap: true})
	}
}

func (f *Feed[K]) add(h Heard[K]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(h)
}

func (f *Feed[K]) put(h Heard[K]) {
	switch n := len(f.queue); {
	case f.closed:
		return
	case h.Notice == core.ErrDisconnected && n >= 3 && f.queue[n-3].Notice == h.Notice && f.queue[n-2].Notice == core.ErrReconnected:
		f.queue = f.queue[:n-2] // the loop has not read of the loss before, which goes on: the queue stays short
		return
	case h.Notice != nil: // two for each loss that the loop may have read of, however slow it is
	case n > 0 && f.queue[n-1].Gap && (f.full || h.Gap):
		return // which says it already
	case n >= most || n > 0 && f.bytes+len(h.Payload) > mostBytes:
		f.full = true
		h = Heard[K]{Gap: true}
	}
	f.queue, f.bytes = append(f.queue, h), f.bytes+len(h.Payload)
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// Next waits for what is heard. It returns [ErrLeft] once the feed was closed and is empty.
func (f *Feed[K]) Next(ctx context.Context) (Heard[K], error) {
	for {
		h, some, left := f.take()
		switch {
		case some && h.Notice != nil && f.e.Open() != nil: // it is the client that has ended the connection
		case some:
			return h, nil
		case left && ctx.Err() == nil && f.e.Open() == nil:
			return h, ErrLeft
		}
		select {
		case <-f.news:
		case <-ctx.Done():
			return Heard[K]{}, core.ContextError(ctx)
		case <-f.e.Closing():
			return Heard[K]{}, core.ErrClosed
		}
	}
}

func (f *Feed[K]) take() (h Heard[K], some, left bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return h, false, f.closed
	}
	h, f.queue = f.queue[0], f.queue[1:]
	f.bytes -= len(h.Payload)
	if len(f.queue) == 0 {
		f.queue, f.full = nil, false
	}
	return h, true, false
}

// Close ends the subscriptions, and forgets what has not been read. It may be called again.
func (f *Feed[K]) Close() {
	f.mu.Lock()
	end := f.end
	f.closed, f.end, f.queue = true, nil, nil
	f.mu.Unlock()
	for _, what := range end {
		what()
	}
}

// Split reads the parts of an event of Redisson's: for each its length in eight bytes, little-endian, and its bytes.
func Split(payload string, into ...*string) error {
	rest := payload
	for i, part := range into {
		if len(rest) < 8 || length(rest) > uint64(len(rest)-8) {
			return fmt.Errorf("an event of %d bytes ends in part %d of %d", len(payload), i+1, len(into))
		}
		n := int(length(rest))
		*part, rest = rest[8:8+n], rest[8+n:]
	}
	if rest != "" {
		return fmt.Errorf("an event of %d bytes has %d too many", len(payload), len(rest))
	}
	return nil
}

// length reads a length.
func length(s string) (n uint64) {
	for i := 7; i >= 0; i-- {
		n = n<<8 | uint64(s[i])
	}
	return n
}
