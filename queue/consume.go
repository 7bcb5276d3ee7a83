package queue

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/poller"
)

// A ConsumeOption changes one [Group.Consume].
type ConsumeOption interface{ applyConsume(*consumeConfig) error }

type consumeConfig struct {
	idle  time.Duration
	batch int64
}

type consumeOption func(*consumeConfig) error

func (o consumeOption) applyConsume(c *consumeConfig) error { return o(c) }

// WithIdle sets how long an entry is left to the consumer that has it, unless it
// acknowledges it: behind that another takes it over. It should be twice of what the
// work on an entry takes at most; from 10 ms on. Without it, that is the watchdog
// timeout of the client.
func WithIdle(d time.Duration) ConsumeOption {
	return consumeOption(func(c *consumeConfig) error {
		if c.idle = d; d < 10*time.Millisecond || d > engine.LongestLease {
			return fmt.Errorf("%w: an idle time of %v: from 10ms to %v", ErrOption, d, engine.LongestLease)
		}
		return nil
	})
}

// WithBatch sets how many entries are read at once, 16 without it: fewer are shared
// more evenly, more are faster.
func WithBatch(n int) ConsumeOption {
	return consumeOption(func(c *consumeConfig) error {
		if c.batch = int64(n); n < 1 || n > mostInOne {
			return fmt.Errorf("%w: a batch of %d: from 1 to %d", ErrOption, n, mostInOne)
		}
		return nil
	})
}

// Consume reads entries under the name of a consumer, and waits for more, until ctx
// ends or the loop is left. An entry is handled when [Group.Ack] has said so; one that
// is not is given to whoever of the group asks a while later, see [WithIdle]: this
// one, too. So each is handled at least once, and a second time if a consumer dies,
// takes too long, or its Ack is lost. [Group.Pending] tells how often one was given.
// What was read and not yielded when the loop is left is given back at once, and does
// not count as given.
//
//	for e, err := range orders.Group("billing").Consume(ctx, hostname) {
//		if err != nil {
//			return err
//		}
//		if err := bill(ctx, e.Fields); err != nil {
//			continue // it comes again
//		}
//		if _, err := orders.Group("billing").Ack(ctx, e.ID); err != nil {
//			return err
//		}
//	}
//
// An entry that does not decode is an [ErrDecode] beside its ID, by which it can be
// acknowledged, and the sequence goes on. Any other error, that of ctx too, is the
// last; a server that does not answer is borne for a watchdog timeout.
//
// All consumers of a process who wait, whatever their streams and groups, share one
// connection for each server; on a cluster, see [Queue.Take]. Of one group one looks
// for entries, and the next when that one has some.
//
// Cost: a command for each batch; one and a share of one that blocks for a wait; one
// in half of the idle time; one for what is given back, and one for each 200 of it. Wire: XREADGROUP, XAUTOCLAIM,
// XPENDING, XCLAIM, XINFO GROUPS, XREAD, CLIENT UNBLOCK. Errors: [ErrNoGroup];
// [ErrDecode]; [ErrOption]; ctx's error and cause; [ErrClosed]; Redis' and the
// network's. Source: RStream.readGroup, autoClaim.
func (g *Group[K, V]) Consume(ctx context.Context, consumer string, opts ...ConsumeOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		c, err := g.consumption(ctx, consumer, opts)
		if err != nil {
			yield(Entry[K, V]{}, g.failed("consume", err))
			return
		}
		defer c.giveBack()
		for {
			it, err := c.next(ctx)
			if err != nil {
				yield(Entry[K, V]{}, g.failed("consume", err))
				return
			}
			e, err := g.s.entry(it)
			if !yield(e, g.failed("consume", err)) {
				return
			}
		}
	}
}

func (g *Group[K, V]) consumption(ctx context.Context, consumer string, opts []ConsumeOption) (*consumption, error) {
	if err := g.usable(ctx); err != nil {
		return nil, err
	}
	cfg := consumeConfig{idle: g.s.h.e.WatchdogTimeout, batch: 16}
	for _, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applyConsume(&cfg); err != nil {
			return nil, err
		}
	}
	if consumer == "" {
		return nil, fmt.Errorf("%w: empty name of a consumer", ErrOption)
	}
	return &consumption{h: g.s.h, post: post{g.s.key, g.name}, consumer: consumer, cfg: cfg, from: "0-0"}, nil
}

// post is a group of a stream.
type post struct{ key, group string }

// consumption is one loop over entries.
type consumption struct {
	h        *hub
	post     post
	consumer string
	cfg      consumeConfig

	batch   []rueidis.XRangeSlice // that were read and not yielded
	read    time.Time             // when that was asked for
	came    time.Time             // when it was there
	claimed time.Time             // when it was asked last for what others have left
	from    string                // where that goes on
	silence time.Time             // since when the server does not answer
	pauses  int
}

// next is the next entry.
func (c *consumption) next(ctx context.Context) (it rueidis.XRangeSlice, err error) {
	if len(c.batch) > 0 && time.Since(c.read) > c.cfg.idle/2 {
		c.giveBack()
	}
	for {
		switch {
		case ctx.Err() != nil:
			return it, engine.ContextError(ctx)
		case c.h.e.Open() != nil:
			return it, ErrClosed
		case len(c.batch) > 0:
			it, c.batch = c.batch[0], c.batch[1:]
			return it, nil
		}
		if c.batch, err = c.some(ctx); err == nil {
			c.silence, c.pauses = time.Time{}, 0
		} else if !c.bears(ctx, err) {
			return it, err
		}
	}
}

