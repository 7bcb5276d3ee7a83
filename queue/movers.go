package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/due"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// lookAgain is how often a queue is looked at where nothing is known to be due:
	// what is known may be wrong, since a message can be lost and a clock be set.
	lookAgain = 5 * time.Second

	// perName stretches that for the queues that a client only offered to, so that
	// a client of very many does not look at them all the time.
	perName = 5 * time.Millisecond

	// gather is the least time between two moves of a queue, unless more is due
	// than goes at once: what is due meanwhile goes together.
	gather = 5 // ms

	// mostIdle is how many queues that a client has offered to it looks after while
	// nothing waits there, and mostHeard for how many of those it listens.
	mostIdle  = 100
	mostHeard = 10_000

	// movingAtOnce is how many queues of a node are moved at the same time,
	// failingAtOnce how many of those with which it went wrong the last time, and
	// hearingAtOnce for how many it is tried to listen.
	movingAtOnce  = 8
	failingAtOnce = 2
	hearingAtOnce = 8

	firstBackoff = 50 * time.Millisecond
	mostBackoff  = time.Second

	// hearingIn bounds a subscription.
	hearingIn = 5 * time.Second
)

// movers sees to it that what is due is moved, in the delayed queues that this
// client has offered to, and those that somebody here takes from or keeps.
type movers struct {
	h       *hub
	healthy *due.Workers[*mover]
	failing *due.Workers[*mover]
	ears    *due.Workers[*mover]

	mu    sync.Mutex
	names map[string]*mover // by the key of the queue
	idle  int               // so many of them are
}

// mover is one queue. Its fields are guarded by the mutex of the movers.
type mover struct {
	of      delays
	at      int64 // when it is to be looked at, ms; never
	rested  int64 // not before that, ms
	away    bool  // it waits for a worker, or is with one
	gone    bool  // it is none of the names any more
	offered bool  // to, by this client
	idle    bool  // nothing waits there, and it is looked after for having been offered to
	holders map[*func(error)]struct{}
	ears    [2]*pubsub.Subscription // to what tells of either format
	hearing bool                    // it is tried to have one
	times   int                     // tries in a row that moved nothing, for an error
	refused time.Time               // since when the server refuses, told in the log
}

func newMovers(h *hub) *movers {
	m := &movers{h: h, names: map[string]*mover{}}
	open := func() bool { return h.e.Open() == nil }
	m.healthy = due.NewWorkers(movingAtOnce, h.e.Spawn, open, m.work)
	m.failing = due.NewWorkers(failingAtOnce, h.e.Spawn, open, m.work)
	m.ears = due.NewWorkers(hearingAtOnce, h.e.Spawn, open, m.hear)
	if h.e.Clock != nil {
		h.e.Clock.Moved(m.hurry)
	}
	return m
}

// offered says that something was offered that is due at that time, ms.
func (m *movers) offered(of *delays, at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.mover(of)
	v.offered = true
	m.expect(v, at)
}

// hold has a queue moved until release is called. Failed is told if that will not
// come about.
func (m *movers) hold(of *delays, failed func(error)) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.mover(of)
	v.holders[&failed] = struct{}{}
	m.expect(v, m.h.e.Wall()+lookAgain.Milliseconds())
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(v.holders, &failed) // whether it stays is seen at the next look
	}
}

// mover returns that of a queue. One that is new is looked at at once.
func (m *movers) mover(of *delays) *mover {
	v := m.names[of.key]
	if v == nil {
		v = &mover{of: *of, at: never, holders: map[*func(error)]struct{}{}}
		m.names[of.key] = v
		m.expect(v, m.h.e.Wall())
	}
	return v
}

// Len returns how many queues there are.
func (m *movers) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.names)
}

func (m *movers) expect(v *mover, at int64) {
	if at = max(at, v.rested); at < v.at {
		v.at = at
		m.schedule(v)
	}
}

// schedule has v looked at when it is time; one that is being moved is when that
// is over.
func (m *movers) schedule(v *mover) {
	if !v.away {
		left := time.Duration(v.at-m.h.e.Wall()) * time.Millisecond
		m.h.e.Due(core.Key{Kind: "delayed queue", Name: v.of.key}, max(left, 0), func() time.Duration {
			m.send(v)
			return -1
		})
	}
}

// hurry looks at all at once.
func (m *movers) hurry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.names {
		v.rested = 0
		m.expect(v, min(v.at-1, m.h.e.Wall()))
	}
}

// send gives v to a worker.
func (m *movers) send(v *mover) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.gone || v.away {
		return
	}
	v.away = true
	to := m.healthy
	if v.times > 0 {
		to = m.failing
	}
	to.Give(m.h.e.Node(v.of.key), v)
}

func (m *movers) work(v *mover) {
	m.mu.Lock()
	v.at = never // what is heard from now on counts
	m.mu.Unlock()
	got, err := m.h.move(context.Background(), &v.of, m.h.e.Wall())
	m.h.tellOf(&v.of, got)
	m.back(v, got, err)
}

// tellOf has the log hear of what was set aside, and of what is gone.
func (h *hub) tellOf(of *delays, got moved) {
	if len(got.aside) > 0 {
		h.e.Logger.Warn("there was what is no packed element in a delayed queue, and was set aside",
			"name", of.key, "key", of.aside, "elements", len(got.aside))
	}
	if got.gone > 0 {
		h.e.Logger.Error("elements of a delayed queue were due and are gone: somebody has removed them, or the server has evicted the key",
			"name", of.key, "key", of.elements, "elements", got.gone)
	}
}

// hear subscribes to the notifications of elements that are due earlier, and looks for what
// was published before. If the subscription fails, it is tried again after the next look.
func (m *movers) hear(v *mover) {
	ctx, cancel := context.WithTimeout(context.Background(), hearingIn)
	defer cancel()
	ears := v.ears // which nobody else sets
	for i, name := range []string{v.of.news, v.of.channel} {
		if ears[i] != nil {
			continue
		}
		var err error
		channel := pubsub.Channel{Kind: pubsub.Plain, Name: name}
		if ears[i], err = m.h.e.SubscribeTo(ctx, channel, func(ev pubsub.Event) { m.heard(v, ev) }); err != nil {
			ears[i] = nil
			m.h.e.Logger.Debug("listening to a delayed queue", "name", v.of.key, "channel", name, "err", err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := ears != v.ears
	v.hearing, v.ears = false, ears
	switch {
	case v.gone:
		v.hush()
	case fresh:
		m.expect(v, m.h.e.Wall())
	}
}

// hush listens no more.
func (v *mover) hush() {
	for i, ear := range v.ears {
		if ear != nil {
			ear.Close()
			v.ears[i] = nil
		}
	}
}

// heard notes when the first element of a queue is due, which only ever brings
// a look forward.
func (m *movers) heard(v *mover, ev pubsub.Event) {
	at := m.h.e.Wall()
	if ev.Kind == pubsub.Message {
		var err error
		if at, err = strconv.ParseInt(ev.Payload, 10, 64); err != nil {
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !v.gone {
		m.expect(v, max(at, 0))
	}
}

// back puts v where it is to be looked at next, or takes it out if nobody needs
// it.
func (m *movers) back(v *mover, got moved, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.h.e.Wall()
	v.away, v.rested = false, now+gather
	if err != nil {
		m.fail(v, now, err)
	} else {
		v.refused, v.times = time.Time{}, 0
		m.idles(v, !got.more && got.next == never)
		period := lookAgain // how long a queue is left alone while nothing is known of it
		if len(v.holders) == 0 {
			period = max(period, time.Duration(len(m.names))*perName)
		}
		next := min(got.next, now+(period-rand.N(period/10)).Milliseconds())
		if got.more {
			next, v.rested = now, 0
		}
		v.at = min(v.at, max(next, v.rested))
	}
	if v.gone {
		return
	}
	if len(v.holders) == 0 && !v.offered {
		m.leave(v)
		return
	}
	// It is heard of by workers of its own: that and a move must not wait for each other.
	if (v.ears[0] == nil || v.ears[1] == nil) && !v.hearing && (len(v.holders) > 0 || len(m.names) <= mostHeard) {
		v.hearing = true
		m.ears.Give(m.h.e.Node(v.of.channel), v)
	}
	m.schedule(v)
}

// idles notes whether anything waits in a queue. One where nothing does, and that
// nobody takes from, is not looked after for ever where there are many such.
func (m *movers) idles(v *mover, empty bool) {
	is := empty && v.offered && len(v.holders) == 0 && v.at == never
	switch {
	case is && !v.idle && m.idle < mostIdle:
		v.idle = true
		m.idle++
	case is && !v.idle:
		v.offered = false
	case !is && v.idle:
		v.idle = false
		m.idle--
	}
}

// fail puts a queue off that could not be moved. What the server refuses is logged at
// once. The holders are told of it at once if a key is of another type, and else when
// it has lasted for a watchdog timeout. A server that does not answer is borne, and so
// is a slot that moves.
func (m *movers) fail(v *mover, now int64, err error) {
	m.h.e.Logger.Debug("moving what is due", "name", v.of.key, "err", err)
	v.times++
	d := min(firstBackoff<<min(v.times, 10), mostBackoff)
	v.at = now + (d - rand.N(d/4)).Milliseconds()
	var answer *rueidis.RedisError
	if !errors.As(err, &answer) || send.Moving(err) {
		return
	}
	if v.refused.IsZero() {
		v.refused = time.Now()
		m.h.e.Logger.Warn("what is due in a delayed queue is not moved", "name", v.of.key, "err", err)
	}
	wrong := send.WrongType(err)
	if !wrong && time.Since(v.refused) < m.h.e.WatchdogTimeout {
		return
	}
	for failed := range v.holders {
		(*failed)(err)
	}
	v.offered = v.offered && !wrong
}

func (m *movers) leave(v *mover) {
	if v.idle {
		m.idle--
	}
	v.gone = true
	delete(m.names, v.of.key)
	if !v.hearing { // else that does, when it sees that nobody needs it
		v.hush()
	}
}
