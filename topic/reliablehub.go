package topic

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/due"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	publishScript = scripts.Must(lua, "lua/publish.lua")
	joinScript    = scripts.Must(lua, "lua/join.lua")
	leaveScript   = scripts.Must(lua, "lua/leave.lua")
	settleScript  = scripts.Must(lua, "lua/settle.lua")
	keepScript    = scripts.Must(lua, "lua/keep.lua")
	missedScript  = scripts.Must(lua, "lua/missed.lua")
	claimScript   = scripts.Must(lua, "lua/claim.lua")
	holdScript    = scripts.Must(lua, "lua/hold.lua")
	releaseScript = scripts.Must(lua, "lua/release.lua")
	forgoScript   = scripts.Must(lua, "lua/forgo.lua")

	replayScript   = scripts.Must(lua, "lua/replay.lua")
	redriveScript  = scripts.Must(lua, "lua/redrive.lua")
	redrivenScript = scripts.Must(lua, "lua/redriven.lua")

	groups = scripts.NewCommand("XINFO GROUPS", scripts.Reads)
	hdel   = scripts.NewCommand("HDEL", scripts.Safe)
	unlink = scripts.NewCommand("UNLINK", scripts.Unsafe)
)

const (
	// keptFor is how long a group outlives its subscriber, and keepEvery how often
	// that says that it lives: both as Redisson's.
	keptFor   = 10 * time.Minute
	keepEvery = 200 * time.Second
	// keepAgain is when it says so again that the server did not take.
	keepAgain = 10 * time.Second
	// never is Redisson's score of what has no end.
	never = "92233720368547758"
	// consumer is the only one of each group, as Redisson's.
	consumer = "consumer"

	// flights is how many publishes on one topic may be under way. The flights after them are
	// those of feeds that join or leave, of feeds that leave because the client closes, and of
	// requests that ask for missed messages, or count them.
	flights   = 4
	joining   = flights
	departing = flights + 1
	missing   = flights + 2

	// mostAppends and mostAppended bound how long one publish keeps the server.
	mostAppends  = 100
	mostAppended = 1 << 20
)

// stream is a reliable topic as the server sees it.
type stream struct {
	key     string
	timeout string // zset of the groups, by when they end
	missed  string // hash of the durable groups that have missed messages
	holders string // hash of how many groups have use for the first message
	lane    string // what the lanes of this client begin with
}

// again returns the stream of what a durable group has redriven.
func (s *stream) again(group string) string { return keys.TopicAgain(s.key, group) }

// appending is a message to be published.
type appending struct {
	of   *stream
	most int64 // messages that stay; 0: all that somebody has use for
	full bool  // beyond that it is refused, where somebody has use for all
	text string
}

// membership is a feed that joins its group, or may leave it.
type membership struct {
	f    *feed
	ear  *ear // that is to hear; nil: of a feed that leaves, or joins again
	join bool
	drop bool // delete the group, even if it has subscribers
}

// outcome is what became of it: 1 if the group was made, or was there.
type outcome struct {
	n   int64
	err error
}

// member makes a feed join, or leave, after those that already do.
func (h *reliables) member(a membership) (int64, error) {
	got, err := h.members.Do(context.Background(), a.f.of.key, a)
	if err == nil {
		err = got.err
	}
	return got.n, err
}

type (
	appendCall = combine.Call[appending, int64]
	memberCall = combine.Call[membership, outcome]
)

// reliables is what the reliable topics of one client have in common.
type reliables struct {
	e        *locking.Engine
	requests *send.Requests
	group    string // of all subscribers of this client that have no name
	appends  *combine.Table[string, appending, int64]
	members  *combine.Table[string, membership, outcome]
	sent     func(calls int) // is told of each exchange of members; nil: nobody wants to hear of it

	asking places.Places[string, *turn] // by topic, for what was missed: it is one flight of the topic's lane

	mu      sync.Mutex
	feeds   map[feedKey]*feed
	made    int                // feeds
	reading map[string][]*feed // that are read, by the keys of their streams
	read    int                // feeds that are read
	servers map[string]*server // by node
	closed  bool

	visits  *due.Workers[*feed]
	cursors *poller.Streams // of servers that announce no changes
	poller  *poller.Poller
}

// turn lets one caller at a time ask about one topic.
type turn struct {
	places.Entry
	sync.Mutex
}

// turn waits for the turn to ask what was missed of a topic. The caller calls over afterwards.
func (h *reliables) turn(topic string) (over func()) {
	t := h.asking.Get(topic)
	t.Lock()
	return func() {
		t.Unlock()
		h.asking.Put(topic, t)
	}
}

type reliablesKey struct{}

func reliablesOf(e *locking.Engine) *reliables {
	return e.Shared(reliablesKey{}, func() any { return newReliables(e) }).(*reliables)
}

