package handover

import (
	"sync"
	"time"
)

const (
	// perOther is how long a releaser stands back for each other process that
	// listens and has not had its turn: about the time to be woken and to try.
	perOther = 300 * time.Microsecond
	// mostPause bounds the pause: the count is an upper one, since dead
	// subscribers count, and on a cluster a plain PUBLISH sees one node only.
	mostPause = 3 * time.Millisecond
	// ownAfter bounds how long our own message may take to come back; one that
	// comes later is taken for another's, which costs a try and nothing else.
	ownAfter = 50 * time.Millisecond
	// forgotten bounds how long a release is remembered: others that have not
	// come by then will not.
	forgotten = time.Second
)

// Courtesy lets processes take turns on a name. Whoever released would win its
// own lock again nearly always, since the others have to be woken first; so it
// counts who listened to its release, and stands back until their own releases
// were heard. Its zero value is ready.
type Courtesy struct {
	mu     sync.Mutex
	others int       // listeners of our last release, without ourselves
	seen   int       // releases of others since then
	heard  uint64    // all messages
	own    time.Time // until then the next message is taken for ours
	until  time.Time // until then our last release counts
}

// Heard is a mark to be given to Released: how many messages have come so far.
func (c *Courtesy) Heard() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// Released takes the answer to our release: its message reached so many, and
// whether we are one of them. before is Heard from before it was sent.
func (c *Courtesy) Released(reached int, subscribed bool, before uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others, c.seen, c.own = reached, 0, time.Time{}
	if reached == 0 {
		return
	}
	c.until = time.Now().Add(forgotten)
	if !subscribed {
		return
	}
	c.others--
	if c.heard == before { // our own message usually comes after the reply
		c.own = time.Now().Add(ownAfter)
	}
}

// Message takes one release message. It reports whether it is another's: our
// own tells us nothing.
func (c *Courtesy) Message() (others bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard++
	if !c.own.IsZero() {
		late := time.Now().After(c.own)
		c.own = time.Time{}
		if !late {
			return false
		}
	}
	c.seen++
	return true
}

// Reset forgets that a message of ours is on its way: the connection that it
// would have come on is gone.
func (c *Courtesy) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = time.Time{}
}

// Pause is how long to stand back before the next try.
func (c *Courtesy) Pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.others <= c.seen || time.Now().After(c.until) {
		return 0
	}
	return min(time.Duration(c.others-c.seen)*perOther, mostPause)
}

// Idle reports whether nothing would be lost by forgetting c.
func (c *Courtesy) Idle() bool { return c.Pause() == 0 }
