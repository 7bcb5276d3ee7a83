package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
)

// A rule that was asked for less than freshFor ago is used as it is; up to
// staleAfter it is used while it is asked for again.
const (
	freshFor   = 500 * time.Millisecond
	staleAfter = time.Second
)

// core is what all handles on one limiter share.
type core struct {
	e       *engine.Engine
	name    string // mapped
	table   *combine.Table[string, ask, answer]
	cancels *cancelTable
	cached  atomic.Pointer[cachedRule]
	asking  singleflight.Group
	early   atomic.Bool // somebody asks again before the rule is too old

	meters   meters // of a PerClient rate
	standIns meters // while the server cannot be asked
	denials  denials
	stocks   stocks
	breaker  breaker
}

type cachedRule struct {
	*rule
	asked time.Duration // monotonic, before it was asked for
	order time.Duration // an answer to a question from before that time says nothing new
}

type coreKey struct{ name string }

func coreOf(e *engine.Engine, mapped string) *core {
	return e.Shared(coreKey{mapped}, func() any { return newCore(e, mapped) }).(*core)
}

// flights is how many exchanges about one bucket may be under way.
const flights = 4

func newCore(e *engine.Engine, mapped string) *core {
	c := &core{e: e, name: mapped}
	c.table = combine.New(combine.Config[string, ask, answer]{
		Send: c.send, Cut: cut, Left: c.left, Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	c.cancels = c.newCancelTable()
	return c
}

// rule is the rule in force, as of a second ago at the most.
func (c *core) rule(ctx context.Context) (*rule, error) {
	known := c.cached.Load()
	if known == nil || known.rule == nil {
		return c.ask(ctx)
	}
	switch age := c.e.Mono() - known.asked; {
	case age < freshFor:
		return known.rule, nil
	case age < staleAfter:
		return c.renewed(ctx, known.rule), nil
	}
	return c.ask(ctx)
}

// renewed has one caller ask again, before its own request and not beside it:
// rueidis serves calls that come one by one at less cost. The others go on by
// the rule that is known, and so does this one if nobody answers.
func (c *core) renewed(ctx context.Context, known *rule) *rule {
	if !c.early.CompareAndSwap(false, true) {
		return known
	}
	defer c.early.Store(false)
	if r, err := c.ask(ctx); err == nil {
		return r
	}
	return known
}

// ask waits for the rule as it is stored from now on, or for ctx.
func (c *core) ask(ctx context.Context) (*rule, error) {
	if err := c.e.Open(); err != nil {
		return nil, err
	}
	r, err, _ := engine.Await(c.e, ctx, 0, func() (*rule, error) {
		r, err, _ := c.asking.Do("", c.refresh)
		if err != nil {
			return nil, err
		}
		return r.(*rule), nil
	})
	return r, err
}

// refresh reads the rule, in one bounded exchange.
func (c *core) refresh() (any, error) {
	asked := c.e.Now().Mono
	answer, err := c.e.Run(context.Background(), ruleReadScript, []string{c.name}, nil)
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
func (c *core) forget(err error, asked time.Duration) (any, error) {
	err = told(err)
	if errors.Is(err, ErrNoRate) || errors.Is(err, ErrOtherAlgorithm) {
		c.remember(nil, asked, asked)
	}
	return nil, err
}

// keep remembers a rule. One that has not changed stays the same pointer, so
// that calls made by it are of one kind.
func (c *core) keep(text string, asked time.Duration) (any, error) {
	if old := c.cached.Load(); old != nil && old.rule != nil && old.stored == text {
		c.remember(old.rule, asked, asked)
		return old.rule, nil
	}
	r, err := parseRule(text)
	if err != nil {
		return c.forget(err, asked)
	}
	c.remember(r, asked, asked)
	return r, nil
}

// remember keeps what was asked for last, whatever was answered last. No rule
// is remembered as nil, so that an answer from before it does not come back.
// A change is ordered by when its answer came: what was asked for while it was
// under way may have been answered before it.
func (c *core) remember(r *rule, asked, order time.Duration) {
	next := &cachedRule{r, asked, order}
	for {
		old := c.cached.Load()
		if old != nil && old.order > order {
			return
		}
		if c.cached.CompareAndSwap(old, next) {
			return
		}
	}
}

// told is the server's error in words of this package.
func told(err error) error {
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") {
		return fmt.Errorf("%w: %w", ErrOtherAlgorithm, err)
	}
	return err
}
