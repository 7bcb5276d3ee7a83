package rmap

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/feed"
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
	err := m.m.Usable(ctx)
	var f *events
	if err == nil {
		f, err = listen(ctx, m.c, kinds)
	}
	return func(yield func(Event[K, V], error) bool) {
		if f != nil {
			defer f.Close()
		}
		for err == nil {
			var got heard
			if got, err = f.Next(ctx); err == feed.ErrLeft {
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
	if h.Notice != nil {
		return ev, h.Notice
	}
	if h.Gap {
		ev.Kind = Gap
		return ev, nil
	}
	ev.Kind = EventKind(h.Kind)
	raw, err := mapcache.ParseEvent(h.Kind, h.Payload)
	if err != nil {
		return ev, m.m.Codecs.Undecoded("", h.Payload, err)
	}
	if ev.Key, err = m.m.Codecs.DecodeKey(raw.Key); err == nil {
		ev.Value, _, err = m.m.Decode(raw.Key, mapstore.Value{Text: raw.New, There: true})
	}
	if err == nil && ev.Kind == Updated {
		ev.Old, _, err = m.m.Decode(raw.Key, mapstore.Value{Text: raw.Old, There: true})
	}
	return ev, err
}

type (
	heard  = feed.Heard[mapcache.Kind]
	events = feed.Feed[mapcache.Kind]
)

// listen subscribes, and has writers publish.
func listen(ctx context.Context, c *mapstore.Cached, kinds []EventKind) (*events, error) {
	if len(kinds) == 0 {
		kinds = []EventKind{Created, Updated, Removed, Expired}
	}
	for _, kind := range kinds {
		if kind < Created || kind > Expired {
			return nil, fmt.Errorf("%w: there are no events of kind %d to listen to", ErrInvalidArgument, int(kind))
		}
	}
	e := c.Hub.Engine
	f := feed.New[mapcache.Kind](ctx, e)
	f.Ends(c.Hub.Sweeper.Listen(&c.Names))
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		err := f.Subscribe(ctx, mapcache.Kind(kind), mapcache.Kind(kind).Channel(c.Key), func(gap bool) {
			of := kind
			if gap {
				of = Gap
			}
			if e.Caches != nil {
				e.Caches.Heard(context.Background(), c.Key, of.String())
			}
		})
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	if _, err := mapcache.Tell(ctx, e, &c.Names); err != nil {
		f.Close()
		return nil, err
	}
	c.Knows.Store(nil)
	return f, nil
}
