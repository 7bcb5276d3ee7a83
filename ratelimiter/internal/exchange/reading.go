package exchange

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
)

// reading is one exchange that asks for the rule, for all who wait for it.
type reading struct {
	began time.Duration
	done  chan struct{}
	r     *bucket.Rule // once done is closed
	err   error
}

// read begins a reading, unless one is under way.
func (c *Core) read() *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading != nil {
		return c.reading
	}
	r := &reading{began: c.Engine.Mono(), done: make(chan struct{}), err: core.ErrClosed}
	run := func() {
		r.r, r.err = c.Refresh()
		c.mu.Lock()
		c.reading = nil
		c.mu.Unlock()
		c.mute.Store(r.err != nil && !Said(r.err))
		close(r.done)
	}
	if !c.Engine.Spawn(run) { // ends with the exchange
		close(r.done)
		return r
	}
	c.reading = r
	return r
}

// ruleWithin is how long a caller that knows a rule waits for a newer one.
const ruleWithin = 250 * time.Millisecond

// orKnown asks for the rule, but goes on by the one that is known while nobody answers:
// on a cluster the rule's node may be silent while those of the keys are not.
// Whether a bucket knows a newer rule, it says itself.
func (c *Core) orKnown(ctx context.Context, known *bucket.Rule) (*bucket.Rule, error) {
	enough := time.NewTimer(c.patience(ctx, c.read()))
	defer enough.Stop()
	return c.await(ctx, known, enough.C)
}

// patience returns how long a reading is waited for by who knows a rule: not at all
// after one that nobody answered, until one is answered.
func (c *Core) patience(ctx context.Context, read *reading) time.Duration {
	if c.mute.Load() {
		return 0
	}
	left := read.began + ruleWithin - c.Engine.Mono()
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline)/2) // the rest is for the bucket
	}
	return max(0, left)
}

// ReadAhead begins to ask for a rule that is too old, so that those of several
// limits come at once.
func (c *Core) ReadAhead() {
	if known := c.cached.Load(); known == nil || c.Engine.Mono()-known.asked >= StaleAfter {
		c.read()
	}
}

// await waits for the rule as it is stored from now on, or until it has been enough for who knows one.
func (c *Core) await(ctx context.Context, known *bucket.Rule, enough <-chan time.Time) (*bucket.Rule, error) {
	if err := c.Engine.Open(); err != nil {
		return nil, err
	}
	for start := c.Engine.Mono(); ; {
		read := c.read()
		select {
		case <-read.done:
		case <-enough:
			return known, nil
		case <-ctx.Done():
			return nil, core.ContextError(ctx)
		case <-c.Engine.Closing():
			return nil, core.ErrClosed
		}
		switch {
		case read.err == nil && read.began < start-freshFor: // it was under way for too long
		case read.err != nil && known != nil && !Said(read.err) && c.Engine.Open() == nil:
			return known, nil
		default:
			return read.r, read.err
		}
	}
}
