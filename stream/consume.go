package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// A ConsumeOption changes one [Group.Consume].
type ConsumeOption interface{ applyConsume(*consumeConfig) error }

type consumeConfig struct {
	idle     time.Duration
	batch    int64
	attempts int64                             // after which an entry is buried; 0: none
	backoff  func(attempt int64) time.Duration // nil: doubled from a second on
}

type consumeOption func(*consumeConfig) error

func (o consumeOption) applyConsume(c *consumeConfig) error { return o(c) }

// WithIdle sets how long a consumer may hold an entry without an acknowledgement. After that
// another consumer takes it over. Choose twice the longest time that the work on an entry takes,
// and at least 10 ms. The default is the watchdog timeout of the client.
func WithIdle(d time.Duration) ConsumeOption {
	return consumeOption(func(c *consumeConfig) error {
		if c.idle = d; d < 10*time.Millisecond || d > core.LongestLease {
			return fmt.Errorf("%w: an idle time of %v: from 10ms to %v", ErrInvalidArgument, d, core.LongestLease)
		}
		return nil
	})
}

// WithBatch sets how many entries are read at once: fewer are shared more evenly, more
// are faster. Without it, these are as many as the loop has handled in 10 ms before, from 1
// to 16. Of large entries about 1 MB is read at once. The first answer has one entry.
func WithBatch(n int) ConsumeOption {
	return consumeOption(func(c *consumeConfig) error {
		if c.batch = int64(n); n < 1 || n > paging.Most {
			return fmt.Errorf("%w: a batch of %d: from 1 to %d", ErrInvalidArgument, n, paging.Most)
		}
		return nil
	})
}

// Consume reads entries under the name of a consumer, and waits for more, until ctx
// ends or the loop is left. An entry is handled when [Group.Ack] acknowledges it. An entry that
// is not acknowledged is redelivered later, see [WithIdle], to any consumer of the group, this
// one included. So each is handled at least once, and a second time if a consumer dies,
// takes too long, or its Ack is lost. [Group.Pending] tells how often one was delivered.
// Entries that were read and not yielded when the loop is left are returned at once, do not
// count as delivered, and other waiting consumers of the group are notified. The loop waits for that
// for 250 ms at most, and for an answer 50 ms after the end of ctx; the rest continues without it.
// An entry of several megabytes that does not arrive in time is redelivered, with more time.
//
//	billing := orders.Group("billing")
//	for e, err := range billing.Consume(ctx, hostname) {
//		switch {
//		case errors.Is(err, rueidisson.ErrNotice): // e.ID does not decode, and is done with
//			log.Print(err)
//		case err != nil:
//			return err // and the sequence is over
//		case bill(ctx, e.Fields) != nil:
//			continue // it comes again
//		}
//		if _, err := billing.Ack(ctx, e.ID); err != nil {
//			return err
//		}
//	}
//
// [Group.Messages] counts attempts, waits between them, and puts aside what fails again and
// again.
//
// If an entry does not decode, Consume yields [ErrDecode] with its ID, by which it can be
// acknowledged, and continues. Any other error, that of ctx too, is the
// last. Consume waits for a silent server for a watchdog timeout.
//
// All waiting consumers of a process, whatever their streams and groups, share one
// connection for each server; see the package comment. One consumer of a group looks
// for entries at a time, and the next when that one has some.
//
// Cost: a command for each batch; one and a share of one that blocks for a wait, and two more and a SUBSCRIBE for the first;
// one in half of the idle time; one for what is given back, and one for each 200 of it. Errors: [ErrNoGroup]; [ErrDecode]; [ErrInvalidArgument]; ctx's error
// and cause; [ErrClosed]; Redis' and the network's. Source: RStream.readGroup, autoClaim.
func (g *Group[K, V]) Consume(ctx context.Context, consumer string, opts ...ConsumeOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		c, err := g.consumption(ctx, consumer, opts)
		if err != nil {
			yield(Entry[K, V]{}, g.failed("consume", err))
			return
		}
		defer c.leave()
		for {
			it, err := c.next(ctx)
			if err != nil {
				yield(Entry[K, V]{}, g.failed("consume", err))
				return
			}
			g.s.h.e.TakenEntry(ctx, g.s.Kind, g.s.Key, it.ID)
			e, err := g.s.entry(it)
			if !yield(e, core.Notice(g.failed("consume", err))) {
				return
			}
		}
	}
}

