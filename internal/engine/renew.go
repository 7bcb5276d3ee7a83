package engine

import (
	"context"
	"embed"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

//go:embed lua/*.lua
var lua embed.FS

// perScript is how many grants one renewal script serves, Redisson's number: a
// script blocks the server while it runs.
const perScript = 100

// renewer sends what the watchdog found due: one pipeline per node, so that a
// silent node costs nobody else's renewals, and in it one script per slot.
// Kinds do not mix in a pipeline either: each has a script of its own.
type renewer struct{ e *Engine }

// route is what a batch is grouped by.
type route struct {
	node  string
	fresh bool // on another connection, as the last attempt was not answered
	kind  *Renewal
}

// Renew returns at once: each pipeline has a goroutine of its own until its
// timeout, and the goroutine that finds out which node serves which slot may
// have to ask for that.
func (r renewer) Renew(batch []watchdog.Attempt, timeout time.Duration) {
	r.e.spawn(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		done := make(chan struct{})
		routes := r.split(batch)
		for to, part := range routes {
			go func() { // ended by ctx; waited for below
				defer func() { done <- struct{}{} }()
				r.send(ctx, to, part)
			}()
		}
		for range routes {
			<-done
		}
	})
}

func (r renewer) split(batch []watchdog.Attempt) map[route]map[uint16][]watchdog.Attempt {
	routes := make(map[route]map[uint16][]watchdog.Attempt)
	for _, a := range batch {
		held := grantOf(a.Lease).grant()
		slot := r.e.topo.slot(held.Key().Name)
		to := route{node: r.e.topo.node(slot), fresh: a.Misses > 0, kind: held.g.Renewal()}
		if routes[to] == nil {
			routes[to] = make(map[uint16][]watchdog.Attempt)
		}
		routes[to][slot] = append(routes[to][slot], a)
	}
	return routes
}

// asked is one attempt and the serial of the owners that it was sent with.
type asked struct {
	watchdog.Attempt
	serial int
}

// pack is the scripts of one pipeline, and which attempts each of them serves.
// A hold whose export is not settled stands under one of two owners and takes
// two places.
type pack struct {
	kind  *Renewal
	calls []scripts.Call
	of    [][]asked
}

func (p *pack) add(a watchdog.Attempt) {
	held := grantOf(a.Lease).grant()
	owner, pending, serial := held.owners()
	p.put(held.Key(), owner, asked{a, serial})
	if pending != "" {
		p.put(held.Key(), pending, asked{a, serial})
	}
}

func (p *pack) put(key Key, owner string, a asked) {
	i := len(p.calls) - 1
	call := &p.calls[i]
	call.Keys, call.Args = p.kind.Add(call.Keys, call.Args, key, owner, a.Ask)
	p.of[i] = append(p.of[i], a)
}

func packed(kind *Renewal, bySlot map[uint16][]watchdog.Attempt) *pack {
	p := &pack{kind: kind}
	for _, attempts := range bySlot {
		for i, a := range attempts {
			if i%perScript == 0 {
				p.calls, p.of = append(p.calls, scripts.Call{}), append(p.of, nil)
			}
			p.add(a)
		}
	}
	return p
}

func (r renewer) send(ctx context.Context, to route, bySlot map[uint16][]watchdog.Attempt) {
	p := packed(to.kind, bySlot)
	started := r.e.Now()
	results := to.kind.Script.ExecMulti(ctx, r.e.topo.reach(to.node), to.fresh, p.calls)
	var failed error
	holds := 0
	for i, res := range results {
		holds += len(p.of[i])
		if err := r.settle(p.of[i], res, started); err != nil {
			failed = err
		}
	}
	if failed != nil {
		r.e.topo.doubt()
		r.e.Logger.Debug("renewal failed", "holds", holds, "err", failed)
	}
	if r.e.Observer != nil {
		r.e.Observer.Renewed(holds, r.e.Now().Mono-started.Mono, failed)
	}
}

// settle deals the answers of one script out.
func (r renewer) settle(attempts []asked, res rueidis.RedisResult, started watchdog.Instant) error {
	answers, err := res.ToArray()
	if err == nil && len(answers) != len(attempts) {
		err = errors.New("renewal script answered for another number of holds")
	}
	if err != nil {
		for _, a := range attempts {
			r.e.dog.Missed(a.Attempt)
		}
		return err
	}
	for i := 0; i < len(attempts); {
		n := i + 1
		for n < len(attempts) && attempts[n].Lease == attempts[i].Lease {
			n++
		}
		if e := r.answer(attempts[i], answers[i:n], started); e != nil {
			err = e
		}
		i = n
	}
	return err
}

// answer takes what the script said of one hold, under each owner that it may
// stand under.
func (r renewer) answer(a asked, answers []rueidis.RedisMessage, started watchdog.Instant) (failed error) {
	for _, answer := range answers {
		n, err := answer.AsInt64()
		switch {
		case err != nil:
			text, _ := answer.ToString()
			failed = errors.New(text)
		case n == 1:
			r.e.dog.Renewed(a.Attempt, started)
			return nil
		}
	}
	// An export that ran meanwhile has renamed the owner that was asked for.
	if _, _, serial := grantOf(a.Lease).grant().owners(); failed != nil || serial != a.serial {
		r.e.dog.Missed(a.Attempt)
		return failed
	}
	r.e.dog.Gone(a.Attempt)
	return nil
}
