package locking

import (
	"strconv"
	"sync"
)

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
