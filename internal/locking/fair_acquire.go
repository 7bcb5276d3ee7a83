package locking

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// acquireFair acquires a lock whose order is the server's.
func (c *waiter) acquireFair(ctx context.Context, p Queued, seat lease.Seat) (*Held, error) {
	for try := 1; ; try++ {
		q := fairAcquire{c: c, p: p}
		held, err := q.acquire(ctx)
		if err != nil {
			return nil, err
		}
		switch err = held.attach(seat); {
		case err == nil:
			c.observeAcquired(ctx, q.granted)
			return held, nil
		case errors.Is(err, core.ErrClosed):
			c.e.giveBackUnseated(held)
			return nil, err
		}
		held.GiveBackLater()
		if try == tooSlow {
			return nil, tooSlowError(err)
		}
	}
}

// fairAcquire is one owner of a waiter's that asks for a Queued lock, and that
// has a place in its line if it waits.
type fairAcquire struct {
	c       *waiter
	p       Queued
	w       queueEntry
	line    *fairLine // nil until it waits
	granted bool      // by a release of this process
}

// acquire returns a hold that has no seat yet. Without one, it leaves nothing
// behind.
func (q *fairAcquire) acquire(ctx context.Context) (*Held, error) {
	q.w.owner = q.c.e.IDs.Private()
	q.w.lease = q.c.leased()
	q.w.every = q.c.ask.terms(q.c.e, watchdog.Instant{}, q.w.lease).every
	held, err := q.first(ctx)
	if held == nil && err == nil {
		q.c.observeWait(ctx)
		held, err = q.wait(ctx)
	}
	if err != nil {
		q.leave()
		return nil, err
	}
	if left := q.part(); left != nil {
		held = left
	}
	// Won after the caller had gone; one whose WithWait has just ended is still there.
	if err := q.c.e.Over(ctx); err != nil && !errors.Is(err, core.ErrWaitOver) {
		q.c.e.giveBackUnseated(held)
		return nil, err
	}
	return held, nil
}

// first asks without a place: most need none. If the process hears already
// whose turn it is, it asks for one at once; so does one of many.
func (q *fairAcquire) first(ctx context.Context) (*Held, error) {
	waits := !q.c.atOnce()
	held, err, asked := q.firstTry(ctx, waits && q.hears(ctx))
	switch {
	case !asked:
		return nil, nil
	case held != nil:
		return held, nil
	case !waits && err == nil:
		return nil, core.ErrNotAcquired
	case waits && err != nil:
		q.join()
		return nil, q.bear(ctx, err)
	}
	return nil, err
}

// firstTry asks, unless very many do so already without a place.
func (q *fairAcquire) firstTry(ctx context.Context, hears bool) (held *Held, err error, asked bool) {
	if hears || q.c.atOnce() {
		held, err = q.try(ctx, hears)
		return held, err, true
	}
	if asked = q.c.local.firsts.Add(1) <= mostSends; asked {
		held, err = q.try(ctx, false)
	}
	q.c.local.firsts.Add(-1)
	return held, err, asked
}

// hears joins the line if the process listens anyway.
func (q *fairAcquire) hears(ctx context.Context) bool {
	if there := q.c.local.fairLine(); there == nil || !there.listens() {
		if !q.c.e.Subscribed(q.p.Turns()) {
			return false
		}
	}
	q.join()
	return q.listen(ctx) == nil
}

func (q *fairAcquire) join() {
	if q.line == nil {
		q.w.poke = make(chan struct{}, 1)
		q.line = q.c.local.fairLineOf(q.c.e, q.p)
		q.line.join(&q.w)
	}
}

func (q *fairAcquire) listen(ctx context.Context) error {
	if q.line.listens() {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, q.c.e.SendTimeout())
	defer cancel()
	return q.line.listen(bounded)
}

// wait queues, and waits until it is granted the lock or told to ask again. A
// process listens before it queues: the server passes over those that nobody
// hears of.
func (q *fairAcquire) wait(ctx context.Context) (*Held, error) {
	q.join()
	for {
		if err := q.listen(ctx); err != nil {
			if over := q.c.e.Over(ctx); over != nil {
				return nil, over
			}
			if err := q.bear(ctx, err); err != nil {
				return nil, err
			}
			continue
		}
		held, err := q.step(ctx)
		if held != nil {
			return held, nil
		}
		if err == nil {
			err = q.sleep(ctx)
		} else {
			err = q.bear(ctx, err)
		}
		if err != nil {
			return nil, err
		}
	}
}

