package turn

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"
)

// Claim is what a turn knows of which turn goes first at its value.
type Claim struct {
	token string        // names this turn
	lasts time.Duration // for how long it goes first if it fails; 0: not at all
	looks bool          // it only looks, and writes nothing

	others bool // another goes first, and nothing was done
}

// Token names the turn.
func (c *Claim) Token() string { return c.token }

// Looks reports whether the exchange only reads the value and claims it, whatever old and to are.
func (c *Claim) Looks() bool { return c != nil && c.looks }

// Millis returns for how long the claim lasts, as a script takes it; "0" for none.
func (c *Claim) Millis() string {
	if c == nil {
		return "0"
	}
	return strconv.FormatInt(c.lasts.Milliseconds(), 10)
}

// May takes the integer that the script has answered, and reports whether the change was done. 0 says that another turn
// goes first.
func (c *Claim) May(answer int64) bool {
	if c != nil {
		c.others = answer == 0
	}
	return answer == 1
}

const (
	// claimAfter and claimTries are how long, and how often, a turn loses before it claims.
	claimAfter = 3 * time.Millisecond
	claimTries = 3
	// claimLeast and claimMost bound how long a claim lasts, which is some round trips.
	claimLeast = 20 * time.Millisecond
	claimMost  = time.Second
	claimTrips = 4
	// claimSticks is for how long the next turns of a value claim at once that was claimed.
	claimSticks = 2 * time.Second
	// claimLook is how often a process that writes a value looks whether another claims it;
	// where one did, each change of the next claimSticks looks.
	claimLook = time.Millisecond
)

// Contest is what a process has seen of other processes that claim a value. Values share them.
type Contest struct {
	looked atomic.Int64 // when a change looked for a claim last, by Mono
	alert  atomic.Int64 // until when each does
	Sticks atomic.Int64 // until when turns claim at once
	trip   atomic.Int64 // how long the last exchange took
}

// Contests is how many contests the values of a client share.
const Contests = 256

// due reports whether the next change is to look for a claim.
func (c *Contest) due(now time.Duration) bool {
	if int64(now) < c.alert.Load() {
		return true
	}
	last := c.looked.Load()
	return (last == 0 || int64(now)-last > int64(claimLook)) && c.looked.CompareAndSwap(last, int64(now))
}

// names are those of the turns of a client that have claimed a value.
type names struct {
	born string
	last atomic.Int64
}

func (n *names) next() string { return n.born + strconv.FormatInt(n.last.Add(1), 10) }

// race is one turn's part in a contest.
type race[V any] struct {
	*Contest
	Claim
	t     *Turn[V]
	began time.Duration
	tries int
	held  bool // the claim may be this turn's
}

// own returns the claim of this turn, with its name, for the next exchange.
func (r *race[V]) own() *Claim {
	if r.token == "" {
		r.token = r.t.names.next()
	}
	r.others = false
	return &r.Claim
}

// timed notes how long an exchange takes.
func (r *race[V]) timed(exchange func() error) error {
	began := r.t.e.Mono()
	err := exchange()
	r.trip.Store(int64(r.t.e.Mono() - began))
	return err
}

// read returns the value. Where turns of this process have lost for long before, it claims.
// That look is sent once, and may be refused where a read is not: then the value is read
// without a claim.
func (r *race[V]) read(ctx context.Context) (old V, err error) {
	var none V
	until := r.began + claimMost
	for try := 0; int64(r.t.e.Mono()) < r.Sticks.Load() && r.t.e.Mono() < until; try++ {
		r.lasts, r.looks = r.length(), true
		err = r.timed(func() (err error) {
			old, _, err = r.t.at.Change(ctx, none, none, r.own())
			return err
		})
		r.looks = false
		if err != nil {
			break
		}
		if !r.others {
			r.held = true
			return old, nil
		}
		Pause(try + 1)
	}
	err = r.timed(func() (err error) {
		if err = r.t.e.Open(); err == nil {
			old, err = r.t.at.Read(ctx) // by itself: the flight of a turn is one of its own already
		}
		return err
	})
	return old, err
}

// change writes, and waits while another goes first.
func (r *race[V]) change(ctx context.Context, old, now V) (there V, done bool, err error) {
	for try := 0; ; try++ {
		var c *Claim
		if r.lasts > 0 || r.due(r.t.e.Mono()) {
			c = r.own()
		}
		err = r.timed(func() (err error) {
			there, done, err = r.t.at.Change(ctx, old, now, c)
			return err
		})
		if err != nil || c == nil || !r.others {
			r.held = err == nil && !done && r.lasts > 0
			return there, done, err
		}
		r.alert.Store(int64(r.t.e.Mono() + claimSticks))
		Pause(try + 1)
	}
}

// lost has the next try claim the value, if it was lost for long.
func (r *race[V]) lost() {
	r.tries++
	if r.lasts == 0 && r.tries >= claimTries && r.t.e.Mono()-r.began >= claimAfter {
		r.lasts = r.length()
	}
	if r.lasts > 0 {
		r.Sticks.Store(int64(r.t.e.Mono() + claimSticks))
	}
}

// length returns how long a claim lasts. It has to outlast the way back of the exchange that
// leaves it, and the way of the next, so it goes by what the exchanges before took.
func (r *race[V]) length() time.Duration {
	return min(max(claimTrips*time.Duration(r.trip.Load()), claimLeast), claimMost)
}

// leave ends a claim of a turn that writes nothing.
func (r *race[V]) leave() {
	if r.held {
		r.t.e.Drop(r.t.at.Claim())
	}
}
