package semaphore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/places"
)

// place is what those who wait in one process for one semaphore share. The head
// of their queue talks to the server for all.
type place struct {
	places.Entry
	h *hub
	ears

	mu      sync.Mutex
	queue   handover.Queue[struct{}] // used under mu only, so that what is known of its head stays true
	head    head
	asking  atomic.Bool   // for those whom crowd has listed
	refused bool          // somebody who waits was refused, so that nobody may overtake
	looked  bool          // the last look of the head was answered, and the listener hears of what it did not see
	when    time.Duration // that answer came
	least   int64         // the smallest request that it refused
	passes  int           // hand-overs since the server was asked
	most    int           // of them, by what it granted last; 0 once nobody waits
	since   time.Duration // when that was
	failure error         // what the last head met for as long as a wait bears it
	word    word
}

// heard takes notice of how a look went. That none are set is an answer.
func (p *place) heard(ctx context.Context, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case errors.Is(err, errNotSet):
		p.word.refused(p.h.e, errNoneSet)
		return nil
	case err == nil:
		p.word.refused(p.h.e, ErrNotAcquired)
	case ctx.Err() == nil:
		p.word.failed(err)
	}
	return err
}

// errNoneSet is the error of a TryAcquire where no permits are set.
var errNoneSet = fmt.Errorf("%w: %w", errNotSet, ErrNotAcquired)

// end returns the error of a wait that WithWait ended with err.
func (p *place) end(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.word.end(p.h.e, err)
}

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
	*p = place{h: p.h}
	return true
}

// listener is made by the first who waits.
func (p *place) listener() *engine.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listen(p.h.e)
}

// gave has the head look, after this process gave permits to the server.
func (p *place) gave(woken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked()
	if p.ear != nil && !woken {
		p.ear.Poke()
	}
}

// asked begins the bounds of hand-overs anew.
func (p *place) asked() { p.passes, p.since = 0, p.h.e.Mono() }

// dismiss wakes those behind the head, when the client closes. They do not wait on its
// channel for that, since all of them would meet at its mutex.
func (p *place) dismiss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.Dismiss()
}

// fail ends the waits of those behind the head: the server has been away for as long
// as a wait bears that.
func (p *place) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
	p.queue.Dismiss()
}

// refusal returns why those were dismissed who waited behind the head.
func (p *place) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.h.e.Open(); err != nil || p.failure == nil {
		return ErrClosed
	}
	return p.failure
}

// enter takes the turn if nobody has it, and queues w else. Who comes when the client
// closes is refused at once, together with those whom dismiss would come to.
func (p *place) enter(w *handover.Waiter[struct{}]) (turn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if turn = p.queue.Enter(w); turn {
		p.head, p.refused, p.looked, p.word = head{there: true, n: w.Size}, false, false, word{}
	} else if p.h.e.Open() != nil {
		p.queue.Dismiss()
	}
	return turn
}

// leave takes w out of the queue, unless something has come to it.
func (p *place) leave(w *handover.Waiter[struct{}]) (turn handover.Turn[struct{}], came bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.Leave(w)
}

// front returns the first of those who wait behind the head.
func (p *place) front() (front *handover.Waiter[struct{}]) {
	p.queue.Next(func(w *handover.Waiter[struct{}]) bool {
		front = w
		return false
	})
	return front
}

// pass gives the turn on. It reports whether the head that goes was served.
func (p *place) pass() (served bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	served = p.head.served
	if next := p.front(); next != nil {
		p.head = head{there: true, n: next.Size}
	} else {
		p.head, p.refused, p.looked, p.most = head{}, false, false, 0
		if p.ear != nil {
			p.ear.Close() // the hub lets it linger
		}
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
	return longest(p.h.e) - (p.h.e.Mono() - p.when)
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
	if p.passes >= max(p.most, p.h.e.Handovers) || p.h.e.Mono()-p.since >= p.h.e.HandoverTime || p.h.e.Open() != nil {
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
	runs = append(runs, run{kind: wait, size: p.head.n, count: 1})
	p.queue.Next(func(w *handover.Waiter[struct{}]) bool {
		if last := &runs[len(runs)-1]; last.size == w.Size {
			last.count++
		} else if len(runs) == mostRuns {
			return false
		} else {
			runs = append(runs, run{kind: wait, size: w.Size, count: 1})
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
	p.looked, p.when = p.refused && heard, p.h.e.Mono()
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
	p.most = p.h.e.Handovers * int(granted)
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
