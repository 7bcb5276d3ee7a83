package handover

import (
	"sync"
	"time"
)

const (
	// perOther is how long a releaser stands back for each other process that
	// is expected and has not had its turn: about the time to be woken and to try.
	perOther = 300 * time.Microsecond
	// mostPause bounds the pause: the count is an upper one, since dead
	// subscribers count, and on a cluster a plain PUBLISH sees one node only.
	mostPause = 3 * time.Millisecond
	// bought is how many times its length a pause in which nobody came goes
	// without another one: at most a tenth of the time is given away in vain,
	// and a newcomer waits for ten pauses at most.
	bought = 9
	// lately is the weight of the last release in the mean of those who came.
	lately = 0.25
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
// were heard. Most who listen need not want the lock: so it waits for one more
// than came lately, and after a pause for nobody it goes without for a while.
// Its zero value is ready, and small: most names never meet another process.
type Courtesy struct {
	mu     sync.Mutex
	opened uint64 // how often Listens was said
	known  *known // of others; nil: nothing
}

// known is what a name remembers of other processes. Its zero value is as good
// as none.
type known struct {
	others int       // listeners of our last release, without ourselves
	seen   int       // releases of others since then
	met    bool      // another was seen to hold it since then
	paused bool      // we have stood back since then
	began  time.Time // the last time that we did
	mark   int       // seen at that moment
	came   float64   // the moving mean of how many came between two releases of ours
	heard  uint64    // all messages
	own    time.Time // until then the next message is taken for ours
	maybe  bool      // ours may have come already, when nobody listened
	free   time.Time // until then no pause is due: one was for nobody
	until  time.Time // until then our last release counts
}

// learned returns what is known, from now on. It is called under the mutex.
func (c *Courtesy) learned() *known {
	if c.known == nil {
		c.known = new(known)
	}
	return c.known
}

// Mark is a moment, as far as a Courtesy is concerned.
type Mark struct {
	heard  uint64 // messages so far
	opened uint64 // times that Listens was said
}

// Mark returns this moment, to be given to Released.
func (c *Courtesy) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark{c.heard(), c.opened}
}

// heard returns how many messages have come so far. It is called under the mutex.
func (c *Courtesy) heard() uint64 {
	if c.known == nil {
		return 0
	}
	return c.known.heard
}

// HeardSince reports whether a message has come since then.
func (c *Courtesy) HeardSince(then Mark) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard() != then.heard
}

// Released takes the answer to our release: its message reached so many, and
// whether we are one of them. before is the Mark from before it was sent.
func (c *Courtesy) Released(reached int, subscribed bool, before Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reached > 0 || c.known != nil {
		c.learned().released(reached, subscribed, before.heard, before.opened != c.opened)
	}
}

// released takes the answer. Opened says that somebody has begun to listen since the release was sent: its message may
// have come before that, when nobody listened.
func (k *known) released(reached int, subscribed bool, before uint64, opened bool) {
	k.learn()
	k.others, k.seen, k.met, k.paused, k.own = reached, 0, false, false, time.Time{}
	if reached == 0 {
		return
	}
	k.until = time.Now().Add(forgotten)
	if !subscribed {
		return
	}
	k.others--
	if k.heard == before { // our own message usually comes after the reply
		k.own, k.maybe = time.Now().Add(ownAfter), opened
	}
}

// learn ends the time since our last release. One in which nobody came, and
// nobody was waited for, says nothing: they had no chance to.
func (k *known) learn() {
	came := k.seen
	if k.met {
		came = max(came, 1)
	}
	if came > 0 || k.paused {
		k.came += (float64(came) - k.came) * lately
	}
}

// Message takes one release message. It reports whether it is another's: our
// own tells us nothing.
func (c *Courtesy) Message() (others bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.learned()
	k.heard++
	if !k.own.IsZero() {
		late := time.Now().After(k.own)
		k.own = time.Time{}
		if !late {
			return k.maybe // which costs a try, and counts as nobody
		}
	}
	k.seen++
	k.free = time.Time{}
	return true
}

// Refused says that another holds the lock: somebody does come.
func (c *Courtesy) Refused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.learned()
	k.met, k.free = true, time.Time{}
}

// Listens says that somebody is about to listen, or has begun to. A message of ours that is
// on its way may have come before that.
func (c *Courtesy) Listens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	if c.known != nil {
		c.known.maybe = true
	}
}

// Reset forgets that a message of ours is on its way: the connection that it
// would have come on is gone.
func (c *Courtesy) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known != nil {
		c.known.own = time.Time{}
	}
}

// Pause returns how long to stand back before the next try. Whoever has done so says
// it with Paused; one goroutine at a time stands back.
func (c *Courtesy) Pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return 0
	}
	return c.known.pause(time.Now())
}

func (k *known) pause(now time.Time) time.Duration {
	if k.others <= k.seen || now.After(k.until) || now.Before(k.free) {
		return 0
	}
	missing := min(float64(k.others), k.came+1) - float64(k.seen)
	pause := min(time.Duration(missing*float64(perOther)), mostPause)
	if pause <= 0 {
		return 0
	}
	k.paused, k.began, k.mark = true, now, k.seen
	return pause
}

// Paused says that the last Pause is over. It counts for as long as it took,
// since timers are late; in vain only until somebody is met or heard.
func (c *Courtesy) Paused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.learned()
	if now := time.Now(); k.seen == k.mark {
		k.free = now.Add(bought * now.Sub(k.began))
	}
}

// Idle reports whether nothing would be lost by forgetting c: nobody listened to
// our last release, or it was long ago.
func (c *Courtesy) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known == nil || c.known.others == 0 || time.Now().After(c.known.until)
}
