package queue

import (
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
)

// hub is what the queues of one client have in common.
type hub struct {
	e        *locking.Engine
	requests *send.Requests
	poller   *poller.Poller
	failures failures
	doors    places.Places[string, *door]
	takers   places.Places[string, *takers]
	posts    places.Places[post, *door]
	tips     *poller.Streams
	offers   *combine.Table[side, []string, int64]
	rings    *combine.Table[string, []string, int64]
	pops     *combine.Table[side, popAsk, []poller.Item]
	delayed  *combine.Table[string, postponed, int64] // by the key of the queue
	movers   *movers
}

type hubKey struct{}

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		h := &hub{e: e, requests: send.NewRequests(e.Sender), tips: poller.NewStreams()}
		h.failures.of = make(map[string]failure)
		h.combines()
		h.movers = newMovers(h)
		h.poller = e.NewPoller(h.unwanted)
		h.doors.Make = newDoor
		h.doors.Idle = func(*door) bool { return true }
		h.takers.Make = newTakers
		h.takers.Idle = func(*takers) bool { return true }
		h.posts.Make = func(post) *door { return newDoor("") }
		h.posts.Idle = func(*door) bool { return true }
		return h
	}).(*hub)
}