func (g *Group[K, V]) consumption(ctx context.Context, consumer string, opts []ConsumeOption) (*consumption, error) {
	if err := g.usable(ctx); err != nil {
		return nil, err
	}
	cfg, err := object.Options(consumeConfig{idle: g.s.h.e.WatchdogTimeout}, opts, ConsumeOption.applyConsume)
	if err != nil {
		return nil, err
	}
	if consumer == "" {
		return nil, fmt.Errorf("%w: empty name of a consumer", ErrInvalidArgument)
	}
	return &consumption{h: g.s.h, post: post{g.s.Key, g.name}, consumer: consumer, cfg: cfg, pages: paging.Takes(max(cfg.batch, mostBatch)), from: "0-0"}, nil
}

// consumption is one loop over entries.
type consumption struct {
	h        *hub
	post     post
	consumer string
	cfg      consumeConfig

	pages   paging.Plan           // how many are asked for
	batch   []rueidis.XRangeSlice // that were read and not yielded
	size    int64                 // how many are read at once
	got     int                   // so many were in the last batch
	read    time.Time             // when that was asked for
	came    time.Time             // when it was there
	claimed time.Time             // when it was asked last for what others have left
	from    string                // where that goes on
	claims  int64                 // how many at once
	owed    int64                 // bytes that it has time for, as answers did not arrive
	silence time.Time             // since when the server does not answer
	pauses  int

	dues   attempts.Dues    // when what failed here comes again
	looked bool             // new ones were asked for since: what fails at once must not hold them up
	anew   bool             // what others have left is asked for from the middle, and then from the start
	counts map[string]int64 // of entries in the batch that others had: how often they were delivered; nil: not asked for

	away bool                 // an exchange went on by itself, and has all else of this
	ear  *pubsub.Subscription // to what others give back
	back atomic.Bool          // somebody has
}

// aBatch is how long the loop should be busy with a batch, and mostBatch bounds it: what
// one consumer has others wait for.
const (
	aBatch    = 10 * time.Millisecond
	mostBatch = 16
)

// sized returns how many entries are read at once: as many as the loop handled in a while.
func (c *consumption) sized() int64 {
	switch {
	case c.cfg.batch > 0:
		return c.cfg.batch
	case c.got == 0:
		return max(c.size, 1)
	}
	each := max(time.Since(c.came)/time.Duration(c.got), 1)
	return min(max(int64(aBatch/each), 1), max(2*c.size, 2), mostBatch)
}

// next returns the next entry.
func (c *consumption) next(ctx context.Context) (it rueidis.XRangeSlice, err error) {
	if len(c.batch) > 0 && time.Since(c.read) > c.cfg.idle/2 {
		_, err = c.answered(ctx, func() ([]rueidis.XRangeSlice, error) { c.giveBack(); return nil, nil })
		switch {
		case c.away:
			return it, send.Unanswered(ctx, nil)
		case err != nil: // the client is closed
			c.batch = nil
			return it, err
		}
	}
	for why := error(nil); ; why = err {
		switch {
		case ctx.Err() != nil:
			return it, send.Unanswered(ctx, why)
		case c.h.e.Open() != nil:
			return it, ErrClosed
		case len(c.batch) > 0:
			it, c.batch = c.batch[0], c.batch[1:]
			return it, nil
		}
		c.size = c.sized()
		c.got = 0
		var got []rueidis.XRangeSlice
		if got, err = c.some(ctx); c.away {
			return it, send.Unanswered(ctx, why)
		}
		if c.batch = got; err == nil {
			c.got = len(c.batch)
			c.silence, c.pauses = time.Time{}, 0
		} else if !c.bears(ctx, err) && ctx.Err() == nil {
			return it, err
		}
		if err != nil && errors.Is(err, ctx.Err()) {
			err = why // what has ended is the wait, and no exchange
		}
	}
}

