package rmap

import (
	"context"
	"crypto/rand"
	"hash/maphash"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// hub is what the maps of one client have in common.
type hub struct {
	e     *engine.Engine
	gets  *combine.Table[string, getAsk, value]
	turns *combine.Table[entry, *change, struct{}]

	cachedGets *combine.Table[string, cachedAsk, value]
	sweeper    *mapcache.Sweeper

	forgotten *combine.Table[string, string, struct{}]
	born      string       // what all requests of this client begin with
	requests  atomic.Int64 // so many were numbered

	expiring atomic.Bool // the server has times to live of fields

	seed  maphash.Seed
	sizes [sizes]atomic.Int64 // of values, see getAsk
}

type hubKey struct{}

func hubOf(e *engine.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

// getFlights is how many exchanges about one map may be under way, of those
// that Gets share.
const getFlights = 4

func newHub(e *engine.Engine) *hub {
	h := &hub{e: e, born: rand.Text()[:16], seed: maphash.MakeSeed()}
	h.gets = combine.New(combine.Config[string, getAsk, value]{
		Send: h.sendGets, Cut: cutGets, Spawn: e.Spawn, Closed: ErrClosed, Flights: getFlights,
	})
	h.cachedGets = combine.New(combine.Config[string, cachedAsk, value]{
		Send: h.sendCachedGets, Cut: cutCachedGets, Spawn: e.Spawn, Closed: ErrClosed, Flights: getFlights,
	})
	h.sweeper = mapcache.NewSweeper(e, h.swept)
	h.turns = combine.New(combine.Config[entry, *change, struct{}]{
		Send: h.sendTurn, Spawn: e.Spawn, Closed: ErrClosed,
	})
	h.forgotten = combine.New(combine.Config[string, string, struct{}]{
		Send: h.sendForgotten, Cut: cutForgotten, Spawn: e.Spawn, Closed: ErrClosed,
	})
	return h
}

// request is a fresh request id.
func (h *hub) request() string { return h.born + "-" + decimal(h.requests.Add(1)) }

// forget drops what remembers a request, with others that are to go. If it does
// not get through, it goes by itself.
func (h *hub) forget(name, request string) { h.forgotten.Post(name, request) }

func (h *hub) sendForgotten(_ string, _ int, batch []*combine.Call[string, struct{}]) error {
	keys := make([]string, len(batch))
	for i, c := range batch {
		keys[i] = c.Ask
	}
	_, _ = h.e.Run(context.Background(), unlink, keys, nil)
	return nil
}

// mostForgotten bounds one command.
const mostForgotten = 1000

func cutForgotten(waiting []*combine.Call[string, struct{}]) int {
	return min(len(waiting), mostForgotten)
}
