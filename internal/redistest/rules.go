package redistest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Rule concerns the requests that match, until Cancel.
type Rule struct {
	p     *Proxy
	match Match
	error string // what the proxy answers in the server's place; "": the server gets the request twice
	calls int
}

// Answer has the proxy answer matching requests with an error, such as "LOADING Redis is loading the dataset in memory". The
// server does not get them.
func (p *Proxy) Answer(match Match, err string) *Rule {
	return p.rule(&Rule{p: p, match: match, error: err})
}

// Twice has the proxy deliver matching requests twice, the second time right after the first. The client gets the first reply.
// Commands that change subscriptions are delivered once.
func (p *Proxy) Twice(match Match) *Rule { return p.rule(&Rule{p: p, match: match}) }

func (p *Proxy) rule(r *Rule) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
	return r
}

// Calls returns how many requests the rule has concerned.
func (r *Rule) Calls() int {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.calls
}

// Cancel ends the rule.
func (r *Rule) Cancel() {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.p.rules = slices.DeleteFunc(r.p.rules, func(other *Rule) bool { return other == r })
}

// ruled applies the first rule that matches a request. The mutex is held.
func (p *Proxy) ruled(it *item) {
	i := slices.IndexFunc(p.rules, func(r *Rule) bool { return r.match(it.cmd) })
	if i < 0 {
		return
	}
	switch r := p.rules[i]; {
	case r.error != "":
		r.calls++
		// The server answers something in its turn, which gives the error its place among the replies.
		it.cmd, it.raw, it.answer = []string{"PING"}, encode("PING"), []byte("-"+r.error+"\r\n")
	case !isConfirmation(strings.ToLower(it.cmd[0])):
		r.calls++
		it.twice = true
	}
}

// Jitter holds each request and each reply back for a time between nothing and these, in addition to [Proxy.Delay]. Order is kept.
func (p *Proxy) Jitter(requests, replies time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jitters = [2]time.Duration{requests, replies}
}

// Bandwidth has each connection carry so many bytes a second at most, each way. 0 ends that.
func (p *Proxy) Bandwidth(rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = rate
}

// carry waits until n bytes have passed one way.
func (l *link) carry(direction, n int) {
	l.p.mu.Lock()
	rate := l.p.rate
	l.p.mu.Unlock()
	if rate > 0 {
		l.meters[direction].takes(n, rate)
	}
}

// Lose loses each request and each reply with these probabilities, and with it all that follows that way on its connection, until
// [Proxy.Restore].
func (p *Proxy) Lose(requests, replies float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losses = [2]float64{requests, replies}
}

// lose decides whether a connection loses what is to be passed on now, and what follows. The mutex is held.
func (l *link) lose(direction int) {
	if p := l.p.losses[direction]; p > 0 && rand.Float64() < p {
		l.hole[direction] = true
	}
}
