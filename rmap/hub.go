package rmap

import (
	"context"
	"crypto/rand"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// hub is what the maps of one client have in common.
type hub struct {
	e     *locking.Engine
	gets  *combine.Table[string, getAsk, value]
	turns *combine.Table[entry, *change, struct{}]

	cachedGets *combine.Table[string, cachedAsk, value]
	sweeper    *mapcache.Sweeper

	requests *send.Requests
	id       string // of this client, among near caches

	shards *combine.Table[shardsKey, int, int]
	counts [counts]atomic.Pointer[shardCount]

	answeredMu sync.Mutex
	answered   [64]string // requests to near caches, see first

	contests [contests]contest // of Computes, see claim
	claims   atomic.Int64      // that were named

	seed  maphash.Seed
	sizes [sizes]atomic.Int64 // of values, see getAsk
}

type hubKey struct{}

func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

// getFlights is how many exchanges about one map may be under way, of those
// that Gets share, and getCrowd how many Gets wait for nothing.
const (
	getFlights = 4
	getCrowd   = mostGets / 2
)

func newHub(e *locking.Engine) *hub {
	h := &hub{e: e, requests: send.NewRequests(e.Sender), id: random(16), seed: maphash.MakeSeed()}
	h.gets = combine.New(combine.Config[string, getAsk, value]{
		Send: h.sendGets, Cut: func(waiting []*getCall) int { return cut(len(waiting), waiting[0].Ask.size) }, Spawn: e.Spawn, Closed: ErrClosed, Flights: getFlights, Crowd: getCrowd,
	})
	h.cachedGets = combine.New(combine.Config[string, cachedAsk, value]{
		Send: h.sendCachedGets, Cut: func(waiting []*cachedCall) int { return cut(len(waiting), waiting[0].Ask.size) }, Spawn: e.Spawn, Closed: ErrClosed, Flights: getFlights, Crowd: getCrowd,
	})
	h.shards = combine.New(combine.Config[shardsKey, int, int]{
		Send: h.countShards, Spawn: e.Spawn, Closed: ErrClosed,
	})
	h.sweeper = mapcache.NewSweeper(e, sweep.Of(e))
	h.turns = combine.New(combine.Config[entry, *change, struct{}]{
		Send: h.sendTurn, Spawn: e.Spawn, Closed: ErrClosed,
	})
	return h
}

// random returns so many bytes.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // which never fails
	return string(b)
}

// swept tells of what a write has evicted.
func (h *hub) swept(s core.Sweep) {
	if h.e.Caches != nil {
		h.e.Caches.Swept(context.Background(), s)
	}
}