// step does what is to be done: takes what was granted, asks, or keeps the
// places of the process.
func (q *fairAcquire) step(ctx context.Context) (*Held, error) {
	ask, held := q.line.asks(&q.w)
	switch {
	case held != nil:
		return q.taken(held), nil
	case ask || !q.w.queued:
		return q.try(ctx, true)
	case q.line.keeps(&q.w) == 0:
		if err := q.line.outage.GivenUp(q.c.e.Sender, q.w.since); err != nil { // nobody else changes since
			return nil, err
		}
		return nil, q.line.keep(ctx)
	}
	return nil, nil
}

// try asks the server once, for a first place behind those of this process who
// ask for theirs. It is in pieces, so that the stack of one who waits stays at
// 4 KB: what is on it while the server is asked stays little.
func (q *fairAcquire) try(ctx context.Context, queue bool) (*Held, error) {
	first := queue && !q.w.queued
	if first {
		if err := q.send(ctx); err != nil {
			return nil, err
		}
	}
	a := q.asking(queue)
	answered := q.outliving(ctx, a)
	if first {
		q.line.sent()
	}
	if !answered {
		q.w.late = true
		if held := q.grant(); held != nil {
			return held, nil
		}
		return nil, q.c.e.WhyEnded(ctx)
	}
	return q.answered(ctx, queue, a)
}

// asking returns what is asked.
//
//go:noinline
func (q *fairAcquire) asking(queue bool) *attempt {
	slack := firstSlack
	if q.line != nil {
		slack = q.line.slack()
	}
	return q.c.e.attempt(q.p, Try{Owner: q.w.owner, Lease: q.w.lease, Queue: queue, Again: q.w.queued, Slack: slack})
}

// outliving asks for no longer than the caller is there and a moment more. If it has not been answered by then, a is left
// alone. Who is going to wait has another goroutine ask in any case: a stack that something was sent on stays several
// times as large for as long as the wait lasts.
func (q *fairAcquire) outliving(ctx context.Context, a *attempt) (answered bool) {
	a.ctx = ctx
	if ctx.Done() == nil && !a.try.Queue {
		a.Result, a.Err = a.Call()
		return true
	}
	return a.Lands(q.c.e.Sender, ctx, send.Grace, a.fly)
}

// answered takes in what the server has said.
//
//go:noinline
func (q *fairAcquire) answered(ctx context.Context, queue bool, a *attempt) (*Held, error) {
	tried, err := a.Result, a.Err
	q.c.e.used(a)
	q.w.late = q.w.late || send.MayHaveRun(err) || tried.Replayed
	if held := q.grant(); held != nil {
		return held, nil
	}
	if err != nil {
		return nil, err
	}
	if tried.Free {
		q.c.local.word.Load().Answered()
		return q.won(tried), nil
	}
	q.c.local.outage().Refused(q.c.e.Sender)
	if queue {
		q.line.refused(&q.w, tried)
		q.hearJava(ctx, tried.Hint)
	}
	return nil, q.c.e.Over(ctx)
}

// mostSends is how many waiters of a line ask for their first place at the same
// time. More would not have it earlier, and each takes a goroutine while it asks.
const mostSends = 64

// send waits until it may ask for a first place, in the order of arrival.
func (q *fairAcquire) send(ctx context.Context) error {
	select {
	case q.line.sends <- struct{}{}:
		return nil
	default:
	}
	began := q.c.e.Now().Mono
	select {
	case q.line.sends <- struct{}{}:
		err := q.line.outage.GivenUp(q.c.e.Sender, began)
		if err != nil {
			q.line.sent()
		}
		return err
	case <-ctx.Done():
	case <-q.c.e.Closing():
	}
	return q.c.e.Over(ctx)
}

// grant returns what was granted while the server was asked.
func (q *fairAcquire) grant() *Held {
	if q.line == nil {
		return nil
	}
	return q.taken(q.line.given(&q.w))
}

// taken notes that a release of this process has granted held.
func (q *fairAcquire) taken(held *Held) *Held {
	if held != nil {
		q.granted = true
		if q.w.late {
			held.extra.late = q.w.owner
		}
	}
	return held
}

// won makes a hold of what the server has given. From now on a release of this
// process has nothing to deliver.
func (q *fairAcquire) won(tried Tried) *Held {
	if held := q.part(); held != nil {
		return held
	}
	held := q.c.e.holdFair(q.p, q.c.local, &q.w, tried)
	if q.w.late {
		held.extra.late = q.w.owner
	}
	return held
}

