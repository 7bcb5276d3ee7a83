package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// EventKind says what has happened to an entry of a cache.
type EventKind int

const (
	// Created: there was none that lived, and now there is.
	Created = EventKind(mapcache.Created)
	// Updated: it has another value.
	Updated = EventKind(mapcache.Updated)
	// Removed: it was removed, or evicted because of a bound.
	Removed = EventKind(mapcache.Removed)
	// Expired: its time was over, and it was swept.
	Expired = EventKind(mapcache.Expired)
	// Gap: events may have been missed.
	Gap EventKind = -1
)

// String returns the kind in one word.
func (k EventKind) String() string {
	if k == Gap {
		return "gap"
	}
	return mapcache.Kind(k).String()
}

// Event is what has happened to an entry.
type Event[K comparable, V any] struct {
	Kind  EventKind // what has happened
	Key   K         // of the entry
	Value V         // the new one, or the last one
	Old   V         // of an Updated
}

// mostEvents is how many events wait for a slow reader before some are missed.
const mostEvents = 10_000

// Events yields what happens to the entries of the cache: events of the given kinds, or of all
// kinds, by all writers, Go or Java. The subscription exists when Events returns. It ends with
// ctx, or when the loop over the events is left. There is one loop over them.
//
// An event is delivered at most once. Events of one kind come in their order; those of different
// kinds may come in another order than they happened. A [Gap] is yielded if some may have been
// missed, because the connection was lost or the loop is too slow. Clear, Delete and Expire of
// the whole cache publish no event.
//
// Some errors are notices: they wrap rueidisson.ErrNotice, and the loop continues. Any
// other error is the last. The notices are:
//
//   - [ErrDisconnected] when the connection is lost;
//   - [ErrReconnected] when it is back, followed by a [Gap];
//   - [ErrDecode] for an event that does not decode.
//
// While it has a subscriber, this process sweeps the cache at least every second: an Expired
// comes within a second after the expiry, and a round trip. Where Java sweeps it, too, only one
// of both sweeps at a time. After a sweep of Java no other process may sweep for the next 5 to
// 30 seconds: an Expired comes that much later then.
//
// Cost: a subscription for each kind; every write to the cache publishes from then on, also without subscribers, until
// the cache is deleted. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RMapCache.addListener.
func (m *Cache[K, V]) Events(ctx context.Context, kinds ...EventKind) iter.Seq2[Event[K, V], error] {
	f := &feed{news: make(chan struct{}, 1)}
	err := m.m.Usable(ctx)
	if err == nil {
		err = f.open(ctx, m.c, kinds)
	}
	return func(yield func(Event[K, V], error) bool) {
		defer f.close()
		for err == nil {
			var got heard
			if got, err = f.next(ctx, m.m.Hub.Engine); err == errLeft {
				return
			} else if err != nil {
				break
			}
			ev, notice := m.event(got)
			if !yield(ev, core.Notice(m.m.Failed("listen to", notice))) {
				return
			}
		}
		yield(Event[K, V]{}, m.m.Failed("listen to", err))
	}
}

// event returns what was heard, decoded.
func (m *Cache[K, V]) event(h heard) (ev Event[K, V], err error) {
	if h.notice != nil {
		return ev, h.notice
	}
	ev.Kind = EventKind(h.kind)
	if ev.Kind == Gap {
		return ev, nil
	}
	raw, err := mapcache.ParseEvent(h.kind, h.payload)
	if err != nil {
		return ev, m.m.Codecs.Undecoded("", h.payload, err)
	}
	if ev.Key, err = m.m.Codecs.DecodeKey(raw.Key); err == nil {
		ev.Value, _, err = m.m.Decode(raw.Key, mapstore.Value{Text: raw.New, There: true})
	}
	if err == nil && ev.Kind == Updated {
		ev.Old, _, err = m.m.Decode(raw.Key, mapstore.Value{Text: raw.Old, There: true})
	}
	return ev, err
}

// heard is a message, or that some may have been missed, or a notice.
type heard struct {
	kind    mapcache.Kind
	payload string
	notice  error
}

// feed is what was heard and waits for its reader.
type feed struct {
	news chan struct{}

	mu     sync.Mutex
	queue  []heard
	full   bool // messages are dropped until the queue has been read
	closed bool
	away   map[mapcache.Kind]bool // whose subscription is lost
	end    []func()
}

