package reliable

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// consumerKey is what those share who take from one queue in one way.
type consumerKey struct {
	key    string
	policy unique.Handle[policy]
}

// consumer is all of a client who take from one queue in one way. It has one exchange
// with the server under way at a time; what comes meanwhile goes with the next.
type consumer struct {
	places.Entry
	h      *hub
	key    consumerKey
	policy policy
	number int // nobody else's meanwhile
	of     *names
	me     string   // whom the server knows
	due    core.Key // of the timer

	// What follows belongs to the exchange.
	pending  *flight   // one without an answer, which has to be said again
	carry    []*settle // of those whose callers have gone with an error
	enrolled bool      // the server may know that it waits
	failing  time.Time // since when exchanges fail; zero: they do not
	more     bool      // the last one has left messages that are wanted
	text     string    // the terms of the queue, as far as it knows
	terms    Terms     // the same
	told     bool      // it knows them

	keeps  atomic.Bool  // messages that are done are kept, as far as it knows
	flowed atomic.Int64 // when a request was sent that found no pause, ns since the hub began; 0: not lately

	mu      sync.Mutex
	takers  []*taker
	failure error     // of the last exchange; nil: it was answered
	failed  time.Time // when that was
	lookAt  time.Time // when it looks again
	joining bool      // it is about to hear
	sub     *pubsub.Subscription
	cancels *pubsub.Subscription
	users   bool // somebody wants messages, or did a moment ago
	retries bool // it looks again also without them
}

// mostWait is how long nobody looks if nothing is heard.
const mostWait = 5 * time.Second

func (h *hub) newConsumer(key consumerKey) *consumer {
	c := &consumer{h: h, key: key, policy: key.policy.Value(), number: h.number(key.key), of: newNames(h.e, key.key), me: h.e.ClientID}
	if c.number > 0 {
		c.me += "." + decimal(c.number)
	}
	c.due = core.Key{Kind: "reliable queue " + decimal(c.number), Name: key.key}
	h.mu.Lock()
	text, told := h.terms[key]
	h.mu.Unlock()
	if !told {
		text = c.policy.given // as they are on a queue that nobody has used
	}
	if err := c.follow(text); err == nil {
		c.told = told
	}
	return c
}

// follow takes over the terms of the queue.
func (c *consumer) follow(text string) error {
	t, err := termsOf(text)
	if err == nil {
		c.text, c.terms = text, t
		c.keeps.Store(t.KeepDone > 0)
	}
	return err
}

// hearsTerms takes what the server has said of the terms: nothing if they are those that it was told. It is an error if they
// are others than those that the consumer was given.
func (c *consumer) hearsTerms(news string) error {
	if news == "?" { // the answer to a repeated request does not say it: the next one does
		return nil
	}
	if strings.HasPrefix(news, "!") {
		given, bad := termsOf(c.policy.given)
		stored, worse := termsOf(news[1:])
		if err := errors.Join(bad, worse); err != nil {
			return err
		}
		return otherTerms(given, stored)
	}
	if stored, others := strings.CutPrefix(news, "="); others {
		if err := c.follow(stored); err != nil {
			return err
		}
	} else if c.told {
		return nil
	}
	c.told = true
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if len(c.h.terms) >= mostTold {
		clear(c.h.terms)
	}
	c.h.terms[c.key] = c.text
	return nil
}

// taker is somebody who wants messages.
type taker struct {
	want  int
	waits bool // until there are some
	ahead int  // so many of what it wants it cannot begin with
	full  bool // it got all that it wanted, once since filled was asked
	got   []*delivery
	err   error
	news  chan struct{} // poked when there is something
}

func newTaker(want int, waits bool) *taker {
	return &taker{want: want, waits: waits, news: make(chan struct{}, 1)}
}

func (t *taker) poke() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// join has t get messages.
func (c *consumer) join(t *taker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = true
	c.takers = append(c.takers, t)
}

// wants has t get so many more.
func (c *consumer) wants(t *taker, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.want += more
}

// sets has t get n, with what it has got and not taken yet.
func (c *consumer) sets(t *taker, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.want = max(n-len(t.got), 0)
}

// take returns what t got.
func (c *consumer) take(t *taker) (got []*delivery, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got, err = t.got, t.err
	t.got, t.err = nil, nil
	return got, err
}

// filled reports whether t got all that it wanted, at a moment since it was asked last: then the server does not know that
// it waits, whatever it wants by now.
func (c *consumer) filled(t *taker) (full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	full, t.full = t.full, false
	return full
}

// fails notes why a send has failed.
func (c *consumer) fails(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure, c.failed = why, time.Now()
}

// unanswered returns the error of a wait that ctx has ended, with why the server was not reached.
func (c *consumer) unanswered(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.failed) > mostWait+2*c.h.e.SendTimeout() { // a consumer asks more often while it has callers
		return core.ContextError(ctx)
	}
	return send.Unanswered(ctx, c.failure)
}