func newReliables(e *locking.Engine) *reliables {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	h := &reliables{
		e: e, requests: send.NewRequests(e.Sender), group: hex.EncodeToString(id),
		feeds: map[feedKey]*feed{}, reading: map[string][]*feed{}, servers: map[string]*server{},
		cursors: poller.NewStreams(),
	}
	h.asking.Make = func(string) *turn { return new(turn) }
	h.asking.Idle = func(*turn) bool { return true }
	h.visits = due.NewWorkers(atOnce, e.Spawn, func() bool { return e.Open() == nil }, (*feed).visit)
	h.poller = e.NewPoller(func(*poller.Kind, string, []poller.Item) {}) // it takes nothing
	h.appends = combine.New(combine.Config[string, appending, int64]{
		Send: h.sendAppends, Cut: cutAppends, Sent: e.Sent("reliable topic"), Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	h.sent = e.Sent("reliable topic")
	h.members = combine.New(combine.Config[string, membership, outcome]{
		Send: h.sendMembers, Spawn: e.Spawn, Closed: ErrClosed, // each feed has its own exchange, and tells of it
	})
	if e.Clock != nil {
		e.Clock.Moved(h.hurry)
	}
	e.WhenClosing(func() { e.Spawn(h.endAll) })
	return h
}

// hurry has all groups kept whose time the clock has perhaps passed.
func (h *reliables) hurry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		f.mu.Lock()
		f.tended = time.Time{}
		f.mu.Unlock()
	}
	for _, some := range h.reading {
		for _, f := range some {
			f.post()
		}
	}
}

// cutAppends returns how many messages go out as one call: all have the same bound.
func cutAppends(waiting []*appendCall) int {
	size := 0
	for i, c := range waiting {
		size += len(c.Ask.text)
		if i > 0 && (i == mostAppends || size > mostAppended || c.Ask.most != waiting[0].Ask.most || c.Ask.full != waiting[0].Ask.full) {
			return i
		}
	}
	return len(waiting)
}

// refusedFull is the answer to a message for which there was no room.
const refusedFull = -1

// sendAppends appends the messages of several callers, in the order of their calls.
func (h *reliables) sendAppends(_ string, flight int, batch []*appendCall) error {
	of, most := batch[0].Ask.of, batch[0].Ask.most
	args := []string{strconv.FormatInt(most, 10), "0"}
	if batch[0].Ask.full {
		args[1] = "1"
	}
	for _, c := range batch {
		args = append(args, c.Ask.text)
	}
	said, err := h.e.RunNumbered(of.lane, flight, publishScript, of.key, []string{of.missed, of.timeout}, args...)
	if err == nil && len(said) != 2 {
		err = fmt.Errorf("%w: the script said %v", ErrOutcomeUnknown, said)
	}
	if err != nil {
		return err
	}
	for i, c := range batch {
		if c.Answer = said[0]; int64(i) >= said[1] {
			c.Answer = refusedFull
		}
	}
	return nil
}

// numbered has a script run once, under a lane: a run whose outcome is unknown never runs
// later.
func (h *reliables) numbered(of *stream, flight int, s *scripts.Script, more []string, args ...string) (int64, error) {
	return send.Only(h.e.RunNumbered(of.lane, flight, s, of.key, more, args...))
}

// acknowledged tells the server what this process has handled of a group that is to be taken away: without a group the
// server would keep it for the next subscriber.
func (h *reliables) acknowledged(of *feed) error {
	h.mu.Lock()
	f := h.feeds[feedKey{of.of.key, of.group}]
	h.mu.Unlock()
	if f == nil {
		return nil
	}
	f.mu.Lock()
	acks := slices.Clone(f.acks)
	f.mu.Unlock()
	_, err := f.acknowledge(acks)
	return err
}

// sendMembers makes feeds of one topic join and leave their groups, one after the
// other. Joins that share an exchange share its error.
func (h *reliables) sendMembers(_ string, _ int, batch []*memberCall) error {
	calls, refused := make([]int, len(batch)), map[*feed]error{}
	if h.sent != nil {
		joins(batch, calls)
	}
	for i, c := range batch {
		n, err := int64(0), error(nil)
		a := c.Ask
		if !a.shares() {
			delete(refused, a.f)
		}
		switch {
		case refused[a.f] != nil:
			err = refused[a.f]
		case a.join:
			if n, err = a.f.join(a.ear, calls[i]); err != nil {
				refused[a.f] = err
			}
		case a.drop:
			if err = h.acknowledged(a.f); !send.Transient(err) {
				n, err = a.f.destroy(joining)
			}
		default:
			err = a.f.leave(joining)
		}
		c.Answer = outcome{n, err}
	}
	return nil
}

// shares reports whether the exchange of a join before it is for this one, too.
func (a *membership) shares() bool { return a.join && a.ear != nil }

// joins counts for each call that joins how many calls its exchange is for: the ones of the same feed after it, up to one that has an exchange
// of its own.
func joins(batch []*memberCall, calls []int) {
	after := map[*feed]int{}
	for i := len(batch) - 1; i >= 0; i-- {
		a := &batch[i].Ask
		if a.join {
			calls[i] = after[a.f] + 1
		}
		if after[a.f] = 0; a.shares() {
			after[a.f] = calls[i]
		}
	}
}

// numbered sends a script by which a feed joins or leaves its group, for so many calls.
func (f *feed) numbered(calls, flight int, s *scripts.Script, more []string, args ...string) (int64, error) {
	if f.h.sent != nil {
		f.h.sent(calls)
	}
	return f.h.numbered(&f.of, flight, s, more, args...)
}