// open subscribes, and has writers publish.
func (f *feed) open(ctx context.Context, c *mapstore.Cached, kinds []EventKind) error {
	if len(kinds) == 0 {
		kinds = []EventKind{Created, Updated, Removed, Expired}
	}
	for _, kind := range kinds {
		if kind < Created || kind > Expired {
			return fmt.Errorf("%w: there are no events of kind %d to listen to", ErrInvalidArgument, int(kind))
		}
	}
	f.end = append(f.end, c.Hub.Sweeper.Listen(&c.Names))
	stop := context.AfterFunc(ctx, f.close)
	f.end = append(f.end, func() { stop() })
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		sub, err := c.Hub.Engine.Subscribe(ctx, mapcache.Kind(kind).Channel(c.Key), func(ev pubsub.Event) { // on the hub's goroutine
			h := heard{kind: mapcache.Kind(kind), payload: ev.Payload}
			switch ev.Kind {
			case pubsub.Lost:
				f.lost(mapcache.Kind(kind))
				return
			case pubsub.Resumed:
				h = heard{kind: mapcache.Kind(Gap)}
				f.back(mapcache.Kind(kind))
			default:
				f.add(h)
			}
			if c.Hub.Engine.Caches != nil {
				c.Hub.Engine.Caches.Heard(context.Background(), c.Key, EventKind(h.kind).String())
			}
		})
		if err != nil {
			f.close()
			return err
		}
		f.ends(sub.Close)
		sub.Losses()
	}
	if _, err := mapcache.Tell(ctx, c.Hub.Engine, &c.Names); err != nil {
		f.close()
		return err
	}
	c.Knows.Store(nil)
	return nil
}

// ends has what is called when the feed is closed, or is closed already.
func (f *feed) ends(what func()) {
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
func (f *feed) lost(kind mapcache.Kind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose(kind)
}

func (f *feed) lose(kind mapcache.Kind) {
	if len(f.away) == 0 {
		f.away = map[mapcache.Kind]bool{}
		f.put(heard{notice: core.ErrDisconnected})
	}
	f.away[kind] = true
}

// back notes that it is back, also if nothing has noticed that it was lost. The last has the loop told.
func (f *feed) back(kind mapcache.Kind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose(kind)
	if delete(f.away, kind); len(f.away) == 0 {
		f.put(heard{notice: core.ErrReconnected})
		f.put(heard{kind: mapcache.Kind(Gap)})
	}
}

func (f *feed) add(h heard) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(h)
}

func (f *feed) put(h heard) {
	switch n := len(f.queue); {
	case f.closed:
		return
	case h.notice == core.ErrDisconnected && n >= 3 && f.queue[n-3].notice == h.notice && f.queue[n-2].notice == core.ErrReconnected:
		f.queue = f.queue[:n-2] // the loop has not read of the loss before, which goes on: the queue stays short
		return
	case h.notice != nil: // two for each loss that the loop may have read of, however slow it is
	case n > 0 && f.queue[n-1].kind == mapcache.Kind(Gap) && (f.full || h.kind == mapcache.Kind(Gap)):
		return // which says it already
	case n >= mostEvents:
		f.full = true
		h = heard{kind: mapcache.Kind(Gap)}
	}
	f.queue = append(f.queue, h)
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// errLeft says that the loop over the events was left before.
var errLeft = errors.New("the loop over the events was left")

// next waits for what is heard.
func (f *feed) next(ctx context.Context, e *locking.Engine) (heard, error) {
	for {
		h, some, left := f.take()
		switch {
		case some && h.notice != nil && e.Open() != nil: // it is the client that has ended the connection
		case some:
			return h, nil
		case left && ctx.Err() == nil && e.Open() == nil:
			return h, errLeft
		}
		select {
		case <-f.news:
		case <-ctx.Done():
			return heard{}, core.ContextError(ctx)
		case <-e.Closing():
			return heard{}, ErrClosed
		}
	}
}

func (f *feed) take() (h heard, some, left bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return h, false, f.closed
	}
	h, f.queue = f.queue[0], f.queue[1:]
	if len(f.queue) == 0 {
		f.queue, f.full = nil, false
	}
	return h, true, false
}

func (f *feed) close() {
	f.mu.Lock()
	end := f.end
	f.closed, f.end, f.queue = true, nil, nil
	f.mu.Unlock()
	for _, what := range end {
		what()
	}
}
