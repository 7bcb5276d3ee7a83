package pubsub

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxLosses is how many connections may end under a waiting Subscribe before it is told.
const maxLosses = 3

// connect opens the connection and has everything subscribed that is wanted.
func (n *node) connect() {
	f := &feed{node: n}
	n.hub.mu.Lock()
	n.feed = f
	n.hub.mu.Unlock()
	ctx, cancel := context.WithTimeout(n.hub.ctx, n.hub.opts.Timeout)
	defer cancel()
	conn, err := n.hub.src.Connect(ctx, n.line, f)
	if err != nil { // pending subscriptions fail; those that stood wait for the next attempt
		n.pause = n.redial.next()
		n.displace(err, func(*Subscription) bool { return true })
		return
	}
	n.conn, n.since, n.tainted = conn, time.Now(), false
	n.checkAt = n.since.Add(n.hub.opts.Check)
	n.vigilAt = n.since
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	delete(n.hub.trouble, n.line)
}

// lost gives the connection up. A Subscribe that was waiting may go on, since it is not known to be hopeless.
func (n *node) lost(err error) {
	conn := n.conn
	n.conn = nil
	n.hub.workers.Go(conn.Close) // takes a while if the server is silent; the new connection need not wait
	n.pause = 0
	if time.Since(n.since) < n.hub.opts.RetryMax {
		n.pause = n.redial.next()
	} else {
		n.redial.reset()
	}
	n.displace(err, func(s *Subscription) bool {
		s.tries++
		return s.tries >= maxLosses
	})
}

// displace takes back what the old connection stood for. Channels that nobody listens to are forgotten.
func (n *node) displace(err error, give func(*Subscription) bool) {
	n.hub.opts.Logger.Debug("subscriptions interrupted", "node", n.line.Node, "sharded", n.line.Sharded, "err", err, "pause", n.pause)
	n.displaced = true
	for _, r := range n.takeBack(err, give) {
		r.channel.tell(r.listeners, Event{Kind: Lost})
	}
}

// takeBack is displace without a word to the listeners, and returns whose subscriptions had stood.
func (n *node) takeBack(err error, give func(*Subscription) bool) (had []resumption) {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	n.feed = nil
	n.hub.trouble[n.line] = err
	n.retryAt = time.Time{}
	for _, s := range n.seats {
		if s.had && s.channel.seat == s {
			had = append(had, resumption{s.channel, s.channel.listeners})
		}
		s.had, s.delayed, s.dropped = false, false, false // that held for the connection that has ended
		s.busy, s.movedFrom = none, ""
		if s.channel.seat == s {
			s.channel.fail(err, give)
		}
		s.settle()
	}
	return had
}

// recover pauses, and then asks where the channels belong now: after a failover it is another node.
func (n *node) recover() {
	n.rest()
	n.displaced = false
	n.relocate(n.all)
}

// rest waits out the pause, as long as anybody wants anything.
func (n *node) rest() {
	n.timer.Reset(n.pause)
	for {
		select {
		case <-n.timer.C:
			return
		case <-n.hub.ctx.Done():
			return
		case <-n.wake:
			if len(n.all()) == 0 {
				return
			}
		}
	}
}

// backoff doubles from min to max. Half of each pause is jitter, so that the processes of a fleet, which all
// lost the same server at the same time, do not come back together.
type backoff struct {
	min, max, last time.Duration
}

func (b *backoff) next() time.Duration {
	b.last = min(max(b.min, 2*b.last), b.max)
	return b.last/2 + rand.N(b.last/2+1)
}

func (b *backoff) reset() { b.last = 0 }
