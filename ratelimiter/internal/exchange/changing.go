package exchange

import (
	"context"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Setting is how a rule is set.
type Setting struct {
	Rule  *bucket.Rule
	Reset bool          // all buckets get full
	TTL   time.Duration // after which the rule goes if nobody uses it, 0 for never
}

// KeepTTL leaves the time as it is stored.
const KeepTTL = -time.Millisecond

const shortestTTL = 10 * time.Second

// LeastTTL is as long as a rule has to stay.
func LeastTTL(r *bucket.Rule) time.Duration {
	full := min(r.Needs(r.Burst), core.LongestLease/2)
	return max(shortestTTL, (2*full).Round(time.Millisecond)+time.Millisecond)
}

// Create stores a rule unless there is one, and says whether it did.
func (c *Core) Create(ctx context.Context, s Setting) (stored *bucket.Rule, created bool, err error) {
	nonce := send.NewRequest()
	stored, err = c.change(ctx, ruleCreateScript, s.Rule.Parameters(), nonce, millis(max(0, s.TTL)))
	return stored, err == nil && strings.Contains(stored.Stored, " "+nonce), err
}

// Set stores a rule, whatever there is.
func (c *Core) Set(ctx context.Context, s Setting) error {
	_, err := c.change(ctx, ruleSetScript, s.Rule.Parameters(), flag(s.Reset), send.NewRequest(), millis(s.TTL), millis(LeastTTL(s.Rule)))
	return err
}

func millis(d time.Duration) string { return bucket.Decimal(d.Milliseconds()) }

// Pause stops granting, or goes on.
func (c *Core) Pause(ctx context.Context, stop bool) error {
	_, err := c.change(ctx, rulePauseScript, flag(stop))
	return err
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// change runs a script that returns the stored rule, and remembers that.
func (c *Core) change(ctx context.Context, s *scripts.Script, args ...string) (*bucket.Rule, error) {
	return await(ctx, c.Engine.Sender, func() (*bucket.Rule, error) {
		asked := c.Engine.Now().Mono
		answer, err := c.Engine.Run(ctx, s, []string{c.Name}, args)
		if err == nil && answer.Nil {
			err = ErrNoRate
		}
		if err != nil {
			return nil, told(err)
		}
		text, err := answer.ToString()
		if err != nil {
			return nil, err
		}
		r, err := parseRule(text)
		if err == nil {
			c.Changed(r, asked, c.Engine.Now().Mono)
		}
		return r, err
	})
}

// Delete forgets the rule and the bucket without a key, and reports whether there
// was a rule.
func (c *Core) Delete(ctx context.Context, state string) (bool, error) {
	return await(ctx, c.Engine.Sender, func() (bool, error) {
		asked := c.Engine.Now().Mono
		answer, err := c.Engine.Run(ctx, ruleDeleteScript, []string{c.Name, state}, nil)
		if err != nil {
			return false, told(err)
		}
		c.Changed(nil, asked, c.Engine.Now().Mono)
		n, err := answer.AsInt64()
		return n == 1, err
	})
}

// Reset fills a bucket, and lifts a block.
func (c *Core) Reset(ctx context.Context, state string) error {
	c.Meters.Reset(state)
	return c.overturn(ctx, state, resetScript)
}

// Block keeps a bucket from granting for a while.
func (c *Core) Block(ctx context.Context, state string, r *bucket.Rule, d time.Duration) error {
	switch {
	case r.Type == bucket.PerClient && r.Settled():
		return nil
	case r.Type == bucket.PerClient:
		c.Meters.SetBlock(state, r, c.Engine.Mono(), d)
		return nil
	}
	return c.overturn(ctx, state, blockScript, r.Texts.Generation, bucket.Decimal(int64(d/time.Microsecond)))
}

// overturn runs a script after which nothing that was learnt of the bucket is
// true any more. It is forgotten when the answer comes, also if the caller does
// not wait for that: until then the bucket may be what it was.
func (c *Core) overturn(ctx context.Context, state string, s *scripts.Script, args ...string) error {
	_, err := await(ctx, c.Engine.Sender, func() (struct{}, error) {
		defer func() { c.Standby.Overturned(state, c.Engine.Mono()) }()
		_, err := c.Engine.Run(ctx, s, []string{state}, args)
		return struct{}{}, told(err)
	})
	return err
}
