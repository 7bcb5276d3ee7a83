package reliable

import (
	"sync"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/places"
)

// hub is what the reliable queues of one client have in common.
type hub struct {
	e         *engine.Engine
	requests  *engine.Requests
	adds      *combine.Table[string, adding, added]
	steps     *combine.Table[consumerKey, ask, answer]
	results   *combine.Table[string, asking, string]
	consumers places.Places[consumerKey, *consumer]
	ears      places.Places[string, *listening]
	hands     hands

	mu       sync.Mutex
	policies []policy
	numbers  map[policy]int // their places there
}

type hubKey struct{}

func hubOf(e *engine.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

func newHub(e *engine.Engine) *hub {
	h := &hub{e: e, requests: engine.NewRequests(e), numbers: map[policy]int{}}
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
	return h
}

// number is that of a policy: lanes and channels have it in their names.
func (h *hub) number(p policy) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, known := h.numbers[p]
	if !known {
		n = len(h.policies)
		h.numbers[p] = n
		h.policies = append(h.policies, p)
	}
	return n
}

func (h *hub) policy(number int) policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.policies[number]
}

func (of *names) once(key string) string { return keys.ReliableOnce(of.key, key) }