// leave takes t out. What it got and did not take goes to others, or back.
func (c *consumer) leave(t *taker) {
	c.mu.Lock()
	if i := slices.Index(c.takers, t); i >= 0 {
		c.takers = slices.Delete(c.takers, i, i+1)
	}
	spare := c.deal(t.got)
	t.got = nil
	none := t.want > 0 && c.demand() == 0
	c.mu.Unlock()
	c.giveBack(spare)
	if none {
		c.look() // the server need not tell it of messages any more
	}
}

// deal gives messages to those who want some, in turns, and returns what nobody
// wants. It is under the mutex.
func (c *consumer) deal(all []*delivery) (spare []*delivery) {
	for i, d := range all {
		t := c.next()
		if t == nil {
			return all[i:]
		}
		t.want--
		t.full = t.full || t.want == 0
		t.got = append(t.got, d)
		t.poke()
	}
	return nil
}

// next returns the taker that gets the next message, and puts it after the others.
func (c *consumer) next() *taker {
	for i, t := range c.takers {
		if t.want > 0 {
			copy(c.takers[i:], c.takers[i+1:])
			c.takers[len(c.takers)-1] = t
			return t
		}
	}
	return nil
}

// demand returns how many messages are wanted. It is under the mutex.
func (c *consumer) demand() (n int) {
	for _, t := range c.takers {
		n += t.want
	}
	return n
}

// giveBack gives back messages that no handler of this process has seen.
func (c *consumer) giveBack(all []*delivery) {
	for _, d := range slices.Backward(all) { // each goes to the front
		d.post(&settle{nack: true, delay: untried}, ErrSettled)
	}
}

// look has an exchange made, with the next that leaves.
func (c *consumer) look() { c.h.steps.Post(c.key, ask{}) }

// arm has it look in d, or earlier.
func (c *consumer) arm(d time.Duration) {
	c.mu.Lock()
	c.lookAt = time.Now().Add(d)
	c.mu.Unlock()
	c.h.e.Due(c.due, d, c.timed)
}

// timed is called by the timer, which may come earlier than it is to look.
func (c *consumer) timed() time.Duration {
	c.mu.Lock()
	left, users := time.Until(c.lookAt), c.users || c.retries
	c.mu.Unlock()
	switch {
	case !users:
		return -1
	case left > 0:
		return left
	}
	c.look()
	return -1
}

// hear has the server's words come here, if they do not yet.
func (c *consumer) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub != nil || c.joining || !c.users {
		return
	}
	c.joining = c.h.e.Spawn(c.subscribe)
}

// subscribing bounds the wait for a subscription: it is asked for again with the next
// exchange that finds too little, or the next look for a result.
const subscribing = 5 * time.Second

func (c *consumer) subscribe() {
	ctx, cancel := context.WithTimeout(context.Background(), subscribing)
	defer cancel()
	// An event is a notification of the server, or says that some may have been missed.
	channel, heard := c.of.wake+c.me, func(pubsub.Event) { c.h.steps.Post(c.key, ask{woken: true}) }
	if c.policy.dead {
		channel, heard = c.of.cancelled, c.taken
	}
	sub, err := c.h.e.SubscribeTo(ctx, c.h.e.Channel(channel), heard)
	c.mu.Lock()
	c.joining = false
	if err != nil {
		c.mu.Unlock()
		c.h.e.Logger.Debug("a consumer does not hear of messages, and looks every few seconds", "name", c.of.key, "err", err)
		return
	}
	if !c.users {
		c.mu.Unlock()
		sub.Close()
		return
	}
	c.sub = sub
	c.mu.Unlock()
	if c.policy.dead {
		return
	}
	c.look() // it stands from now on
	cancels, err := c.h.e.SubscribeTo(ctx, c.h.e.Channel(c.of.cancelled), c.taken)
	if err != nil {
		return // a renewal says it, too
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.users || c.cancels != nil {
		cancels.Close()
		return
	}
	c.cancels = cancels
}

// left notes that nobody uses it any more.
func (c *consumer) left() {
	c.mu.Lock()
	sub, cancels, retries := c.sub, c.cancels, c.retries
	c.sub, c.cancels, c.users = nil, nil, false
	c.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
	if cancels != nil {
		cancels.Close()
	}
	if !retries {
		c.h.e.NotDue(c.due)
	}
}

// fail tells those who wait of an error, if it is no passing one, or lasts.
func (c *consumer) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.takers {
		t.err = err
		t.poke()
	}
}

// trouble handles an exchange that failed.
func (c *consumer) trouble(err error) {
	if c.failing.IsZero() {
		c.failing = time.Now()
	}
	lasts := time.Since(c.failing)
	c.fails(err)
	if !send.Transient(err) || lasts > c.h.e.WatchdogTimeout {
		c.fail(err)
	}
	if c.h.e.Open() != nil { // nobody comes back to it
		if f := c.pending; f != nil {
			c.pending = nil
			c.later(f, true)
		}
		for _, s := range c.carry {
			s.resolve(unsettled(err))
		}
		c.carry = nil
	}
	c.mu.Lock()
	c.retries = c.pending != nil || len(c.carry) > 0
	c.mu.Unlock()
	c.arm(min(max(lasts/10, 50*time.Millisecond), time.Second)*9/10 + rand.N(20*time.Millisecond))
}

var errNoAnswer = errors.New("the exchange before it has no answer yet")
