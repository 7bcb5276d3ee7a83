package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Ask is what a caller wants of an acquire, options resolved.
type Ask struct {
	Lease   time.Duration // 0: the watchdog's, renewed
	Wait    time.Duration // how long a bounded one may wait
	Bounded bool          // give up when Wait is over, at once if it is 0
	Shared  bool          // others may hold it at the same time, such as readers
}

// Acquire waits for p's lock and gives it to seat. At most one goroutine of
// the process talks to the server about a key; the others queue behind it.
// ctx bounds the wait, and nothing else. If it fails, it gives on the turn that the caller may have.
func (e *Engine) Acquire(ctx context.Context, p Protocol, ask Ask, seat lease.Seat) (*Held, error) {
	if e.Open() != nil || !e.Tasks.Begin() {
		return nil, core.ErrClosed
	}
	defer e.Tasks.Done() // Close waits for what may yet be won, and given back
	if err := ctx.Err(); err != nil {
		return nil, core.ContextError(ctx)
	}
	if ask.Bounded && ask.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = core.Within(ctx, ask.Wait)
		defer cancel()
	}
	key := p.Key()
	c := waiter{e: e, p: p, ask: ask, key: key, local: e.locals.Get(key.Name)}
	held, err := c.admitted(ctx, seat)
	if err != nil {
		if kind, leaves := p.(Quitting); leaves && c.asked && !c.atOnce() {
			e.Spawn(func() { _ = kind.Quit(context.Background()) }) // what the wait has left on the server, which goes by itself
		}
		if c.hasTurn {
			c.local.queue.Settle()
			e.passTurn(c.local)
		}
		err = c.local.ended(e, err)
		e.locals.Put(key.Name, c.local)
	}
	if c.waits {
		e.Observer.WaitEnded(ctx, p.Label(), key.Shown(), e.Now().Mono-c.began, err)
	}
	return held, err
}

// waiter is one goroutine that wants the lock.
type waiter struct {
	e        *Engine
	p        Protocol
	ask      Ask
	key      core.Key
	local    *local
	hasTurn  bool // this goroutine has the turn in the local queue, and must pass it on
	asked    bool // the server was asked for it
	givesWay bool // those of this process who want to share it go first, see giveWay
	slow     int  // how many times it was won, and lost before the answer came

	walked   time.Duration // when all holds were last looked at for one in the way, see stood; 0: they were not
	stands   time.Duration // since when it has stood back for others that want it alone; 0: not yet
	thorough time.Duration // when the server was last asked for what takes more, see Try

	since time.Duration // since when it has waited for its turn; 0: it has not

	waits bool          // the observer was told that it waits, in the queue or as head
	began time.Duration // since when
}

// admitted refuses who asks for a lock of another family than those of this
// process which have the name, or wait for it.
func (c *waiter) admitted(ctx context.Context, seat lease.Seat) (*Held, error) {
	if err := c.local.claim(c.key); err != nil {
		return nil, err
	}
	if p, is := c.p.(Queued); is {
		line := *c // it would put c on the heap, for those of other kinds as well
		held, err := line.acquireFair(ctx, p, seat)
		*c = line
		return held, err
	}
	return c.acquire(ctx, seat)
}

func (c *waiter) acquire(ctx context.Context, seat lease.Seat) (*Held, error) {
	if c.hasTurn = c.local.queue.TryEnter(); c.hasTurn {
		return c.asHead(ctx, seat)
	}
	if held := c.join(ctx, seat); held != nil {
		return held, nil
	}
	if c.hasTurn = c.ask.Shared && c.local.queue.Lead(); c.hasTurn {
		return c.asHead(ctx, seat)
	}
	return c.queued(ctx, seat)
}

// join takes part in a hold that goroutines of this process share already.
func (c *waiter) join(ctx context.Context, seat lease.Seat) *Held {
	if !c.ask.Shared || c.ask.Lease > 0 {
		return nil
	}
	held, ok := c.local.queue.Join()
	if !ok {
		return nil
	}
	if held.join(seat, c.e.Now()) != nil {
		c.local.queue.Full(held)
		c.e.passTurn(c.local) // the part that came with it
		return nil
	}
	c.observeAcquired(ctx, true)
	return held
}

