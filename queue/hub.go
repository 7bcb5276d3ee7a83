package queue

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// hub is what the queues of one client have in common.
type hub struct {
	e        *locking.Engine
	requests *send.Requests
	poller   *poller.Poller
	failures failures
	doors    places.Places[string, *wait.Door]
	takers   places.Places[string, *takers]
	offers   *combine.Table[side, []string, int64]
	rings    *combine.Table[string, []string, int64]
	pops     *combine.Table[side, popAsk, []poller.Item]
	delayed  *combine.Table[string, postponed, int64] // by the key of the queue
	movers   *movers
}

type hubKey struct{}

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		h := &hub{e: e, requests: send.NewRequests(e.Sender)}
		h.failures.of = make(map[string]failure)
		h.combines()
		h.movers = newMovers(h)
		waiting := blocked.Of(e)
		waiting.PutsBack(func(k *poller.Kind, key string, items []poller.Item) { // of the hub that is kept, if several are made at once
			hubOf(e).putBack(endOf(k), key, items)
		})
		h.poller = waiting.Poller
		h.doors.Make = func(string) *wait.Door { return wait.NewDoor() }
		h.doors.Idle = func(*wait.Door) bool { return true }
		h.takers.Make = func(string) *takers { return &takers{} }
		h.takers.Idle = func(*takers) bool { return true }
		return h
	}).(*hub)
}

// Offers of one process to one end of a queue that come while another is on its way
// go out as one, and so do polls.

// side is an end of a queue that offers, or polls, share.
type side struct {
	cmd *scripts.Command
	key string
}

type (
	offerCall = combine.Call[[]string, int64]
	popCall   = combine.Call[popAsk, []poller.Item]
)

// popAsk asks for an element.
type popAsk struct {
	from  *end
	bytes int64 // of the longest of those before; 0 if there were none
}

const (
	// mostPops bounds the polls of one command, and by that what a connection that
	// breaks can lose.
	mostPops = 100
	// mostOffers and mostOffered bound the offers of one command, the latter their
	// bytes: the server does nothing else meanwhile, and the first waits for the last.
	mostOffers  = 256
	mostOffered = 256 << 10
	// flights is how many such exchanges about one end may be under way.
	flights = 4
)

func (h *hub) combines() {
	h.offers = combine.New(combine.Config[side, []string, int64]{
		Send: h.sendOffers, Cut: cutOffers, Sent: h.e.Sent("queue"), Spawn: h.e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	h.rings = combine.New(combine.Config[string, []string, int64]{
		Send: h.sendToRing, Cut: cutOffers, Sent: h.e.Sent("ring buffer"), Spawn: h.e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	h.pops = combine.New(combine.Config[side, popAsk, []poller.Item]{
		Send: h.sendPops, Cut: cutPops,
		Left: func(on side, ask popAsk, items []poller.Item) { h.putBack(ask.from, on.key, items) }, Sent: h.e.Sent("queue"), Spawn: h.e.Spawn, Closed: ErrClosed,
		Flights: flights,
	})
	h.delayed = combine.New(combine.Config[string, postponed, int64]{
		Send: h.sendPostponed, Cut: cutPostponed, Sent: h.e.Sent("delayed queue"), Spawn: h.e.Spawn, Closed: ErrClosed, Flights: flights,
	})
}

// cutPops has one command bring about a megabyte.
func cutPops(waiting []*popCall) int {
	return portion(len(waiting), mostPops, paging.Bytes, func(i int) int { return int(expected(waiting[i].Ask.bytes)) })
}

func cutOffers(waiting []*offerCall) int {
	elements, bytes := 0, 0
	for i, c := range waiting {
		elements += len(c.Ask)
		for _, text := range c.Ask {
			bytes += len(text)
		}
		if i > 0 && (i == mostOffers || elements > paging.Most || bytes > mostOffered) {
			return i
		}
	}
	return len(waiting)
}

// sendOffers offers the elements of all calls, in order. Each call gets the number of elements
// up to the last of its own.
func (h *hub) sendOffers(on side, _ int, batch []*offerCall) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	size, err := send.Number(h.e.Run(context.Background(), on.cmd, []string{on.key}, joined(batch)))
	answer(batch, size, size)
	return err
}

// joined returns the elements of all.
func joined(batch []*offerCall) []string {
	all := batch[0].Ask
	for _, c := range batch[1:] {
		all = append(all[:len(all):len(all)], c.Ask...)
	}
	return all
}

// answer gives each call the number of elements up to the last of its own. Size counts them up
// to the last of all; no number is above most.
func answer(batch []*offerCall, size, most int64) {
	for i := len(batch) - 1; i >= 0; i-- {
		batch[i].Answer = min(size, most)
		size = max(size-int64(len(batch[i].Ask)), 0)
	}
}

// sendPops takes an element for each, in order.
func (h *hub) sendPops(on side, _ int, batch []*popCall) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	p := paging.Plan{N: int64(len(batch))}
	for _, c := range batch {
		p.Bytes += c.Ask.bytes
	}
	items, err := h.popNow(context.Background(), batch[0].Ask.from, on.key, len(batch), p)
	h.mayBeLost(on.key, err)
	for i := range items {
		batch[i].Answer = items[i : i+1]
	}
	return err
}