// some returns what there is, or what comes.
func (c *consumption) some(ctx context.Context) ([]rueidis.XRangeSlice, error) {
	if c.back.Swap(false) || c.looked && c.dues.Passed() {
		c.claimed, c.anew, c.looked = time.Time{}, c.from != "0-0", false
	}
	got, err := c.answered(ctx, func() ([]rueidis.XRangeSlice, error) {
		for ctx.Err() == nil && time.Since(c.claimed) >= c.cfg.idle/2 {
			if got, err := c.claim(); err != nil || len(got) > 0 {
				return got, err
			}
		}
		if ctx.Err() != nil {
			return nil, core.ContextError(ctx) // what a look brings would only go back
		}
		c.looked = true
		return c.look()
	})
	if err != nil || len(got) > 0 {
		return got, err
	}
	return c.wait(ctx)
}

// answered calls ask, which makes exchanges. When ctx ends, the one under way has a moment to be answered. After that ask goes
// on by itself, and what it brings goes back: c is away, and nothing else of it is for the loop any more.
func (c *consumption) answered(ctx context.Context, ask func() ([]rueidis.XRangeSlice, error)) (got []rueidis.XRangeSlice, err error) {
	var over atomic.Bool // the first of the two that says so has c
	done := make(chan struct{})
	if !c.h.e.Spawn(func() {
		defer close(done)
		some, failed := ask()
		if over.Swap(true) {
			c.batch = some
			c.end()
			return
		}
		got, err = some, failed
	}) {
		return nil, ErrClosed
	}
	select {
	case <-done:
		return got, err
	case <-ctx.Done():
	}
	grace := time.NewTimer(send.Grace)
	defer grace.Stop()
	select {
	case <-done:
		return got, err
	case <-grace.C:
	}
	if over.Swap(true) {
		<-done
		return got, err
	}
	c.away = true
	return nil, core.ContextError(ctx)
}

