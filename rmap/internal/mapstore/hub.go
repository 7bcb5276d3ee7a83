package mapstore

import (
	"context"
	"crypto/rand"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// Hub is what the maps of one client have in common.
type Hub struct {
	Engine *locking.Engine
	gets   *combine.Table[string, getAsk, Value]
	Turns  *turn.Turns[Entry, Value] // of Computes

	cachedGets *combine.Table[string, cachedAsk, Value]
	Sweeper    *mapcache.Sweeper

	Requests *send.Requests
	ID       string // of this client, among near caches

	shards *combine.Table[shardsKey, int, int]
	counts [counts]atomic.Pointer[shardCount]

	answeredMu sync.Mutex
	answered   [64]string // requests to near caches, see First

	seed  maphash.Seed
	sizes *paging.Sizes // of values, see getAsk
}

type hubKey struct{}

// HubOf returns the hub of a client.
func HubOf(e *locking.Engine) *Hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*Hub)
}

// getFlights is how many exchanges about one map may be under way, of those
// that Gets share, and getCrowd how many Gets wait for nothing.
const (
	getFlights = 4
	getCrowd   = MostGets / 2
)

func newHub(e *locking.Engine) *Hub {
	h := &Hub{Engine: e, Requests: send.NewRequests(e.Sender), ID: random(16), seed: maphash.MakeSeed(), sizes: paging.NewSizes()}
	h.gets = combine.New(combine.Config[string, getAsk, Value]{
		Send: h.sendGets, Cut: func(waiting []*getCall) int { return Cut(len(waiting), waiting[0].Ask.size) }, Sent: e.Sent("map"), Spawn: e.Spawn, Closed: core.ErrClosed, Flights: getFlights, Crowd: getCrowd,
	})
	h.cachedGets = combine.New(combine.Config[string, cachedAsk, Value]{
		Send: h.sendCachedGets, Cut: func(waiting []*cachedCall) int { return Cut(len(waiting), waiting[0].Ask.size) }, Sent: e.Sent("map cache"), Spawn: e.Spawn, Closed: core.ErrClosed, Flights: getFlights, Crowd: getCrowd,
	})
	h.shards = combine.New(combine.Config[shardsKey, int, int]{
		Send: h.countShards, Sent: e.Sent("sharded map"), Spawn: e.Spawn, Closed: core.ErrClosed,
	})
	h.Sweeper = mapcache.NewSweeper(e, sweep.Of(e))
	h.Turns = turn.New(turn.Config[Entry, Value]{Engine: e, Within: h.within, Unheard: h.unheard})
	return h
}

// random returns so many bytes.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // which never fails
	return string(b)
}

// swept tells of what a write has evicted.
func (h *Hub) swept(s core.Sweep) {
	if h.Engine.Caches != nil {
		h.Engine.Caches.Swept(context.Background(), s)
	}
}

// First reports whether this client has not yet answered that request; it remembers the last
// ones. A requester counts connections, and the near caches of a client share one.
func (h *Hub) First(request string) bool {
	h.answeredMu.Lock()
	defer h.answeredMu.Unlock()
	if slices.Contains(h.answered[:], request) {
		return false
	}
	copy(h.answered[1:], h.answered[:])
	h.answered[0] = request
	return true
}
