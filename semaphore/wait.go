package semaphore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// waiters is shared by the goroutines of a process that wait for plain permits of one name.
type waiters struct {
	waitRoom[struct{}]

	asking atomic.Bool // a look has listed the waiters
	least  int64       // the smallest request that the last look refused
	most   int         // hand-overs, by what the last look granted
}

func newWaiters(e *locking.Engine) *waiters {
	return &waiters{waitRoom: waitRoom[struct{}]{Room: wait.Room[struct{}]{On: e.Waits, Heard: heard}}}
}

// waiter is one goroutine that waits for n permits.
type waiter struct {
	wait.Observed
	h    *shared
	of   *names
	p    *waiters
	n    int64
	turn *handover.Waiter[struct{}]

	handed bool // the permits came from another goroutine of this process
}

var _ wait.Member[struct{}] = (*waiter)(nil)

// label is the name of a semaphore for the observer.
const label = "semaphore"

// acquire waits for n permits. Close waits for it, and for what it may leave to do.
func (h *shared) acquire(ctx context.Context, of *names, n int64) (err error) {
	if !h.e.Tasks.Begin() {
		return ErrClosed
	}
	defer h.e.Tasks.Done()
	h.waiting.Add(1)
	defer h.waiting.Add(-1)
	w, _ := h.waiters.Get().(*waiter)
	if w == nil {
		w = &waiter{turn: handover.NewWaiter[struct{}](true)}
	}
	p := h.places.Get(of.key)
	*w = waiter{Observed: wait.Observed{On: h.e.Waits, Kind: label, Name: of.key}, h: h, of: of, p: p, n: n, turn: w.turn}
	w.turn.Size = n
	defer func() {
		listed := p.asking.Load() // by a look, which may have w on its list
		h.places.Put(of.key, p)
		if !listed {
			*w = waiter{turn: w.turn}
			h.waiters.Put(w)
		}
	}()

	p.Mu.Lock()
	first := p.enter(w.turn)
	if first {
		p.most = 0
	}
	p.Mu.Unlock()
	if first {
		err = p.Lead(ctx, w, false)
	} else {
		w.Begin(ctx)
		err = p.Await(ctx, w.turn, w, nil)
	}
	if err == nil {
		err = h.keepUnlessClosed(of, n)
	}
	w.End(ctx, err)
	if err == nil && h.e.Observer != nil {
		h.e.Observer.Acquired(ctx, label, of.key, w.handed)
	}
	return ended(err, p.end)
}

// keepUnlessClosed takes n granted permits. A client that closes releases them itself: their holder
// may come too late to do so.
func (h *shared) keepUnlessClosed(of *names, n int64) error {
	err := h.e.Open()
	if err != nil {
		h.giveBack(of, n)
	}
	return err
}

// Watch returns the wait of the head: it looks until there are permits.
func (w *waiter) Watch() (of wait.Watch, channel string) {
	return wait.Watch{Key: core.Key{Kind: label, Name: w.of.key}, Look: w.look}, w.of.channel
}

// Rest returns how long a new head sleeps before it looks. The last look counts for it, unless it
// refused only larger requests.
func (w *waiter) Rest() time.Duration {
	if w.n < w.p.least {
		return 0
	}
	return w.p.Lasts()
}

// Fail ends the waits of the waiters after the head if err is an outage.
func (w *waiter) Fail(err error) { w.p.fail(err) }

// Take takes the permits, or passes them on if the caller has gone.
func (w *waiter) Take(ctx context.Context, _ struct{}, handed bool, ended error) error {
	if ended != nil && !stillThere(ctx) {
		w.giveOn(w.n)
		return ended
	}
	w.handed = w.handed || handed
	return nil
}

// look asks the server once for all waiters, after standing back for other processes.
func (w *waiter) look(ctx context.Context) (left time.Duration, done bool, err error) {
	p := w.p
	if p.HeadServed() {
		w.handed = true
		return 0, true, nil
	}
	if err := standBack(ctx, w.h.e, &p.Courtesy); err != nil {
		return -1, false, err
	}
	all, runs, hears := p.list()
	defer p.asking.Store(false)
	got, err := w.h.table.Do(ctx, w.of.key, ask{of: w.of, kind: waitTake, queue: runs})
	if err == nil {
		err = got.err
	}
	for _, n := range p.distribute(ctx, got.n, all, hears, err) {
		w.giveOn(n)
	}
	if err != nil && !errors.Is(err, errNotSet) { // "not set" is an answer, not a failure
		return -1, false, err
	}
	if done = p.HeadServed(); !done {
		w.Begin(ctx)
	}
	return -1, done, nil
}

// list returns the waiters to ask for, the head first, and their requests. hears reports whether
// the head listens.
func (p *waiters) list() (all []*handover.Waiter[struct{}], runs []run, hears bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.asking.Store(true)
	p.Looked = false
	p.Asks()
	all = append(all, p.Head)
	runs = append(runs, run{kind: waitTake, size: p.Head.Size, count: 1})
	p.Queue.Next(func(w *handover.Waiter[struct{}]) bool {
		if last := &runs[len(runs)-1]; last.size == w.Size {
			last.count++
		} else if len(runs) == mostRuns {
			return false
		} else {
			runs = append(runs, run{kind: waitTake, size: w.Size, count: 1})
		}
		all = append(all, w)
		return true
	})
	return all, runs, p.Listens()
}

// distribute gives the permits that a look was granted to the first of all. It returns the rest:
// the permits of waiters that have gone or had theirs already. A look that failed with err was
// granted nothing.
func (p *waiters) distribute(ctx context.Context, granted int64, all []*handover.Waiter[struct{}], hears bool, err error) (left []int64) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if err == nil || errors.Is(err, errNotSet) || ctx.Err() == nil {
		p.last.heard(p.On, err)
	}
	if err != nil {
		return nil
	}
	p.refused = granted < int64(len(all))
	p.Looked, p.When = p.refused && hears, p.On.Mono()
	if p.refused {
		p.least = all[granted].Size
	}
	if granted == 0 {
		return nil
	}
	p.asked()
	p.most = p.On.Handovers * int(granted)
	for _, w := range all[:granted] {
		if !p.Serve(w, struct{}{}) {
			left = append(left, w.Size)
		}
	}
	return left
}

// giveOn passes on the permits of a waiter that has gone: to the next waiter, or to the server.
func (w *waiter) giveOn(n int64) {
	if !w.p.handOn(n) {
		w.h.giveBack(w.of, n)
	}
}

// handOn gives n permits to the next waiter if it waits for exactly n, without a call: on the
// server they stay taken. No waiter is passed over, and other processes get their turn.
func (p *waiters) handOn(n int64) bool {
	p.Mu.Lock()
	var w *handover.Waiter[struct{}]
	may := p.mayHandOn(max(p.most, p.On.Handovers))
	switch {
	case !may:
	case p.Head == nil || p.Served:
		w = p.Queue.Pick(n)
		may = w != nil
	case p.Head.Size == n:
		p.Serve(p.Head, struct{}{})
		p.Wake()
	default:
		may = false
	}
	if may {
		p.passes++
	}
	p.Mu.Unlock()
	if w != nil {
		w.Hand(struct{}{}) // without the mutex: waking a goroutine takes longer than all the rest
	}
	return may
}