// hearJava listens where another library tells this waiter that it is its turn,
// and asks again: it may have been told meanwhile. Without, the line finds out
// later.
func (q *fairAcquire) hearJava(ctx context.Context, hint int64) {
	if hint == 0 || q.w.java != nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, q.c.e.SendTimeout())
	defer cancel()
	line, owner := q.line, q.w.owner
	sub, err := q.c.e.Subscribe(bounded, q.p.Told(owner), func(pubsub.Event) { line.tell(owner) })
	if err != nil {
		return
	}
	q.w.java = sub
	line.tell(owner)
}

// sleep waits for news of this waiter, and for its turn to keep the line.
func (q *fairAcquire) sleep(ctx context.Context) error {
	due := q.line.keeps(&q.w)
	if due >= 0 {
		return q.c.e.Sleep(ctx, due, q.w.poke)
	}
	select {
	case <-q.w.poke:
	case <-ctx.Done():
	case <-q.c.e.Closing():
	}
	return q.c.e.Over(ctx)
}

// bear lets a wait outlast a server that is away for a moment. All who wait in a
// line bear the same outage.
func (q *fairAcquire) bear(ctx context.Context, err error) error {
	return q.c.e.Bear(ctx, q.line.outage, q.c.key.Name, q.w.poke, err)
}

// part leaves the line, and returns what was granted meanwhile.
func (q *fairAcquire) part() (held *Held) {
	if q.line != nil {
		held = q.taken(q.line.part(&q.w))
	}
	if q.w.java != nil {
		q.w.java.Close()
		q.w.java = nil
	}
	return held
}

// leave takes the place back, and what it may have been granted. That does not
// keep the caller for long, who is on its way out.
func (q *fairAcquire) leave() {
	if held := q.part(); held != nil {
		q.c.e.giveBackUnseated(held)
		return
	}
	owner, late, lease, e, p := q.w.owner, q.w.late, q.w.lease, q.c.e, q.p
	if !late && !q.w.queued {
		return // it was refused, and has nothing there
	}
	e.briefly(func() {
		var err error
		if late {
			_, err = p.GiveBack(context.Background(), owner)
		} else {
			err = p.Quit(context.Background(), owner)
		}
		if err != nil {
			e.GiveBackLater(p, owner, lease)
		}
	})
}

// briefly runs what a caller leaves behind, and keeps it for a moment at most.
func (e *Engine) briefly(f func()) {
	done := make(chan struct{})
	e.SpawnWithin(func() {
		defer close(done)
		f()
	})
	timer := time.NewTimer(send.Grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// holdFair puts what w has won under the watchdog's care. It keeps the name
// for its family. Whether a send of w may still arrive is w's to say.
func (e *Engine) holdFair(p Queued, l *local, w *queueEntry, tried Tried) *Held {
	h := &Held{since: tried.Started.Mono, fence: tried.Fence}
	h.Init(e.Keeper, p, w.owner)
	h.extra = &extra{claim: l}
	h.Care(tried.Started, w.lease, w.every, watchdog.Instant{}, h)
	l.last.Store(h) // whole, see newHeld
	return h
}

// releaseFair gives a hold back, to the next waiter if that is of this
// process.
func (h *Held) releaseFair(ctx context.Context, p Queued) error {
	l := h.extra.claim
	waiters, next := l.fairLine().candidates()
	var granted HandoverResult
	var err error
	if h.late() == "" {
		granted, err = p.ReleaseTo(ctx, h.Bearer, next)
	} else {
		granted.Released, err = p.GiveBack(ctx, h.Bearer)
	}
	if err != nil {
		h.GiveBackLater()
		for _, w := range waiters { // they may have been granted the lock
			l.fairLine().tell(w.owner)
		}
		return send.Deferred(err)
	}
	for _, w := range waiters {
		if w.owner != granted.Owner {
			continue
		}
		// A waiter that has left has given the lock back by that, and one that has taken it has it.
		held := h.engine().holdFair(p, l, w, Tried{Started: granted.Started, Fence: granted.Fence})
		if !l.fairLine().deliver(w, held) {
			held.Finish(core.ErrReleased)
		}
	}
	if granted.Held || granted.Replayed && h.Lease.Trusted(h.engine().Now()) {
		return nil
	}
	return h.LossOf(watchdog.ErrGone)
}

// giveBackUnseated gives back a hold that has no seat, and that keeps its caller from
// nothing.
func (e *Engine) giveBackUnseated(h *Held) {
	e.locals.Get(h.Key().Name) // the caller's own reference goes before the release has ended
	// Not Spawn: Close may have stopped others, but it waits for this caller,
	// and so for what the caller leaves behind.
	e.Tasks.Run(func() { // ends with the release, which has its own bound
		_ = h.sendRelease(context.Background()) // a failure is said again by its own cleanup task
		h.unclaim()
	})
}