// bears pauses after an error that may pass. It returns false after one that does not, or
// that has lasted for too long.
func (c *consumption) bears(ctx context.Context, err error) bool {
	if ctx.Err() != nil || !blocked.Passes(err) {
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

// look reads what nobody of the group has yet.
func (c *consumption) look() ([]rueidis.XRangeSlice, error) {
	return c.ask(func(got send.Answer) ([]rueidis.XRangeSlice, error) {
		all, err := got.AsXReadSlices()
		return all[c.post.key], err
	}, c.pages.Expect(xreadgroup), []string{c.post.key}, c.post.group, c.consumer, decimal(min(c.size, c.pages.N)))
}

// claim takes over what somebody was given and has not acknowledged.
func (c *consumption) claim() ([]rueidis.XRangeSlice, error) {
	c.claims = max(c.claims, min(c.size, c.pages.N))
	most, owed := c.claims, c.pages
	owed.Bytes = max(owed.Bytes, c.owed)
	if c.pages.Bytes > 0 { // else few would be looked at where nothing is idle
		most = min(most, c.pages.N)
	}
	got, err := c.ask(func(got send.Answer) ([]rueidis.XRangeSlice, error) {
		parts, err := got.ToArray()
		if err != nil || len(parts) < 2 {
			return nil, err
		}
		if c.from, err = parts[0].ToString(); err != nil {
			return nil, err
		}
		entries, err := parts[1].AsXRangeSlices()
		if err == nil && c.counts != nil {
			return c.count(entries) // after an error they come again, with their attempts
		}
		return entries, err
	}, owed.Expect(xautoclaim), []string{c.post.key}, c.post.group, c.consumer, decimal(core.Millis(c.cfg.idle)), c.from, "COUNT", decimal(most))
	if c.claims = min(2*c.claims, max(c.size, mostBatch)); len(got) > 0 { // pages in which nothing is idle are passed quickly
		c.claims = c.size
	}
	if err == nil && c.from == "0-0" && c.anew {
		c.anew = false
	} else if err == nil && c.from == "0-0" {
		c.claimed = time.Now() // else there may be more; of an answer that took long, too, so that new ones are read
	}
	return got, err
}

// ask makes an exchange to its end, also when the loop is over: what it brings is not given to
// anybody else for a while. What did not arrive is claimed later, with more time.
func (c *consumption) ask(as func(send.Answer) ([]rueidis.XRangeSlice, error), op send.Operation, on []string, args ...string) (got []rueidis.XRangeSlice, err error) {
	c.read = time.Now()
	during := c.h.e.During(func() {
		var answer send.Answer
		if answer, err = c.h.e.Run(context.Background(), op, on, args); answer.Replayed || errors.Is(err, ErrOutcomeUnknown) {
			c.owed = min(max(paging.Growth*c.owed, paging.Bytes), mostOwed)
		}
		if err == nil && !answer.Nil {
			got, err = as(answer)
		}
	})
	c.came = time.Now()
	if !during {
		return nil, ErrClosed
	}
	if len(got) > 0 {
		c.pages.Saw(len(got), bytesOf(got))
	}
	return got, err
}

// mostOwed bounds for how long a server may be silent to a claim.
const mostOwed = 16 << 20

// mostWait is how long nobody looks, whatever is heard.
const mostWait = 5 * time.Second

// wait waits until there may be something. One consumer of a group waits; the others queue
// after it.
func (c *consumption) wait(ctx context.Context) ([]rueidis.XRangeSlice, error) {
	if c.listen(ctx) {
		c.claimed = time.Time{} // what went back before was told to nobody here
		return nil, nil
	}
	d := c.h.posts.Get(c.post)
	defer c.h.posts.Put(c.post, d)
	since := c.h.e.Now().Mono
	due := time.NewTimer(c.dues.Left())
	defer due.Stop()
	select {
	case d.First <- struct{}{}:
	case <-due.C:
		return nil, nil
	case <-ctx.Done():
		return nil, nil
	case <-c.h.e.Closing():
		return nil, nil
	}
	defer func() { <-d.First }()
	if err := d.Outage.GivenUp(c.h.e.Sender, since); err != nil {
		c.silence = borne
		return nil, err
	}
	last, err := send.Reading(c.h.e.Sender, ctx, func() (string, error) {
		return c.h.e.LastDelivered(context.Background(), c.post.key, c.post.group)
	})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err == nil && last == "" {
		err = ErrNoGroup
	}
	if err != nil {
		if lasted, _ := d.Outage.Failed(c.h.e.Sender, err); lasted > c.h.e.WatchdogTimeout {
			c.silence = borne
		}
		return nil, err
	}
	d.Outage.Answered()
	tips := c.h.tips
	if tips.Enter(c.post.key, last) {
		c.h.poller.Tell(tips.Kind, c.post.key)
	}
	defer tips.Leave(c.post.key)
	place := c.h.poller.Join(tips.Kind, c.post.key)
	if c.back.Load() {
		c.h.poller.Leave(place)
		return nil, nil
	}
	got, err := c.answered(ctx, c.look) // what came before it stood in line
	if err != nil || len(got) > 0 {
		c.h.poller.Leave(place)
		return got, err
	}
	return nil, c.await(ctx, d, place)
}

// borne marks an outage that another waiter has borne already: it began long ago.
var borne = time.Unix(1, 0)

func (c *consumption) await(ctx context.Context, d *wait.Door, place poller.Place) error {
	left := max(min(c.cfg.idle/2-time.Since(c.claimed), mostWait, c.dues.Left()), time.Millisecond)
	waiting, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	got, ended := c.h.poller.Await(waiting, place)
	if ended || got.Err == nil {
		return nil
	}
	c.silence = borne
	if send.Transient(got.Err) {
		d.Outage.GaveUp(c.h.e.Sender, got.Err)
	}
	return got.Err
}
