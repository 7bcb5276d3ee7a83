package ratelimiter

import (
	"context"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// stocks are the tokens that were taken beforehand, for each bucket.
type stocks struct {
	mu      sync.Mutex
	by      map[string]stock
	sweep   int   // how many there may be before the expired ones are looked for
	dropped marks // what was asked for before that is not kept
}

type stock struct {
	tokens int64
	last   answer // the bucket when they were taken; they are missing in it
	until  time.Duration
}

// fromStock serves a request from tokens that are here already, or takes some
// more along.
func (b *Bucket) fromStock(ctx context.Context, a ask) (answer, error) {
	now := b.core.e.Now().Mono
	if got, ok := b.core.stocks.serve(b.state, a, now); ok {
		return got, nil
	}
	a.extra = max(0, b.prefetch-b.core.stocks.tokens(b.state))
	got, err := b.askServer(ctx, a)
	if err == nil && got.taken < a.UpTo { // the rest is here
		got.taken += b.core.stocks.some(b.state, got.Rule, a.UpTo-got.taken, now)
		got.ok = got.taken > 0
	}
	if err == nil && got.ok && got.Rule.Generation == a.Rule.Generation { // what is in stock is not missing
		got.Missing = max(0, got.Missing-got.Rule.Ticks(b.core.stocks.tokens(b.state)))
	}
	if err == nil && got.extra > 0 {
		if back := b.core.stocks.add(b.state, got, b.prefetch, now); back > 0 {
			b.core.giveBackTokens(part{b.core, b.state, got.Rule, back, 0})
		}
	}
	return got, err
}

// tokens is how many are there.
func (s *stocks) tokens(state string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[state].tokens
}

func (s *stocks) serve(state string, a ask, now time.Duration) (answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, ok := s.by[state]
	if !ok {
		return answer{}, false
	}
	if now >= have.until || have.last.Rule.Generation != a.Rule.Generation {
		delete(s.by, state)
		return answer{}, false
	}
	if have.tokens < a.N*a.Requests() {
		return answer{}, false
	}
	have.tokens -= a.N * a.Requests()
	s.put(state, have)
	got := have.answer()
	got.taken = a.Requests()
	return got, true
}

// some takes up to n tokens that were taken by that rule.
func (s *stocks) some(state string, r *bucket.Rule, n int64, now time.Duration) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, ok := s.by[state]
	if !ok || now >= have.until || have.last.Rule.Generation != r.Generation {
		return 0
	}
	n = min(n, have.tokens)
	have.tokens -= n
	s.put(state, have)
	return n
}

// answer is the bucket as the process sees it: what it has in stock is not
// missing.
func (have stock) answer() answer {
	got := have.last
	got.ok, got.extra, got.together = true, 0, 0
	got.Missing = max(0, got.Missing-have.last.Rule.Ticks(have.tokens))
	return got
}

func (s *stocks) put(state string, have stock) {
	if have.tokens == 0 {
		delete(s.by, state)
		return
	}
	if s.by == nil {
		s.by, s.sweep = make(map[string]stock), bucket.MinSweep
	}
	s.by[state] = have
}

// tidy makes room where there are many: keys that nobody asks for again would
// stay otherwise.
func (s *stocks) tidy(now time.Duration) {
	if s.by == nil || len(s.by) < s.sweep {
		return
	}
	for state, have := range s.by {
		if now >= have.until {
			delete(s.by, state)
		}
	}
	s.sweep = max(bucket.MinSweep, 2*len(s.by))
}

// beside is what the process sees of a bucket that the server has looked at: a
// request would be served from stock first.
func (s *stocks) beside(a answer, state string, now time.Duration) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.by[state]; have.tokens > 0 && now < have.until && have.last.Rule.Generation == a.Rule.Generation {
		a.ok, a.Missing = true, max(0, a.Missing-a.Rule.Ticks(have.tokens))
	}
	return a
}

// add puts what an answer brought along into stock, and returns what is more
// than that may hold, since others brought some, too. What was asked for before
// a block or a reset goes nowhere.
func (s *stocks) add(state string, got answer, most int64, asked time.Duration) (back int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked <= s.dropped.of(state) {
		return 0
	}
	s.tidy(asked)
	have := s.by[state]
	if have.last.Rule == nil || have.last.Rule.Generation != got.Rule.Generation || asked >= have.until {
		have = stock{}
	}
	kept := min(got.extra, max(0, most-have.tokens))
	back = got.extra - kept
	got.Missing += got.Rule.Ticks(have.tokens + kept)
	s.put(state, stock{have.tokens + kept, got, asked + min(got.Rule.After(got.Rule.Full), forever-asked)})
	return back
}

// dropStock forgets what was taken beforehand.
func (h *hub) dropStock(state string) {
	now := h.e.Now().Mono
	h.stocks.mu.Lock()
	defer h.stocks.mu.Unlock()
	h.stocks.dropped.set(state, now)
	delete(h.stocks.by, state)
}
