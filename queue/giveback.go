package queue

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

var (
	streamReturn = scripts.Must(lua, "lua/stream_return.lua")
	// askOnce is xpending for somebody who is leaving, and waits for one send only.
	askOnce = scripts.NewCommand("XPENDING", scripts.Unsafe)
)

// mostReturned bounds the entries of one call of the script.
const mostReturned = 200

// giveBack lets others have what was read and not yielded, at once, as if it had not
// been delivered. Each call is sent once, and the first that is not answered is the
// last: they have it later if it does not get through.
func (c *consumption) giveBack() {
	left := c.batch
	c.batch, c.claimed = nil, time.Time{}
	if len(left) == 0 || time.Since(c.read) > c.cfg.idle*9/10 {
		return // others may have it already
	}
	c.h.e.During(func() {
		for some := range slices.Chunk(c.mine(left), 2*mostReturned) {
			args := append([]string{c.post.group, c.consumer, decimal(engine.Millis(c.cfg.idle))}, some...)
			if _, err := c.h.e.Run(context.Background(), streamReturn, []string{c.post.key}, args); err != nil {
				return
			}
		}
	})
}

// mine is the IDs of entries that have not been delivered again since they were
// read, each with how often they were. A copy of what gives them back that comes
// late finds another number.
func (c *consumption) mine(left []rueidis.XRangeSlice) (counted []string) {
	since := time.Since(c.came)
	pending, err := pendings(c.h.e.Run(context.Background(), askOnce, []string{c.post.key},
		[]string{c.post.group, left[0].ID, left[len(left)-1].ID, decimal(mostInOne), c.consumer}))
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
