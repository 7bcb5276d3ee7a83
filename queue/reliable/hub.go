package reliable

import (
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
)

// hub is what the reliable queues of one client have in common.
type hub struct {
	e         *locking.Engine
	began     time.Time
	identity  string // of this client, as queues keep it for what it has: see Owner
	requests  *send.Requests
	adds      *combine.Table[string, adding, added]
	steps     *combine.Table[consumerKey, ask, answer]
	results   *combine.Table[string, asking, string]
	consumers places.Places[consumerKey, *consumer]
	ears      places.Places[string, *listening]
	hands     hands

	mu      sync.Mutex
	numbers map[number]struct{}    // of the consumers that there are
	terms   map[consumerKey]string // of queues whose terms were told to consumers
}

// mostTold bounds how many terms a client remembers: who was forgotten is told again.
const mostTold = 1024

// told returns the terms that consumers of this kind were told last.
func (h *hub) told(key consumerKey) (terms string, told bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	terms, told = h.terms[key]
	return terms, told
}

// tells remembers them.
func (h *hub) tells(key consumerKey, terms string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.terms) >= mostTold {
		clear(h.terms)
	}
	h.terms[key] = terms
}

// number is that of a consumer, among those of its queue: lanes and channels have it in
// their names.
type number struct {
	key string
	n   int
}

type hubKey struct{}

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

func newHub(e *locking.Engine) *hub {
	h := &hub{e: e, began: time.Now(), identity: identityOf(e.ClientID), requests: send.NewRequests(e.Sender), numbers: map[number]struct{}{}, terms: map[consumerKey]string{}}
	h.adds = combine.New(combine.Config[string, adding, added]{
		Send: h.sendAdds, Cut: cutAdds, Spawn: e.Spawn, Closed: ErrClosed, Flights: lanes,
	})
	h.steps = combine.New(combine.Config[consumerKey, ask, answer]{
		Send: h.sendStep, Cut: cutSteps, Spawn: e.Spawn, Closed: ErrClosed,
	})
	h.results = combine.New(combine.Config[string, asking, string]{
		Send: h.sendResults, Cut: cutResults, Spawn: e.Spawn, Closed: ErrClosed,
	})
	h.ears.Make = newListening
	h.ears.Left = (*listening).left
	h.consumers.Make = h.newConsumer
	h.consumers.Left = (*consumer).left
	h.consumers.Idle = (*consumer).idle
	h.consumers.Reuse = h.gone
	return h
}

// number returns the least that no other consumer of the queue has.
func (h *hub) number(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := 0; ; n++ {
		if _, taken := h.numbers[number{key, n}]; !taken {
			h.numbers[number{key, n}] = struct{}{}
			return n
		}
	}
}

// gone ends a consumer that nobody uses any more, and that the server does not wait
// for: another may have its number.
func (h *hub) gone(c *consumer) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.numbers, number{c.key.key, c.number})
	return false
}

func (of *names) once(key string) string { return keys.ReliableOnce(of.key, key) }
