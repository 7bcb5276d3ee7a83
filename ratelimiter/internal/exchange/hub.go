package exchange

import (
	"runtime"
	"sync"
	"weak"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/standby"
)

// hub is what the limiters of one client have in common. Names and keys are
// without number, and many are used once: whatever is kept for one goes when it
// says no more than its absence, and is bounded until then.
type hub struct {
	Engine  *locking.Engine
	Table   *combine.Table[string, Ask, Answer]
	cancels *combine.Table[string, bucket.Cancellation, struct{}]

	Meters   bucket.Meters // of PerClient rates
	StandIns bucket.Meters // while the server cannot be asked
	Standby  standby.Standby
	sleepers bucket.Sleepers
	asides   asides

	cores sync.Map // name: weak.Pointer[core]
	mu    sync.Mutex
	kept  [keptCores]*Core // the latest
	next  int
}

// keptCores is how many limiters that nobody has a handle on are remembered: who
// makes one for each request would ask for the rate each time otherwise.
const keptCores = 1024

type hubKey struct{}

func HubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

// flights is how many exchanges about one bucket may be under way.
const flights = 4

func newHub(e *locking.Engine) *hub {
	h := &hub{Engine: e}
	h.Table = combine.New(combine.Config[string, Ask, Answer]{
		Send: func(key string, _ int, b batch) error { return h.send(key, b) },
		Cut:  cut, Left: h.Left, Spawn: e.Spawn, Closed: core.ErrClosed, Flights: flights,
	})
	h.cancels = combine.New(combine.Config[string, bucket.Cancellation, struct{}]{
		Send: func(state string, _ int, b []*cancelCall) error { return h.sendCancels(state, b) },
		Cut:  cutCancels, Spawn: e.Spawn, Closed: core.ErrClosed,
	})
	return h
}

// Core returns the one of a name: all handles on it have the same, for as long as
// there is one.
func (h *hub) Core(name string) *Core {
	for {
		if there, ok := h.cores.Load(name); ok {
			if c := there.(weak.Pointer[Core]).Value(); c != nil {
				return c
			}
			h.cores.CompareAndDelete(name, there)
		}
		c := &Core{hub: h, Name: name}
		if _, there := h.cores.LoadOrStore(name, weak.Make(c)); there {
			continue
		}
		runtime.AddCleanup(c, func(gone forgotten) { gone.from.cores.CompareAndDelete(gone.name, gone.core) }, forgotten{h, name, weak.Make(c)})
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kept[h.next%keptCores] = c
		h.next++
		return c
	}
}

// forgotten is a core that nobody uses any more.
type forgotten struct {
	from *hub
	name string
	core weak.Pointer[Core]
}