// some is what there is, or what comes.
func (c *consumption) some(ctx context.Context) ([]rueidis.XRangeSlice, error) {
	for ctx.Err() == nil && time.Since(c.claimed) >= c.cfg.idle/2 {
		if got, err := c.claim(); err != nil || len(got) > 0 {
			return got, err
		}
	}
	if got, err := c.look(); err != nil || len(got) > 0 {
		return got, err
	}
	return c.wait(ctx)
}

// bears pauses behind an error that may pass, and is false for one that does not, or
// has not for long enough.
func (c *consumption) bears(ctx context.Context, err error) bool {
	if !waitable(ctx, err) {
		return false
	}
	now := time.Now()
	if c.silence.IsZero() {
		c.silence = now
	}
	if now.Sub(c.silence) > c.h.e.WatchdogTimeout {
		return false
	}
	c.pauses++
	timer := time.NewTimer(min(10*time.Millisecond<<min(c.pauses, 7), time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-c.h.e.Closing():
	}
	return true
}

// look reads what nobody of the group has yet. Its answer is always waited for.
func (c *consumption) look() ([]rueidis.XRangeSlice, error) {
	return c.ask(func(got engine.Answer) ([]rueidis.XRangeSlice, error) {
		all, err := got.AsXReadSlices()
		return all[c.post.key], err
	}, readGroup{}, []string{c.post.key}, c.post.group, c.consumer, decimal(c.cfg.batch))
}

// claim takes over what somebody was given and has not acknowledged.
func (c *consumption) claim() ([]rueidis.XRangeSlice, error) {
	got, err := c.ask(func(got engine.Answer) ([]rueidis.XRangeSlice, error) {
		parts, err := got.ToArray()
		if err != nil || len(parts) < 2 {
			return nil, err
		}
		if c.from, err = parts[0].ToString(); err != nil {
			return nil, err
		}
		return parts[1].AsXRangeSlices()
	}, xautoclaim, []string{c.post.key}, c.post.group, c.consumer, decimal(engine.Millis(c.cfg.idle)), c.from, "COUNT", decimal(c.cfg.batch))
	if err == nil && c.from == "0-0" {
		c.claimed = time.Now() // else there may be more; of an answer that took long, too, so that new ones are read
	}
	return got, err
}

// ask waits for the answer, since what it brings is not given to anybody else for a
// while.
func (c *consumption) ask(as func(engine.Answer) ([]rueidis.XRangeSlice, error), op engine.Operation, on []string, args ...string) (got []rueidis.XRangeSlice, err error) {
	c.read = time.Now()
	during := c.h.e.During(func() {
		var answer engine.Answer
		if answer, err = c.h.e.Run(context.Background(), op, on, args); err == nil && !answer.Nil {
			got, err = as(answer)
		}
	})
	c.came = time.Now()
	if !during {
		return nil, ErrClosed
	}
	return got, err
}

// mostWait is how long nobody looks, whatever is heard.
const mostWait = 5 * time.Second

// wait waits until there may be something. Of a group one waits; the others stand
// behind it.
func (c *consumption) wait(ctx context.Context) ([]rueidis.XRangeSlice, error) {
	d := c.h.posts.Get(c.post)
	defer c.h.posts.Put(c.post, d)
	select {
	case d.first <- struct{}{}:
	case <-ctx.Done():
		return nil, nil
	case <-c.h.e.Closing():
		return nil, nil
	}
	defer func() { <-d.first }()
	last, err := c.last()
	if err != nil {
		return nil, err
	}
	tips := c.h.tips
	if tips.enter(c.post.key, last) {
		c.h.poller.Tell(tips.kind, c.post.key)
	}
	defer tips.leave(c.post.key)
	place := c.h.poller.Join(tips.kind, c.post.key)
	got, err := c.look() // what came before it stood in line
	if err != nil || len(got) > 0 {
		c.h.poller.Leave(place)
		return got, err
	}
	return nil, c.await(ctx, place)
}

func (c *consumption) await(ctx context.Context, place poller.Place) error {
	left := max(min(c.cfg.idle/2-time.Since(c.claimed), mostWait), time.Millisecond)
	waiting, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	got, ended := c.h.poller.Await(waiting, place)
	if ended || got.Err == nil {
		return nil
	}
	c.silence = time.Unix(1, 0) // which was borne already
	return got.Err
}

// last is the last entry that somebody of the group was given.
func (c *consumption) last() (id string, err error) {
	got, err := c.h.e.Run(context.Background(), xgroups, []string{c.post.key}, nil)
	if err != nil {
		return "", err
	}
	groups, err := got.ToArray()
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		about, err := g.AsMap()
		if err != nil {
			return "", err
		}
		name, of := about["name"], about["last-delivered-id"]
		if text, _ := name.ToString(); text == c.post.group {
			return of.ToString()
		}
	}
	return "", ErrNoGroup
}

// readGroup is XREADGROUP of one stream, whose key is not its first word. A second run
// reads further; what the first has read comes again later.
type readGroup struct{}

func (readGroup) Label() string    { return "XREADGROUP" }
func (readGroup) Repeatable() bool { return true }

func (readGroup) Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, readingGroup(c, keys, args).Build())
}

func (readGroup) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, readingGroup(c, keys, args).Blocking())
}

func readingGroup(c rueidis.Client, keys, args []string) interface {
	Build() rueidis.Completed
	Blocking() rueidis.Completed
} {
	return c.B().Arbitrary("XREADGROUP", "GROUP").Args(args[0], args[1], "COUNT", args[2], "STREAMS").Keys(keys...).Args(">")
}
