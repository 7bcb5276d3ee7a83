package standby

import (
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
	last   bucket.State // the bucket when they were taken; they are missing in it
	until  time.Duration
}

// Stock returns how many tokens are there.
func (s *Standby) Stock(state string) int64 { return s.stocks.tokens(state) }

func (s *stocks) tokens(state string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[state].tokens
}

// Serve answers a request from stock if all that it wants is there.
func (s *Standby) Serve(state string, want *bucket.Want, now time.Duration) (bucket.State, bool) {
	k := &s.stocks
	k.mu.Lock()
	defer k.mu.Unlock()
	have, ok := k.by[state]
	if !ok {
		return bucket.State{}, false
	}
	if now >= have.until || have.last.Rule.Generation != want.Rule.Generation {
		delete(k.by, state)
		return bucket.State{}, false
	}
	if have.tokens < want.N*want.Requests() {
		return bucket.State{}, false
	}
	have.tokens -= want.N * want.Requests()
	k.put(state, have)
	return have.seen(have.last), true
}

// Some takes up to n tokens that were taken by that rule.
func (s *Standby) Some(state string, r *bucket.Rule, n int64, now time.Duration) int64 {
	k := &s.stocks
	k.mu.Lock()
	defer k.mu.Unlock()
	have, ok := k.by[state]
	if !ok || !have.usable(r, now) {
		return 0
	}
	n = min(n, have.tokens)
	have.tokens -= n
	k.put(state, have)
	return n
}

func (have stock) usable(r *bucket.Rule, now time.Duration) bool {
	return now < have.until && have.last.Rule.Generation == r.Generation
}

// seen returns the bucket as the process sees it: what it has in stock is not
// missing.
func (have stock) seen(b bucket.State) bucket.State {
	b.Missing = max(0, b.Missing-b.Rule.Ticks(have.tokens))
	return b
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

// Beside returns what the process sees of a bucket that the server has looked at, and
// whether a request would be served from stock first.
func (s *Standby) Beside(b bucket.State, state string, now time.Duration) (seen bucket.State, served bool) {
	k := &s.stocks
	k.mu.Lock()
	defer k.mu.Unlock()
	if have := k.by[state]; have.tokens > 0 && have.usable(b.Rule, now) {
		return have.seen(b), true
	}
	return b, false
}

// Add puts tokens that an answer brought along into stock, and returns what is
// more than that may hold, since others brought some, too. What was asked for
// before a block or a reset goes nowhere.
func (s *Standby) Add(state string, got bucket.State, extra, most int64, asked time.Duration) (back int64) {
	return s.stocks.add(state, got, extra, most, asked)
}

func (s *stocks) add(state string, got bucket.State, extra, most int64, asked time.Duration) (back int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked <= s.dropped.of(state) {
		return 0
	}
	s.tidy(asked)
	have := s.by[state]
	if have.last.Rule == nil || !have.usable(got.Rule, asked) {
		have = stock{}
	}
	kept := min(extra, max(0, most-have.tokens))
	got.Missing += got.Rule.Ticks(have.tokens + kept)
	s.put(state, stock{have.tokens + kept, got, bucket.Later(asked, got.Rule.After(got.Rule.Full))})
	return extra - kept
}

// Overturned forgets all that is known of a bucket, and what was taken
// beforehand.
func (s *Standby) Overturned(state string, now time.Duration) {
	s.Refilled(state, now)
	k := &s.stocks
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropped.set(state, now)
	delete(k.by, state)
}
