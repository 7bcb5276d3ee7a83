package stream

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// mostReturned bounds the entries of one call of the script.
const mostReturned = 200

// giveBack lets others have what was read and not yielded, at once, as if it had not
// been delivered. Each call is sent once, and the first that is not answered is the
// last: they have it later if it does not get through. Its callers run on goroutines that Close waits for.
func (c *consumption) giveBack() {
	left := c.batch
	c.batch, c.claimed = nil, time.Time{}
	for _, it := range left {
		delete(c.counts, it.ID)
	}
	if len(left) == 0 || time.Since(c.read) > c.cfg.idle*9/10 {
		return // others may have it already
	}
	for some := range slices.Chunk(c.mine(left), 2*mostReturned) {
		args := append([]string{c.post.group, c.consumer, decimal(core.Millis(c.cfg.idle)), c.returned().Name, c.h.e.Publish()}, some...)
		if _, err := c.h.e.Run(context.Background(), returnScript, []string{c.post.key}, args); err != nil {
			return
		}
	}
}

// returned returns the channel on which groups of the stream tell of what was given back.
func (c *consumption) returned() pubsub.Channel {
	channel := pubsub.Channel{Kind: pubsub.Plain, Name: keys.StreamReturned(c.post.key)}
	if c.h.e.Publish() == "spublish" {
		channel.Kind = pubsub.Sharded
	}
	return channel
}

// listen hears of what others of the group give back, and reports whether it has only begun to. What cannot be heard of
// now is tried again at the next wait; until then it is found in half of the idle time.
func (c *consumption) listen(ctx context.Context) (begun bool) {
	if c.ear != nil {
		return false
	}
	ear, err := c.h.e.SubscribeTo(ctx, c.returned(), func(ev pubsub.Event) {
		if ev.Kind == pubsub.Message && ev.Payload != c.post.group {
			return
		}
		c.back.Store(true)
		c.h.poller.Tell(c.h.tips.Kind, c.post.key)
	})
	if err != nil {
		c.h.e.Logger.Debug("listening to what is given back", "name", c.post.key, "err", err)
		return false
	}
	c.ear = ear
	return true
}

// longestLeave is how long a loop that is over waits for what it has not yielded to be given back. That goes on by itself then.
const longestLeave = 250 * time.Millisecond

// leave ends what the loop has, see end.
func (c *consumption) leave() {
	switch {
	case c.away:
		return
	case len(c.batch) == 0:
		c.end()
		return
	}
	done := make(chan struct{})
	if !c.h.e.Spawn(func() { defer close(done); c.end() }) {
		c.batch = nil // the client is closed
		c.end()
		return
	}
	timer := time.NewTimer(longestLeave)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// end gives back what was not yielded, and listens no more.
func (c *consumption) end() {
	if c.ear != nil {
		c.ear.Close()
	}
	c.giveBack()
}

// mine returns the IDs of entries that have not been delivered again since they were
// read, each with how often they were. A copy of what gives them back that comes
// late finds another number.
func (c *consumption) mine(left []rueidis.XRangeSlice) (counted []string) {
	since := time.Since(c.came)
	pending, err := pendings(c.h.e.Run(context.Background(), askOnce, []string{c.post.key},
		[]string{c.post.group, left[0].ID, left[len(left)-1].ID, decimal(paging.Most), c.consumer}))
	if err != nil {
		return nil
	}
	unseen := make(map[string]bool, len(left))
	for _, it := range left {
		unseen[it.ID] = true
	}
	for _, p := range pending {
		if unseen[p.ID] && p.Idle > since-2*time.Millisecond { // in which the server does not count parts
			counted = append(counted, p.ID, decimal(p.Deliveries))
		}
	}
	return counted
}
