package semaphore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// place is where goroutines of a process wait for plain permits.
type place struct {
	waitRoom[struct{}]

	head   head
	asking atomic.Bool // for those whom crowd has listed
	least  int64       // the smallest request that the last look refused
	most   int         // hand-overs, by what the last look granted; 0 once nobody waits
}

func newPlace(e *locking.Engine) *place { return &place{waitRoom: waitRoom[struct{}]{e: e}} }

// heard takes notice of how a look went. That none are set is an answer.
func (p *place) heard(ctx context.Context, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case errors.Is(err, errNotSet):
		p.last.refused(p.e, errTryNotSet)
		return nil
	case err == nil:
		p.last.refused(p.e, ErrNotAcquired)
	case ctx.Err() == nil:
		p.last.failed(err)
	}
	return err
}

// errTryNotSet is the error of a TryAcquire where no permits are set.
var errTryNotSet = fmt.Errorf("%w: %w", errNotSet, ErrNotAcquired)

// head is whoever has the turn, or gets it next.
type head struct {
	there  bool
	n      int64
	served bool // it has its permits
}

// reuse makes p ready for another semaphore, if nobody has listened with it.
func (p *place) reuse() bool {
	if p.ear != nil {
		return false
	}
	*p = *newPlace(p.e)
	return true
}

// enter takes the turn if nobody has it, and queues w else.
func (p *place) enter(w *handover.Waiter[struct{}]) (turn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if turn = p.join(w); turn {
		p.head = head{there: true, n: w.Size}
	}
	return turn
}

// pass gives the turn on. It reports whether the head that goes was served.
func (p *place) pass() (served bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	served = p.head.served
	if next := p.front(); next != nil {
		p.head = head{there: true, n: next.Size}
	} else {
		p.head, p.most = head{}, 0
		p.empties()
	}
	p.queue.Pass()
	return served
}

// served reports whether the head has its permits.
func (p *place) served() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head.served
}

// rest returns how long a new head sleeps before it looks. The last look counts for
// it, unless that refused only larger requests, or is too long ago.
func (p *place) rest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.looked || p.head.served || p.head.n < p.least {
		return 0
	}
	return longest(p.e) - (p.e.Mono() - p.when)
}

// starved reports whether somebody waits whom nobody may overtake.
func (p *place) starved() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused && (p.head.there && !p.head.served || p.front() != nil)
}

// handOn gives n permits to the next who waits for so many, without a call: on
// the server they stay taken. Nobody is passed over, and others get their turn.
func (p *place) handOn(n int64) bool {
	w, handed := p.heir(n)
	if w != nil {
		w.Hand(struct{}{})
	}
	return handed
}

// heir returns who gets n permits, out of the queue already; nil: the head has got them.
func (p *place) heir(n int64) (w *handover.Waiter[struct{}], handed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mayHandOn(max(p.most, p.e.Handovers)) {
		return nil, false
	}
	if p.head.there && !p.head.served {
		if p.head.n != n {
			return nil, false
		}
		p.head.served = true
		if p.ear != nil {
			p.ear.Poke()
		}
	} else if w = p.queue.Pick(n); w == nil {
		return nil, false
	}
	p.passes++
	return w, true
}

// crowd returns who is to be asked for: the head, and those behind it.
func (p *place) crowd() (runs []run, behind []*handover.Waiter[struct{}]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking.Store(true)
	p.looked = false
	runs = append(runs, run{kind: waitTake, size: p.head.n, count: 1})
	p.queue.Next(func(w *handover.Waiter[struct{}]) bool {
		if last := &runs[len(runs)-1]; last.size == w.Size {
			last.count++
		} else if len(runs) == mostRuns {
			return false
		} else {
			runs = append(runs, run{kind: waitTake, size: w.Size, count: 1})
		}
		behind = append(behind, w)
		return true
	})
	return runs, behind
}

// deal gives what the server granted to the head and the first of those behind
// it. It returns what is left, of those who have gone or had got theirs.
func (p *place) deal(granted int64, behind []*handover.Waiter[struct{}], heard bool) (left []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = granted < int64(len(behind)+1)
	p.looked, p.when = p.refused && heard, p.e.Mono()
	switch {
	case granted == 0:
		p.least = p.head.n
	case p.refused:
		p.least = behind[granted-1].Size
	}
	if granted == 0 {
		return nil
	}
	p.asked()
	p.most = p.e.Handovers * int(granted)
	if p.head.served {
		left = append(left, p.head.n)
	}
	p.head.served = true
	for _, w := range behind[:granted-1] {
		if !p.queue.HandTo(w, struct{}{}) {
			left = append(left, w.Size)
		}
	}
	return left
}
