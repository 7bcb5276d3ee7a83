package reliable

import (
	"embed"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// hub is what the reliable queues of one client have in common.
type hub struct {
	e           *locking.Engine
	began       time.Time
	identity    string // of this client, as queues keep it for what it has: see Owner
	requests    *send.Requests
	adds        *combine.Table[string, adding, added]
	steps       *combine.Table[consumerKey, ask, answer]
	results     *combine.Table[string, asking, string]
	withdrawals *combine.Table[string, asking, byte]
	consumers   places.Places[consumerKey, *consumer]
	ears        places.Places[string, *listening]
	hands       hands

	mu      sync.Mutex
	numbers map[number]struct{}    // of the consumers that there are
	terms   map[consumerKey]string // of queues whose terms were told to consumers
}

// mostTold bounds how many terms a client remembers: who was forgotten is told again.
const mostTold = 1024

// number is that of a consumer, among those of its queue: lanes and channels have it in
// their names.
type number struct {
	key string
	n   int
}

type hubKey struct{}

func newHub(e *locking.Engine) *hub {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	h := &hub{
		e: e, began: time.Now(), identity: e.ClientID + " " + strconv.Itoa(os.Getpid()) + " " + host, requests: send.NewRequests(e.Sender),
		numbers: map[number]struct{}{}, terms: map[consumerKey]string{},
	}
	h.adds = combine.New(combine.Config[string, adding, added]{
		Send: h.sendAdds, Cut: cutAdds, Sent: e.Sent("reliable queue"), Spawn: e.Spawn, Closed: ErrClosed, Flights: lanes, Gone: core.Left, Left: h.transferLeft,
	})
	h.withdrawals = combine.New(combine.Config[string, asking, byte]{
		Send: h.sendWithdrawals, Cut: func(waiting []*withdrawCall) int { return min(len(waiting), mostWithdrawn) }, Sent: e.Sent("reliable queue"), Closed: ErrClosed,
		Spawn: func(f func()) bool { e.SpawnWithin(f); return true }, // Close waits for its callers
	})
	h.steps = combine.New(combine.Config[consumerKey, ask, answer]{
		Send: h.sendStep, Cut: cutSteps, Sent: e.Sent("reliable queue"), Spawn: e.Spawn, Closed: ErrClosed,
	})
	h.results = combine.New(combine.Config[string, asking, string]{
		Send: h.sendResults, Cut: func(waiting []*resultCall) int { return min(len(waiting), mostSettled) }, Sent: e.Sent("reliable queue"), Spawn: e.Spawn, Closed: ErrClosed,
	})
	h.ears.Make = func(string) *listening { return &listening{waiting: map[int64][]chan struct{}{}} }
	h.ears.Left = (*listening).left
	h.consumers.Make = h.newConsumer
	h.consumers.Left = (*consumer).left
	// Nothing is lost with a consumer that has nothing to say, and for which the server does not wait. Its exchange holds a
	// reference. One that has gone is not used again: another consumer may have its number.
	h.consumers.Idle = func(c *consumer) bool { return c.pending == nil && len(c.carry) == 0 && !c.enrolled }
	h.consumers.Reuse = func(c *consumer) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.numbers, number{c.key.key, c.number})
		return false
	}
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

//go:embed lua/*.lua
var lua embed.FS

var (
	addScript    = scripts.Must(lua, "lua/add.lua")
	stepScript   = scripts.Must(lua, "lua/step.lua")
	extendScript = scripts.Must(lua, "lua/extend.lua")

	statsScript    = scripts.Must(lua, "lua/stats.lua")
	findScript     = scripts.Must(lua, "lua/find.lua")
	listScript     = scripts.Must(lua, "lua/list.lua")
	removeScript   = scripts.Must(lua, "lua/remove.lua")
	redriveScript  = scripts.Must(lua, "lua/redrive.lua")
	changeScript   = scripts.Must(lua, "lua/change.lua")
	purgeScript    = scripts.Must(lua, "lua/purge.lua")
	resultScript   = scripts.Must(lua, "lua/result.lua")
	pauseScript    = scripts.Must(lua, "lua/pause.lua")
	termsScript    = scripts.Must(lua, "lua/setterms.lua")
	progressScript = scripts.Must(lua, "lua/progress.lua")
	deleteScript   = scripts.Must(lua, "lua/delete.lua")
)

// What brings bodies, which may be long. A take is sent again under its number.
var (
	takes     = send.Sized(stepScript, send.Sizing{Writes: true})
	finds     = send.Sized(findScript, send.Sizing{})
	lists     = send.Sized(listScript, send.Sizing{})
	asksAfter = send.Sized(resultScript, send.Sizing{})
)

func decimal[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }
