package pubsub

import (
	"container/list"
	"time"
)

// node is the worker of one line to a Redis node: it owns the connection and is the only one to use it.
type node struct {
	hub  *Hub
	line Line
	wake chan struct{} // one nudge is enough, however much has changed

	// Guarded by Hub.mu.
	seats   map[Channel]*seat
	queue   []*seat   // seats to look at
	idle    list.List // lingering channels, the first to expire in front
	alarm   time.Time // until when the worker sleeps, at most
	feed    *feed     // of the present connection; what an older one says is not heard
	retryAt time.Time // when the delayed seats are tried again; zero if there are none
	retry   backoff
	hurry   []*seat // where somebody waits for the next Alive

	// The worker's own.
	conn      Conn
	since     time.Time // when conn was opened
	redial    backoff
	pause     time.Duration // before the next connect
	displaced bool          // the channels have to be located again before the next connect
	tainted   bool          // conn kept a subscription against our will
	checkAt   time.Time
	vigilAt   time.Time // the next check for those with a vigil
	resumed   []resumption
	timer     *time.Timer
}

// resumption is a channel that stands again, or does not any more, and those who had it before.
type resumption struct {
	channel   *channel
	listeners []*Subscription
}

func newNode(h *Hub, line Line) *node {
	return &node{
		hub:    h,
		line:   line,
		wake:   make(chan struct{}, 1),
		seats:  make(map[Channel]*seat),
		redial: backoff{min: h.opts.RetryMin, max: h.opts.RetryMax},
		retry:  backoff{min: h.opts.RetryMin, max: h.opts.RetryMax},
		timer:  time.NewTimer(h.opts.Check),
	}
}

// run serves the node until nothing is wanted of it.
func (n *node) run() {
	defer n.timer.Stop()
	for !n.over() {
		switch {
		case n.conn == nil && n.displaced:
			n.recover()
		case n.conn == nil:
			n.connect()
		case n.retryDue():
			n.retryDelayed()
		case n.checkDue():
			n.check()
		case n.exchange():
		default:
			n.sleep()
		}
	}
	n.hangUp()
}

// over ends the worker if nothing is seated here. From then on a channel that comes gets another worker.
func (n *node) over() bool {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	if n.hub.closed {
		return true
	}
	if len(n.seats) > 0 {
		return false
	}
	n.feed = nil
	delete(n.hub.nodes, n.line)
	return true
}

func (n *node) hangUp() {
	switch {
	case n.conn == nil:
	case n.tainted || n.hub.ctx.Err() != nil:
		n.conn.Close()
	default:
		n.conn.Release()
	}
}

// sleep waits for something to do.
func (n *node) sleep() {
	n.timer.Reset(n.setAlarm())
	select {
	case <-n.wake:
	case <-n.timer.C:
	case err := <-n.conn.Done():
		n.lost(err)
	case <-n.hub.ctx.Done():
	}
}

// setAlarm finds the next thing that comes due by itself.
func (n *node) setAlarm() time.Duration {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	n.alarm = earlier(n.checkAt, n.vigilAt)
	if e := n.idle.Front(); e != nil {
		n.alarm = earlier(n.alarm, e.Value.(*channel).idleUntil)
	}
	if !n.retryAt.IsZero() {
		n.alarm = earlier(n.alarm, n.retryAt)
	}
	return time.Until(n.alarm)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// nudge wakes the worker, or keeps it from falling asleep.
func (n *node) nudge() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *node) enqueue(s *seat) {
	if !s.queued {
		s.queued = true
		n.queue = append(n.queue, s)
	}
	n.nudge()
}

// all returns the seats.
func (n *node) all() []*seat { return n.pick(func(*seat) bool { return true }) }

// pick returns the seats that are as asked.
func (n *node) pick(want func(*seat) bool) []*seat {
	n.hub.mu.RLock()
	defer n.hub.mu.RUnlock()
	var picked []*seat
	for _, s := range n.seats {
		if want(s) {
			picked = append(picked, s)
		}
	}
	return picked
}

// announce tells the listeners of the channels that stand again. It is called without Hub.mu.
func (n *node) announce() {
	for _, r := range n.resumed {
		r.channel.tell(r.listeners, Event{Kind: Resumed})
	}
	clear(n.resumed)
	n.resumed = n.resumed[:0]
}
