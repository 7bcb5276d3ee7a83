package exchange

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/breaker"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
)

// A rule that was asked for less than freshFor ago is used as it is; up to
// staleAfter it is used while it is asked for again.
const (
	freshFor   = 500 * time.Millisecond
	StaleAfter = time.Second
)

// Core is what all handles on one limiter share.
type Core struct {
	*hub
	Name   string // mapped
	cached atomic.Pointer[cachedRule]
	early  atomic.Bool // somebody asks again before the rule is too old
	mute   atomic.Bool // nobody answered who was asked for it

	mu      sync.Mutex
	reading *reading // under way

	Breaker breaker.Breaker
}

// cachedRule is what the server said of the rule, between two times of the
// monotonic clock. Nil says that there is none, or that it has to be asked for.
type cachedRule struct {
	*bucket.Rule
	asked, answered time.Duration
	change          bool // this process changed it
}

// Rule returns the rule in force, as of a second ago at the most, or for as long as
// nobody answers who is asked for it.
func (c *Core) Rule(ctx context.Context) (*bucket.Rule, error) {
	known := c.cached.Load()
	if known == nil || known.Rule == nil {
		return c.await(ctx, nil, nil)
	}
	switch age := c.Engine.Mono() - known.asked; {
	case age < freshFor:
		return known.Rule, nil
	case age < StaleAfter:
		return c.renewed(ctx, known.Rule), nil
	}
	return c.orKnown(ctx, known.Rule)
}

// renewed has one caller ask again, before its own request and not beside it:
// rueidis serves calls that come one by one at less cost. The others go on by
// the rule that is known, and so does this one if nobody answers.
func (c *Core) renewed(ctx context.Context, known *bucket.Rule) *bucket.Rule {
	if !c.early.CompareAndSwap(false, true) {
		return known
	}
	defer c.early.Store(false)
	if r, err := c.orKnown(ctx, known); err == nil {
		return r
	}
	return known
}

// Refresh reads the rule, in one bounded exchange.
func (c *Core) Refresh() (*bucket.Rule, error) {
	asked := c.Engine.Now().Mono
	answer, err := c.Engine.Run(context.Background(), ruleReadScript, []string{c.Name}, nil)
	if err == nil && answer.Nil {
		err = ErrNoRate
	}
	var text string
	if err == nil {
		text, err = answer.ToString()
	}
	if err != nil {
		return c.forget(err, asked)
	}
	return c.keep(text, asked)
}

// forget drops the rule if the server said that it is no longer there. While
// nobody answers, it is used until it is too old.
func (c *Core) forget(err error, asked time.Duration) (*bucket.Rule, error) {
	err = told(err)
	if errors.Is(err, ErrNoRate) || errors.Is(err, ErrOtherAlgorithm) {
		c.remember(nil, asked, c.Engine.Now().Mono)
	}
	return nil, err
}

// keep remembers a rule. One that has not changed stays the same pointer, so
// that calls made by it are of one kind.
func (c *Core) keep(text string, asked time.Duration) (*bucket.Rule, error) {
	if old := c.cached.Load(); old != nil && old.Rule != nil && old.Stored == text {
		c.remember(old.Rule, asked, c.Engine.Now().Mono)
		return old.Rule, nil
	}
	r, err := parseRule(text)
	if err != nil {
		return c.forget(err, asked)
	}
	c.remember(r, asked, c.Engine.Now().Mono)
	return r, nil
}

// remember keeps a rule that was read, unless a newer one is known.
func (c *Core) remember(r *bucket.Rule, asked, answered time.Duration) {
	c.heard(&cachedRule{r, asked, answered, false})
}

// Changed keeps a rule that this process has set, as remember does.
func (c *Core) Changed(r *bucket.Rule, asked, answered time.Duration) {
	c.heard(&cachedRule{r, asked, answered, true})
}

func (c *Core) heard(next *cachedRule) {
	for {
		old := c.cached.Load()
		if c.cached.CompareAndSwap(old, old.or(next)) {
			return
		}
	}
}

// or returns the later one of two things that the server said. The order in which
// they were heard tells nothing: where one was asked for after the other was
// answered, that decides, as a failover may have made an older generation the
// rule again. Where both were under way together, the generation does.
func (old *cachedRule) or(next *cachedRule) *cachedRule {
	switch {
	case old == nil || next.asked >= old.answered:
		return next
	case next.answered <= old.asked:
		return old
	case old.Rule != nil && next.Rule != nil && old.Generation != next.Generation:
		if old.Generation > next.Generation {
			return old
		}
		return next
	case old.change && next.change && (old.Rule == nil || next.Rule == nil || old.Stored != next.Stored):
		// Nobody knows which of the two was the last, such as a pause and its end.
		return &cachedRule{nil, max(old.asked, next.asked), max(old.answered, next.answered), true}
	case old.order() > next.order():
		return old
	}
	return next
}

// order returns the time by which it is compared with what says nothing of its own
// age. A change counts from its answer: what was asked for while it was under
// way may have been answered before it.
func (old *cachedRule) order() time.Duration {
	if old.change {
		return old.answered
	}
	return old.asked
}

// Tell tells the observer, if there is one who wants to hear of decisions.
func (c *Core) Tell(ctx context.Context, d core.Decision) {
	d.Limiter = c.Name
	c.Engine.Decided(ctx, d)
}

// What the server says about a name.
var (
	ErrNoRate         = errors.New("no rate was set")
	ErrOtherAlgorithm = errors.New("the name is used by another algorithm or object")
)

// Said reports whether err is something that the server has said about a rule.
func Said(err error) bool {
	return errors.Is(err, ErrNoRate) || errors.Is(err, ErrOtherAlgorithm) || errors.Is(err, core.ErrInvalidArgument)
}

// told returns the server's error in words of this package.
func told(err error) error {
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") {
		return fmt.Errorf("%w: %w", ErrOtherAlgorithm, err)
	}
	return err
}

// parseRule reads what is stored.
func parseRule(text string) (*bucket.Rule, error) {
	r, err := bucket.Parse(text)
	switch {
	case errors.Is(err, bucket.ErrFormat):
		return nil, ErrOtherAlgorithm
	case err != nil:
		return nil, fmt.Errorf("%w: %w", core.ErrInvalidArgument, err)
	}
	return r, nil
}
