package standby

import (
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// denials are the refusals that are known to last.
type denials struct {
	mu      sync.Mutex
	by      map[string]denial
	outdone marks // what was sent before may have been refused for want of what was given back since
}

// denial is a bucket that refused. As of sent it held no more than the answer
// says, as that was given later.
type denial struct {
	bucket.State
	sent time.Duration
}

const (
	denialAge  = time.Second
	maxDenials = 4096
)

// Refuses answers from memory if even the most that can be there is too little.
func (s *Standby) Refuses(state string, want *bucket.Want, now time.Duration) (bucket.State, bool) {
	d := &s.denials
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.by[state]
	if !ok {
		return bucket.State{}, false
	}
	if now-known.sent > denialAge || known.Rule.Generation != want.Rule.Generation {
		delete(d.by, state)
		return bucket.State{}, false
	}
	got := known.at(now)
	return got, got.Block > 0 || got.Missing+want.Rule.Ticks(want.N) > want.Rule.Full
}

// at returns the fullest that the bucket can be now.
func (d denial) at(now time.Duration) bucket.State {
	got := d.State
	passed := bucket.Micros(now-d.sent) + 1 // never too little
	got.Block = max(0, got.Block-passed)
	gaining := passed - d.Late
	if gaining <= 0 {
		got.Late = -gaining
		return got
	}
	got.Late = 0
	units := bucket.Up(gaining, got.Rule.Unit) / got.Rule.Unit
	if units > bucket.Exact/got.Rule.Gain { // more than any bucket lacks
		got.Missing = 0
		return got
	}
	got.Missing = max(0, got.Missing-units*got.Rule.Gain)
	return got
}

// Refused takes note of a refusal, and of when it was asked for.
func (s *Standby) Refused(state string, got bucket.State, sent time.Duration) {
	s.denials.learn(state, denial{got, sent})
}

func (d *denials) learn(state string, what denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if what.sent <= d.outdone.of(state) {
		return
	}
	if d.by == nil {
		d.by = make(map[string]denial)
	}
	if _, there := d.by[state]; !there && len(d.by) >= maxDenials {
		for some := range d.by {
			delete(d.by, some)
			break
		}
	}
	d.by[state] = what
}

// Refilled forgets the refusal of a bucket that has been made fuller.
func (s *Standby) Refilled(state string, now time.Duration) {
	d := &s.denials
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outdone.set(state, now)
	delete(d.by, state)
}
