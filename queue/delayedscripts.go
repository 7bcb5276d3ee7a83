package queue

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
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
	// mostWalked bounds the elements of Redisson's list that the server walks over for
	// that: about 14 ns each, and twice that where it looks for them first.
	mostWalked = 50_000
	// mostAside is how many stay of what was found among elements and is none.
	mostAside = 1000
	// overdue is how late, ms, the first element is when nobody seems to move it.
	overdue = 1000
)

// delays is a delayed queue as the server sees it, in both formats. Who moves looks at
// both, so that nothing is left of what the other kind of handle, or Java, has offered.
type delays struct {
	key    string // of the queue that elements are moved to
	lane   string // what the lanes of this client begin with
	shared bool   // this handle offers in Redisson's format

	list, times, aside, channel string // Redisson's
	dues, elements, index, news string // our own
}

func newDelays(e *locking.Engine, key string) delays {
	return delays{
		key: key, lane: keys.Lane(key, e.ClientID),
		list: keys.DelayList(key), times: keys.DelayTimes(key), aside: keys.DelayAside(key), channel: keys.DelayChannel(key),
		dues: keys.DelayDues(key), elements: keys.DelayElements(key), index: keys.DelayIndex(key), news: keys.DelayNews(key),
	}
}

// object returns all keys, that of the queue first.
func (d *delays) object() []string {
	return []string{d.key, d.list, d.times, d.aside, d.dues, d.elements, d.index}
}

// waits returns the keys of what waits, of the format of the handle.
func (d *delays) waits() []string {
	if d.shared {
		return []string{d.list, d.times, d.aside}
	}
	return []string{d.dues, d.elements, d.index}
}

// postponed is an element to be offered: packed as Redisson does, or separate from its id.
type postponed struct {
	of       *delays
	due      int64 // ms
	id, text string
}

type postponedCall = combine.Call[postponed, int64]

// cutPostponed returns how many elements go out as one call.
func cutPostponed(waiting []*postponedCall) int {
	return portion(len(waiting), mostOffers, mostOffered, func(i int) int { return len(waiting[i].Ask.id) + len(waiting[i].Ask.text) })
}

// sendPostponed offers the elements of several callers, in the order of their
// calls. It does so under a lane: what nobody knows of whether it ran never runs
// later.
func (h *hub) sendPostponed(_ string, flight int, batch []*postponedCall) error {
	of, first := batch[0].Ask.of, batch[0].Ask.due
	script, channel, on := delayedOwnOffer, of.news, []string{of.dues, "", of.elements, of.index}
	if of.shared {
		// Both formats have flights of their own, since these share the lanes of the client.
		script, channel, on, flight = delayedOffer, of.channel, []string{of.times, "", of.list}, flight+flights
	}
	args := []string{decimal(h.e.Wall() - overdue)}
	for _, c := range batch {
		first = min(first, c.Ask.due)
		args = append(args, decimal(c.Ask.due), c.Ask.id)
		if !of.shared {
			args = append(args, c.Ask.text)
		}
	}
	size, err := send.Only(h.e.Numbered(of.lane, flight, of.key, func(r send.Request) ([]int64, error) {
		on[1] = r.Lane
		got, err := h.e.Run(context.Background(), script, on, append([]string{r.Number, send.MemoryMillis, channel}, args...))
		if err == nil {
			return got.AsIntSlice()
		}
		if errors.Is(err, ErrOutcomeUnknown) {
			h.e.Void(r, of.key)
		}
		return nil, err
	}))
	if err == nil || send.MayHaveRun(err) {
		h.movers.offered(of, first) // after the write: a look before it would forget
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
	gone     int64 // so many had no element any more
	aside    []string
}

// never is when nothing is due.
const never = 1<<63 - 1

// move moves some of what is due at now, ms, of both formats.
func (h *hub) move(ctx context.Context, of *delays, now int64) (m moved, err error) {
	got, err := h.e.Run(ctx, delayedMove, []string{of.key, of.times, of.list, of.aside, of.dues, of.elements, of.index},
		[]string{decimal(now), strconv.Itoa(mostMoved), strconv.Itoa(mostAside), strconv.Itoa(mostWalked)})
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
	if m.gone, err = parts[3].AsInt64(); err != nil {
		return m, err
	}
	for _, p := range parts[4:] {
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

// Elements of a delayed queue are packed as Redisson does it: the length of what
// makes one unique, that, the length of the element in 8 bytes, the lowest first,
// and the element.

const (
	uniqueBytes = 8
	sizeBytes   = 8
)

// pack returns an element packed, which is no other's.
func pack(text string) string {
	b := make([]byte, 1+uniqueBytes, 1+uniqueBytes+sizeBytes+len(text))
	b[0] = uniqueBytes
	_, _ = rand.Read(b[1:]) // it never fails
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	return string(append(b, text...))
}

// unpack returns the element in a packed one.
func unpack(packed string) (string, error) {
	if packed == "" {
		return "", errors.New("no packed element: empty")
	}
	start := 1 + int(packed[0]) + sizeBytes
	if len(packed) < start {
		return "", fmt.Errorf("no packed element: %d bytes", len(packed))
	}
	size := binary.LittleEndian.Uint64([]byte(packed[start-sizeBytes : start]))
	if size != uint64(len(packed)-start) {
		return "", fmt.Errorf("no packed element: it says that %d bytes come, and there are %d", size, len(packed)-start)
	}
	return packed[start:], nil
}
