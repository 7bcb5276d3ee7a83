package ratelimiter

import (
	"context"
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
	answer
	sent time.Duration
}

const (
	denialAge  = time.Second
	maxDenials = 4096
)

// unlessDenied asks the server unless it is known to refuse.
func (b *Bucket) unlessDenied(ctx context.Context, a ask) (answer, error) {
	now := b.core.e.Now().Mono
	if got, refused := b.core.denials.refuse(b.state, a, now); refused {
		return got, nil
	}
	got, err := b.do(ctx, a)
	if err == nil && !got.ok {
		b.core.denials.learn(b.state, denial{got, now})
	}
	return got, err
}

// refuse answers from memory if even the most that can be there is too little.
func (d *denials) refuse(state string, a ask, now time.Duration) (answer, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.by[state]
	if !ok {
		return answer{}, false
	}
	if now-known.sent > denialAge || known.Rule.Generation != a.Rule.Generation {
		delete(d.by, state)
		return answer{}, false
	}
	got := known.at(now)
	return got, got.Block > 0 || got.Missing+a.Rule.Ticks(a.N) > a.Rule.Full
}

// at is the fullest that the bucket can be now.
func (d denial) at(now time.Duration) answer {
	got := d.answer
	got.together = 0
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

// forgetDenial is for what has made a bucket fuller.
func (h *hub) forgetDenial(state string) {
	now := h.e.Now().Mono
	h.denials.mu.Lock()
	defer h.denials.mu.Unlock()
	h.denials.outdone.set(state, now)
	delete(h.denials.by, state)
}
