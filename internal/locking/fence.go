package locking

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// tokens are the numbers that are reserved for the next holds of a chain: two
// blocks at most, of which the second was asked for while the first was used.
type tokens struct {
	first  int64 // that of the acquisition; it stays
	blocks [2]block
	asking bool
}

// block is so many numbers from next on.
type block struct {
	next int64
	left int
}

func (t *tokens) left() int { return t.blocks[0].left + t.blocks[1].left }

// add puts the n numbers up to last behind those that are there, of which one
// block at most is not used up.
func (t *tokens) add(last int64, n int) {
	next := block{last - int64(n) + 1, n}
	if t.blocks[0].left == 0 {
		t.blocks = [2]block{t.blocks[1]}
	}
	if t.blocks[0].left == 0 {
		t.blocks[0] = next
	} else {
		t.blocks[1] = next
	}
}

// take returns the next number. There is one left.
func (t *tokens) take() int64 {
	if t.blocks[0].left == 0 {
		t.blocks = [2]block{t.blocks[1]}
	}
	first := &t.blocks[0]
	first.next, first.left = first.next+1, first.left-1
	return first.next - 1
}

// block returns how many tokens an acquire asks for beside its own: one for each who
// waits already and may be handed the lock, or as many as the last chain had use
// for, since on a busy machine the answer for more may come when it is over.
func (c *waiter) block() int {
	if f, is := c.p.(Fencing); !is || !f.Fences() || c.ask.Lease > 0 || c.e.HandoverTime <= 0 {
		return 0
	}
	waiting := c.local.queue.Waiting()
	if waiting == 0 {
		return 0
	}
	return min(max(waiting, int(c.local.tokens.Load())), c.e.chainTokens())
}

// learn keeps how many tokens the chain that ends had use for: as many as holds
// it was handed to, and twice that if there were none left.
func (h *Held) learn() {
	if h.local == nil || h.extra == nil || h.extra.tokens.first == 0 {
		return
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	use := uint32(h.passes)
	if h.extra.tokens.left() == 0 {
		use *= 2
	}
	h.local.tokens.Store(use)
}

// chainTokens returns how many tokens a chain takes at most: not more than it lasts
// microseconds, so that the counter, which is at least the server's time in µs,
// does not run ahead of that.
func (e *Engine) chainTokens() int {
	return min(e.Handovers, int(e.HandoverTime/time.Microsecond))
}

// passFenced gives the hold to the next local waiter together with a token of its
// own. It is called under the mutex.
func (h *Held) passFenced() bool {
	t := &h.extra.tokens
	if t.left() == 0 || !h.local.queue.HandKind(h.Key().Kind, h) {
		return false
	}
	h.fence = t.take()
	return true
}

// stock asks for more tokens, if those who wait would have used up soon what
// there is. It is called when one of them comes, and does not keep it.
func (h *Held) stock() {
	by, fences := h.Of.(Fencing)
	waiting := h.local.queue.Waiting()
	if !fences || !h.mayPass(h.engine().Now()) {
		return
	}
	n := h.missing(waiting)
	if n == 0 {
		return
	}
	asked := h.engine().Spawn(func() { // ends with the script, which has its own bound
		last, err := by.Reserve(context.Background(), h.Owner(), n)
		if err != nil {
			last = 0
		}
		h.reserved(last, n)
	})
	if !asked {
		h.reserved(0, n)
	}
}

// missing returns how many tokens to ask for: one for each who waits, and at least as
// many as were used, so that a long chain asks seldom.
func (h *Held) missing(waiting int) int {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	t, used := &h.extra.tokens, int(h.passes)
	if _, ended := h.Lease.Ended(); ended || t.asking {
		return 0
	}
	room, left := h.engine().chainTokens()-used, t.left()
	if 2*left >= min(waiting, room) {
		return 0
	}
	n := min(max(waiting, used), room-left)
	t.asking = n > 0
	return n
}

// reserved takes the answer: the last of n numbers, or 0.
func (h *Held) reserved(last int64, n int) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	t := &h.extra.tokens
	t.asking = false
	if last > 0 {
		t.add(last, n)
	}
}

const (
	// mostHighest is how many locks a client remembers the highest token of.
	mostHighest = 10_000
	// topToken bounds what is remembered. It is far above every clock in µs, and below
	// 9e15, from where scripts do not count on.
	topToken = 8_000_000_000_000_000
)

// highest is the highest fencing token of each lock that this client has seen. A new
// token is above it, whatever became of the counter.
type highest struct {
	mu sync.Mutex
	of map[string]int64 // by the mapped name
}

// SawToken remembers a fencing token of the lock of a mapped name.
func (e *Engine) SawToken(name string, token int64) {
	h := &e.highest
	h.mu.Lock()
	defer h.mu.Unlock()
	if token > topToken || token <= h.of[name] {
		return
	}
	if h.of == nil {
		h.of = make(map[string]int64)
	}
	if _, known := h.of[name]; !known && len(h.of) >= mostHighest {
		for other := range h.of { // any one
			delete(h.of, other)
			break
		}
	}
	h.of[name] = token
}

// HighestToken returns the highest token that this client has seen of the lock of a
// mapped name, as scripts read it: 0 if it has seen none.
func (e *Engine) HighestToken(name string) string {
	h := &e.highest
	h.mu.Lock()
	defer h.mu.Unlock()
	return strconv.FormatInt(h.of[name], 10)
}