// atOnce reports whether the caller does not wait at all.
func (c *waiter) atOnce() bool { return c.ask.Bounded && c.ask.Wait == 0 }

// observeWait tells of a wait once, also of one that goes on as head.
func (c *waiter) observeWait(ctx context.Context) {
	if c.e.Observer != nil && !c.waits {
		c.waits, c.began = true, c.e.Now().Mono
		c.e.Observer.WaitStarted(ctx, c.p.Label(), c.key.Shown())
	}
}

func (c *waiter) observeAcquired(ctx context.Context, handed bool) {
	if c.e.Observer != nil {
		c.e.Observer.Acquired(ctx, c.p.Label(), c.key.Shown(), handed)
	}
}

// tooSlow is how many times in a row a lock may be won with an answer that took
// longer than its lease.
const tooSlow = 3

func tooSlowError(err error) error {
	return fmt.Errorf("the answers take longer than the lease: %w", err)
}

// asHead contends with other processes.
func (c *waiter) asHead(ctx context.Context, seat lease.Seat) (*Held, error) {
	held, err := c.compete(ctx)
	for err == nil && c.givesWay {
		var turn handover.Turn[*Held]
		if turn, err = c.giveWay(ctx); turn.Handed {
			return c.take(ctx, turn, seat)
		}
		if err == nil {
			held, err = c.compete(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	// Before the attach: with the hold's end, which may come at any moment
	// from then on, the turn is another's, and so is the subscription.
	if !held.shared {
		c.local.quietIfAlone()
	}
	err = held.attach(seat)
	switch {
	case err == nil:
		if held.fence > 0 {
			c.e.chains.Store(c.key.Name, held)
		}
		c.observeAcquired(ctx, false)
		return held, nil
	case errors.Is(err, core.ErrClosed):
		c.discard(held)
		return nil, err
	}
	held.GiveBackLater()
	if c.slow++; c.slow == tooSlow {
		if held.shared {
			c.hasTurn = false
			c.e.passTurn(c.local)
		}
		return nil, tooSlowError(err)
	}
	return c.again(ctx, held, seat)
}

// compete tries until the lock is won. The first try is on its own, since most
// need no other.
func (c *waiter) compete(ctx context.Context) (*Held, error) {
	if !c.local.subscriber.Load().listens() && c.e.Subscribed(c.p.Channel()) { // the process is subscribed already
		c.e.ListenIfStanding(ctx, &c.local.listener(c.p).Listener, c.channels())
	}
	if c.ask.Shared {
		c.local.queue.Hope()
	}
	held, left, err := c.askOnce(ctx)
	if c.ask.Shared && held == nil && c.hasTurn {
		c.local.queue.Refuse()
	}
	switch {
	case held != nil:
		c.local.word.Load().Answered()
		return held, nil
	case !c.hasTurn: // it was won after the caller had gone, and the turn went with it
		return nil, err
	case c.atOnce() && err == nil:
		c.local.word.Load().Answered()
		return nil, core.ErrNotAcquired
	case c.atOnce():
		if send.Transient(err) && c.e.Over(ctx) == nil {
			c.local.outage().Failed(c.e.Sender, err)
		}
		return nil, err
	case c.givesWay:
		return nil, err
	}
	return c.wait(ctx, left, err)
}

// wait goes on after a first try, as a Watch whose look is a try.
func (c *waiter) wait(ctx context.Context, left time.Duration, err error) (held *Held, _ error) {
	c.observeWait(ctx)
	waiting := *c // the look would put c on the heap, for those who need not wait as well
	err = c.e.WatchOn(ctx, wait.Watch{
		Key: c.key, By: &c.local.listener(c.p).Listener, Channels: c.channels(), Outage: c.local.outage(),
		Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
			held, left, err = waiting.askOnce(ctx)
			return left, held != nil || waiting.givesWay, err
		},
	}, left, err)
	*c = waiting
	return held, err
}

func (c *waiter) channels() []pubsub.Channel {
	all := []pubsub.Channel{c.e.Channel(c.p.Channel())}
	if p, is := c.p.(Announcing); is {
		all = append(all, c.e.Channel(p.Announced()))
	}
	return all
}

// askOnce asks the server once for the lock, after standing back for other processes. The caller keeps the turn, unless a hold
// is discarded: that takes the turn along. When ctx ends meanwhile, the answer gets a short grace. A hold that is won then goes
// to the next waiter of the process, or back. A silent server is not waited for: a cleanup task undoes its answer.
func (c *waiter) askOnce(ctx context.Context) (*Held, time.Duration, error) {
	if err := c.standBack(ctx); err != nil {
		return nil, 0, err
	}
	c.local.subscriber.Load().drain() // what was heard while it stood back
	try := Try{
		Owner: c.e.IDs.Private(), Lease: c.leased(), Again: c.asked, Queue: !c.atOnce(), Thorough: c.thoroughly(), Block: c.block(),
		Sharers: !c.ask.Shared && c.local.queue.Sharers(), Stood: c.stood(),
	}
	var tried Tried
	var err error
	answered := true
	if ctx.Done() == nil { // it stays on this goroutine, and nothing of it on the heap
		tried, err = c.p.Acquire(ctx, try)
	} else {
		tried, err, answered = c.e.askOutliving(ctx, c.p, try)
	}
	c.asked = true
	if !answered || send.MayHaveRun(err) || err == nil && !tried.Free && tried.Replayed { // a send may find the lock free when it arrives
		c.e.GiveBackLater(c.p, try.Owner, try.Lease)
	}
	if tried.Hint != 0 && c.ask.Shared { // somebody waits to have it alone
		c.local.brief.Store(int64(tried.Started.Mono + briefFor))
	}
	switch {
	case err != nil:
		return nil, 0, err
	case !tried.Free:
		c.refused(tried)
		return nil, tried.Left, c.e.Over(ctx)
	}
	held := c.e.newHeld(c.p, c.local, try.Owner, tried, c.ask.terms(c.e, tried.Started, try.Lease), c.ask.Shared)
	if held.shared { // the waiters that come next take part in it, also if the caller has left
		c.local.quietIfAlone()
		held.open()
	}
	// Won after the caller had gone; one whose WithWait has just ended is still there.
	if err := c.e.Over(ctx); err != nil && !errors.Is(err, core.ErrWaitOver) {
		c.discard(held)
		return nil, 0, err
	}
	return held, 0, nil
}

// standBack lets other processes go first, see handover.Courtesy. Those who
// share stand in nobody's way.
func (c *waiter) standBack(ctx context.Context) error {
	if c.ask.Shared {
		return nil
	}
	pause := c.local.courtesy.Pause()
	if pause == 0 {
		return nil
	}
	if err := c.e.Sleep(ctx, pause, nil); err != nil {
		return err
	}
	c.local.courtesy.Paused()
	return nil
}

// refused notes since when a reader stands back for others, and whether a writer gives way: the server says that it is the
// readers' turn, or readers of its process have waited behind it for a watchdog timeout.
func (c *waiter) refused(tried Tried) {
	c.local.courtesy.Refused()
	if c.ask.Shared {
		if tried.Hint > 0 && c.stands == 0 {
			c.stands = tried.Started.Mono
		}
		return
	}
	since, some := c.local.queue.OldestSharer()
	c.givesWay = tried.Hint != 0 || some && c.lasted(since)
}

// briefFor is how long the shared holds of a process are brief after it was told
// that somebody waits to have the lock alone: others come and go meanwhile, of
// whom it learns with its next try only.
const briefFor = time.Second

// leased returns what the server is asked for: shared holds have leases in steps.
func (c *waiter) leased() time.Duration {
	switch {
	case c.ask.Lease == 0:
		return c.e.WatchdogTimeout
	case c.ask.Shared:
		return min(c.ask.Lease, c.e.WatchdogTimeout)
	}
	return c.ask.Lease
}

// thoroughEvery is how often a wait asks for what takes the server more.
const thoroughEvery = time.Second

// thoroughly reports whether it is time for that. The first try of a wait never
// is one.
func (c *waiter) thoroughly() bool {
	now := c.e.Now().Mono
	if !c.asked {
		c.thorough = now
	}
	if now-c.thorough < thoroughEvery {
		return false
	}
	c.thorough = now
	return true
}

// stood reports whether one who shares has stood back for long enough, for others
// that the server knows of or for one of its process: those who want the lock alone
// may wait for a hold whose holder this one keeps waiting. The log says so then.
func (c *waiter) stood() bool {
	if !c.ask.Shared || !c.lasted(c.stands) && !c.lasted(c.since) {
		return false
	}
	if c.walked == 0 || c.lasted(c.walked) {
		c.walked = c.e.Now().Mono
		c.e.suspect(c.e.holder(func(h *Held) bool { return h.local == c.local }))
	}
	return true
}

// lasted reports whether a watchdog timeout has passed since then; 0: it has not
// begun.
func (c *waiter) lasted(since time.Duration) bool {
	return since > 0 && c.e.Now().Mono-since >= c.e.WatchdogTimeout
}

// terms are how a lease is kept.
type terms struct {
	lease time.Duration    // what a renewal asks for
	every time.Duration    // between renewals; 0: none
	end   watchdog.Instant // neither goes beyond; zero: no such end
}

// terms returns those of what an attempt that started then has won, for lease on the
// server. Several share a key's time to live, and another library shortens it to
// its own watchdog's: so a shared lease stands there in steps of ours, which are
// renewed until it ends, and is trusted for a step at most.
func (a Ask) terms(e *Engine, started watchdog.Instant, lease time.Duration) terms {
	switch {
	case a.Lease == 0:
		return terms{lease: lease, every: e.WatchdogTimeout / 3}
	case a.Shared:
		return terms{lease: e.WatchdogTimeout, every: e.WatchdogTimeout / 3, end: started.Add(a.Lease)}
	}
	return terms{lease: lease}
}

// attempt is an acquire on another goroutine, which may outlive its caller. It is used again, unless its caller has left
// it alone.
type attempt struct {
	send.Flight[Tried]
	fly func()
	ctx context.Context
	p   Protocol
	try Try
}

// attempt returns one that nobody uses, for a question.
func (e *Engine) attempt(p Protocol, try Try) *attempt {
	a, _ := e.attempts.Get().(*attempt)
	if a == nil {
		a = &attempt{Flight: send.Flight[Tried]{Landed: make(chan struct{}, 1)}}
		a.Call = func() (Tried, error) { return a.p.Acquire(a.ctx, a.try) }
		a.fly = a.Run
	}
	a.p, a.try = p, try
	return a
}

// used lets another use a, which has answered.
func (e *Engine) used(a *attempt) {
	a.ctx, a.p, a.try, a.Result, a.Err = nil, nil, Try{}, Tried{}, nil
	e.attempts.Put(a)
}

// askOutliving asks for the lock, for no longer than its caller is there and a moment more. While many calls of the process
// are under way, it stays on the caller's goroutine, and goes out together with theirs.
func (e *Engine) askOutliving(ctx context.Context, p Protocol, try Try) (tried Tried, err error, answered bool) {
	if !try.Again && e.Crowded() && !send.Followed(ctx) {
		l := &send.Leaving{Context: ctx, Over: ctx.Done(), Closing: e.Closing(), Patience: send.Grace}
		tried, err = p.Acquire(l, try)
		answered = !l.Left()
	} else {
		a := e.attempt(p, try)
		a.ctx = ctx
		if answered = a.Lands(e.Sender, ctx, send.Grace, a.fly); answered {
			tried, err = a.Result, a.Err
			e.used(a)
		}
	}
	if !answered {
		return Tried{}, e.WhyEnded(ctx), false
	}
	return tried, err, true
}
