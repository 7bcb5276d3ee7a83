package queue

import (
	"context"
	"errors"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

var (
	delayedOffer  = scripts.Must(lua, "lua/delayed_offer.lua")
	delayedMove   = scripts.Must(lua, "lua/delayed_move.lua")
	delayedRemove = scripts.Must(lua, "lua/delayed_remove.lua")
)

const (
	// mostMoved bounds the elements of one script: the server does nothing else
	// meanwhile.
	mostMoved = 100
	// mostAside is how many stay of what was found among elements and is none.
	mostAside = 1000
	// overdue is how late, ms, the first element is when nobody seems to move it.
	overdue = 1000
)

// delays is a delayed queue as the server sees it.
type delays struct {
	key     string // of the queue that elements are moved to
	list    string
	times   string
	aside   string
	channel string
	lane    string // what the lanes of this client begin with
}

func newDelays(e *engine.Engine, key string) delays {
	return delays{
		key, keys.DelayList(key), keys.DelayTimes(key), keys.DelayAside(key), keys.DelayChannel(key), keys.Lane(key, e.ClientID),
	}
}

// postponed is an element to be offered.
type postponed struct {
	of     *delays
	due    int64 // ms
	packed string
}

type postponedCall = combine.Call[postponed, int64]

// cutPostponed is how many elements go out as one call.
func cutPostponed(waiting []*postponedCall) int {
	bytes := 0
	for i, c := range waiting {
		bytes += len(c.Ask.packed)
		if i > 0 && (i == mostOffers || bytes > mostOffered) {
			return i
		}
	}
	return len(waiting)
}

// sendPostponed offers the elements of several callers, in the order of their
// calls. It does so under a lane: what nobody knows of whether it ran never runs
// later.
func (h *hub) sendPostponed(_ string, flight int, batch []*postponedCall) error {
	of, first := batch[0].Ask.of, batch[0].Ask.due
	args := []string{decimal(h.e.Wall() - overdue)}
	for _, c := range batch {
		first = min(first, c.Ask.due)
		args = append(args, decimal(c.Ask.due), c.Ask.packed)
	}
	size, err := engine.Only(h.e.Numbered(of.lane, flight, of.key, func(r engine.Request) ([]int64, error) {
		got, err := h.e.Run(context.Background(), delayedOffer, []string{of.times, r.Lane, of.list},
			append([]string{r.Number, engine.MemoryMillis, of.channel}, args...))
		if err == nil {
			return got.AsIntSlice()
		}
		if errors.Is(err, ErrUnknown) {
			h.e.Void(r, of.key)
		}
		return nil, err
	}))
	if err == nil || engine.MayHaveRun(err) {
		h.movers.offered(of, first) // behind the write: a look before it would forget
	}
	for i := len(batch) - 1; i >= 0; i-- {
		batch[i].Answer = size
		size = max(size-1, 0)
	}
	return err
}

// moved is what came of one move.
type moved struct {
	elements int64
	more     bool  // that is due
	next     int64 // when the next is due, ms; never
	aside    []string
}

// never is when nothing is due.
const never = 1<<63 - 1

// move moves some of what is due at now, ms.
func (h *hub) move(ctx context.Context, of *delays, now int64) (m moved, err error) {
	got, err := h.e.Run(ctx, delayedMove, []string{of.key, of.times, of.list, of.aside},
		[]string{decimal(now), strconv.Itoa(mostMoved), strconv.Itoa(mostAside)})
	if err != nil {
		return m, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return m, err
	}
	if m.elements, err = parts[0].AsInt64(); err != nil {
		return m, err
	}
	more, err := parts[1].AsInt64()
	if err != nil {
		return m, err
	}
	m.more = more == 1
	text, err := parts[2].ToString()
	if err != nil {
		return m, err
	}
	m.next = never
	if text != "" {
		at, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return m, err
		}
		m.next = int64(min(max(at, 0), latest))
	}
	for _, p := range parts[3:] {
		text, err := p.ToString()
		if err != nil {
			return m, err
		}
		m.aside = append(m.aside, text)
	}
	return m, nil
}

// latest is the last time, ms, that a sorted set can tell from the one after it.
const latest = 1 << 53
