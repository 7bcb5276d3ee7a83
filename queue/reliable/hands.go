package reliable

import (
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// hands is the messages that a client has, so that one that was cancelled is found.
type hands struct {
	mu  sync.Mutex
	all map[hand]*delivery
}

// hand is a message: the queue, and what its leases have.
type hand struct{ key, member string }

func (d *delivery) hand() hand { return hand{d.c.of.key, d.member} }

func (h *hands) put(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = make(map[hand]*delivery)
	}
	h.all[d.hand()] = d
}

func (h *hands) drop(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := d.hand(); h.all[k] == d {
		delete(h.all, k)
	}
}

// taken handles the notification that messages were cancelled; a renewal says so, too, but later.
func (c *consumer) taken(ev pubsub.Event) {
	if ev.Kind != pubsub.Message {
		return
	}
	h := &c.h.hands
	h.mu.Lock()
	d := h.all[hand{c.of.key, ev.Payload}]
	h.mu.Unlock()
	if d != nil {
		d.Ended(ErrCancelled)
		d.grant.Finish(core.ErrLost)
	}
}
