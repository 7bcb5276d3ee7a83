package mapstore

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
)

// A Compute reads, and writes if the entry still is what was read. Between the two lies a
// round trip: a client near the server writes hundreds of times while a client that is further
// away has one try. So a Compute that has lost for long leaves a claim next to the entry, with
// its next try. The Computes of others stand back while the claim exists. It is advice: the
// comparison alone decides what is written. A claim is deleted with the change, or expires.

// Claim is what a Compute knows of who goes first at its entry.
type Claim struct {
	token string        // names this turn
	lasts time.Duration // for how long it goes first if it fails; 0: not at all
	looks bool          // it only looks, and writes nothing

	others bool // another goes first, and nothing was done
}

// millis is for how long the claim lasts, as a script takes it.
func (c *Claim) millis() string {
	if c == nil {
		return "0"
	}
	return Decimal(c.lasts.Milliseconds())
}

// may takes the integer that the script has answered, and reports whether the change was done.
func (c *Claim) may(answer int64) bool {
	if c != nil {
		c.others = answer == 0
	}
	return answer == 1
}

const (
	// claimAfter and claimTries are how long, and how often, a Compute loses before it claims.
	claimAfter = 3 * time.Millisecond
	claimTries = 3
	// claimLeast and claimMost bound how long a claim lasts, which is some round trips.
	claimLeast = 20 * time.Millisecond
	claimMost  = time.Second
	claimTrips = 4
	// claimSticks is for how long the next Computes of an entry claim at once that was claimed.
	claimSticks = 2 * time.Second
	// claimLook is how often a process that writes an entry looks whether another claims it;
	// where one did, each change of the next claimSticks looks.
	claimLook = time.Millisecond
)

// Contest is what a process has seen of who claims an entry. Entries share them.
type Contest struct {
	looked atomic.Int64 // when a change looked for a claim last, by Mono
	alert  atomic.Int64 // until when each does
	Sticks atomic.Int64 // until when Computes claim at once
	trip   atomic.Int64 // how long the last exchange took
}

const Contests = 256

// Contest returns the contest of an entry. Entries share them.
func (h *Hub) Contest(e Entry) *Contest {
	return &h.Contests[maphash.Comparable(h.seed, e)%Contests]
}

// due reports whether the next change is to look for a claim.
func (c *Contest) due(now time.Duration) bool {
	if int64(now) < c.alert.Load() {
		return true
	}
	last := c.looked.Load()
	return (last == 0 || int64(now)-last > int64(claimLook)) && c.looked.CompareAndSwap(last, int64(now))
}

// race is one turn's part in a contest.
type race struct {
	*Contest
	Claim
	t     *turn
	began time.Duration
	tries int
	held  bool // the claim may be this turn's
}

// own returns the claim of this turn, with its name, for the next exchange.
func (r *race) own() *Claim {
	if r.token == "" {
		r.token = r.t.h.ID + Decimal(r.t.h.claims.Add(1))
	}
	r.others = false
	return &r.Claim
}

// timed notes how long an exchange takes.
func (r *race) timed(exchange func() error) error {
	began := r.t.h.Engine.Mono()
	err := exchange()
	r.trip.Store(int64(r.t.h.Engine.Mono() - began))
	return err
}

// read returns the entry. Where Computes of this process have lost for long before, it claims.
// That look is sent once, and may be refused where a read is not: then the entry is read
// without a claim.
func (r *race) read(ctx context.Context) (old Value, err error) {
	until := r.began + claimMost
	for try := 0; int64(r.t.h.Engine.Mono()) < r.Sticks.Load() && r.t.h.Engine.Mono() < until; try++ {
		r.lasts, r.looks = r.length(), true
		err = r.timed(func() (err error) {
			old, _, err = r.t.store.Change(ctx, r.t.e.key, Value{}, Value{}, r.t.e.Entries, r.own())
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
		if err = r.t.h.Engine.Open(); err == nil {
			old, err = r.t.store.Get(ctx, r.t.e.key) // by itself: the flight of a turn is one of its own already
		}
		return err
	})
	return old, err
}

// change writes, and waits while another goes first.
func (r *race) change(ctx context.Context, old, now Value) (there Value, done bool, err error) {
	for try := 0; ; try++ {
		var c *Claim
		if r.lasts > 0 || r.Contest.due(r.t.h.Engine.Mono()) {
			c = r.own()
		}
		err = r.timed(func() (err error) {
			there, done, err = r.t.store.Change(ctx, r.t.e.key, old, now, r.t.e.Entries, c)
			return err
		})
		if err != nil || c == nil || !r.others {
			r.held = err == nil && !done && r.lasts > 0
			return there, done, err
		}
		r.alert.Store(int64(r.t.h.Engine.Mono() + claimSticks))
		Pause(try + 1)
	}
}

// lost has the next try claim the entry, if it was lost for long.
func (r *race) lost() {
	r.tries++
	if r.lasts == 0 && r.tries >= claimTries && r.t.h.Engine.Mono()-r.began >= claimAfter {
		r.lasts = r.length()
	}
	if r.lasts > 0 {
		r.Sticks.Store(int64(r.t.h.Engine.Mono() + claimSticks))
	}
}

// length returns how long a claim lasts. It has to outlast the way back of the exchange that
// leaves it, and the way of the next, so it goes by what the exchanges before took.
func (r *race) length() time.Duration {
	return min(max(claimTrips*time.Duration(r.trip.Load()), claimLeast), claimMost)
}

// leave ends a claim of a turn that writes nothing.
func (r *race) leave() {
	if r.held {
		r.t.h.Engine.Drop(keys.MapClaim(r.t.e.name, r.t.e.key))
	}
}
