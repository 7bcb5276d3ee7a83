package topic

import (
	"maps"
	"slices"

	"github.com/rueidisson/rueidisson/internal/engine"
)

type readerKey struct {
	slot  uint16
	group string
}

// attach has a reader read a feed.
func (h *reliables) attach(f *feed) {
	h.mu.Lock()
	k := readerKey{h.e.Slot(f.of.key), f.group}
	r := h.readers[k]
	if r == nil {
		r = &reader{h: h, key: k, news: make(chan struct{}, 1), place: place{come: make(chan *engine.Blocking, 1)}}
		if h.e.Spawn(r.run) {
			h.watch()
			h.readers[k] = r
		}
	}
	r.add(f)
	h.mu.Unlock()
	r.poke()
}

// watch has the readers of a client that closes stop what they wait for.
func (h *reliables) watch() {
	if len(h.readers) > 0 {
		return
	}
	quiet := make(chan struct{})
	h.quiet = quiet
	h.e.Spawn(func() {
		select {
		case <-h.e.Closing():
			h.endAll()
		case <-quiet:
		}
	})
}

func (h *reliables) endAll() {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.readers))
	h.mu.Unlock()
	for _, r := range all {
		r.poke()
	}
	for _, r := range all {
		r.end() // here, since Spawn may refuse already
	}
}

// of is the reader of a feed, if there is one.
func (h *reliables) of(f *feed) *reader { return h.readers[readerKey{h.e.Slot(f.of.key), f.group}] }

// detach has a feed not read any more.
func (h *reliables) detach(f *feed) {
	h.mu.Lock()
	r := h.of(f)
	if r != nil {
		r.remove(f)
	}
	h.mu.Unlock()
	if r != nil {
		r.poke()
	}
}

// wake says that a feed has room again.
func (h *reliables) wake(f *feed) {
	h.mu.Lock()
	r := h.of(f)
	h.mu.Unlock()
	if r != nil {
		r.poke()
	}
}
