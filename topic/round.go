package topic

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
)

const (
	// roundIn is how long a round waits for more feeds.
	roundIn = 5 * time.Millisecond
	// mostInRound is how many feeds one exchange of a round reads, and mostAtFirst how many
	// pending messages of each. Of what is new it reads one: there seldom is more.
	mostInRound = 100
	mostAtFirst = 10
)

// join has a feed read soon, together with others of its server: nothing was announced of
// it, so that there is seldom something to read. A client with thousands of topics needs a
// fraction of the time for that which visits of each of them take.
func (h *reliables) join(f *feed) {
	h.mu.Lock()
	s := f.server
	first := false
	if s != nil {
		s.round = append(s.round, f)
		first = len(s.round) == 1
	}
	h.mu.Unlock()
	switch {
	case s == nil:
		f.post()
	case first:
		h.e.Due(core.Key{Kind: "rounds of reliable topics", Name: s.node}, roundIn, s.goRound)
	}
}

// goRound reads the feeds that have joined.
func (s *server) goRound() (next time.Duration) {
	s.h.mu.Lock()
	all := s.round
	s.round = nil
	s.h.mu.Unlock()
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	for len(all) > 0 && s.h.e.Open() == nil {
		all = all[s.h.readTogether(l, all[:min(len(all), mostInRound)]):]
	}
	return -1
}

// asked is a feed in a round, and where its answers are.
type asked struct {
	f           *feed
	claim, read int // claim: -1 if it was not asked for what is pending
}

// readTogether reads feeds by one exchange, as many as bring mostRead bytes. It returns how many that are. Those that
// need more than that are visited.
func (h *reliables) readTogether(l *link, some []*feed) (n int) {
	now := time.Now()
	var all []asked
	var commands rueidis.Commands
	bytes := 0
	for _, f := range some {
		if bytes > mostRead {
			break
		}
		n++
		if !f.comes(l) {
			f.post()
			continue
		}
		a := asked{f, -1, 0}
		if f.asks(now.Add(lookGrid)) { // else it would have to be visited before the next round
			f.claimBegins(now)
			a.claim = len(commands)
			bytes += min(f.amount.count(), mostAtFirst) * f.amount.longest
			commands = append(commands, l.B().Arbitrary(f.claimWords("-", min(f.amount.count(), mostAtFirst))...).Build())
		}
		a.read = len(commands)
		bytes += max(f.amount.longest, unit/16)
		commands = append(commands, f.readWords(l, 1))
		all = append(all, a)
	}
	if len(all) == 0 {
		return n
	}
	known := l.tracks && l.id != ""
	if known {
		commands = append(commands, l.self())
	}
	answers := l.together(commands, bytes)
	for _, a := range all {
		a.ends(l, now, a.takeIn(answers))
	}
	if known && !l.same(answers[len(commands)-1]) {
		l.drop()
	}
	return n
}

// together sends commands whose answers have about so many bytes.
func (l *link) together(commands rueidis.Commands, bytes int) []rueidis.RedisResult {
	defer l.take(int64(bytes))()
	ctx, cancel := context.WithTimeout(context.Background(), l.h.patience())
	defer cancel()
	return l.DoMulti(ctx, commands...)
}

// ends ends the visit of a feed. What the server has refused is left to a visit of its own, which may take long.
func (a asked) ends(l *link, now time.Time, err error) {
	if final(err) {
		a.f.mu.Lock()
		a.f.claim = true
		a.f.mu.Unlock()
		a.f.ends(nil, true)
		a.f.leaves()
		a.f.post()
		return
	}
	a.f.ends(a.f.refused(l, now, err), true)
	a.f.leaves()
}

// takeIn delivers what was pending, and then what is new.
func (a asked) takeIn(answers []rueidis.RedisResult) (err error) {
	f := a.f
	if a.claim >= 0 {
		defer f.claimDone()
		var msg rueidis.RedisMessage
		from, missed := "", int64(0)
		if msg, err = answers[a.claim].ToMessage(); err == nil {
			from, missed, err = f.claims(msg)
		}
		if from != "" || missed > 0 {
			f.mu.Lock()
			f.claim = true // a visit asks for the rest, and for what was missed
			f.mu.Unlock()
		}
	}
	msg, failed := answers[a.read].ToMessage()
	got, failed := newMessages(msg, failed)
	if failed == nil {
		f.amount.saw(got[f.of.key])
		f.more = len(got[f.of.key]) > 0
		f.deliver(got[f.of.key], nil, false)
	}
	return cmp.Or(err, failed)
}

// comes begins a visit in a round, and reports whether a feed needs no other.
func (f *feed) comes(l *link) bool {
	f.stageMu.Lock()
	free := f.stage == resting
	if free {
		f.stage = visited
	}
	f.stageMu.Unlock()
	if !free {
		return false
	}
	f.turn.Lock()
	if l != nil && l.node == f.h.e.Node(f.of.key) && f.h.isRead(f) && f.routine(l, time.Now()) {
		return true
	}
	f.leaves()
	return false
}

// routine reports whether there is nothing to do but to read a feed, by l.
func (f *feed) routine(l *link, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	waits := f.watched.Load() == l || f.stop != nil && !l.tracks
	kept := !f.durable && now.Sub(f.tended) < keepEvery
	held := f.durable && (len(f.flight) == 0 || now.Sub(f.held) < f.lease()/3)
	return waits && (kept || held) && f.takes() && !f.claim && f.sick == (time.Time{}) && f.dues.Left() > 0 && f.amount.longest < unit
}
