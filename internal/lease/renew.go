package lease

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
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
type renewer struct{ k *Keeper }

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
	r.k.Spawn(func() {
		ctx, cancel := context.WithTimeout(r.k.Base(), timeout)
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
		held := GrantOf(a.Lease).grant()
		slot := r.k.Topo.Slot(held.Key().Name)
		to := route{node: r.k.Topo.Node(slot), fresh: a.Misses > 0, kind: held.Of.Renewal()}
		if routes[to] == nil {
			routes[to] = make(map[uint16][]watchdog.Attempt)
		}
		routes[to][slot] = append(routes[to][slot], a)
	}
	return routes
}

// asked is one attempt, the owner that it was sent with, and the serial of that.
type asked struct {
	watchdog.Attempt
	owner  string
	serial int
}

func (a asked) key() core.Key { return GrantOf(a.Lease).grant().Key() }

// pack is the scripts of one pipeline, and which attempts each of them serves.
// A hold whose export is not settled stands under one of two owners and takes
// two places.
type pack struct {
	kind  *Renewal
	calls []scripts.Call
	of    [][]asked
}

func (p *pack) put(key core.Key, a asked) {
	i := len(p.calls) - 1
	call := &p.calls[i]
	call.Keys, call.Args = p.kind.Add(call.Keys, call.Args, key, a.owner, a.Ask)
	p.of[i] = append(p.of[i], a)
}

func packed(kind *Renewal, bySlot map[uint16][]watchdog.Attempt) *pack {
	p := &pack{kind: kind}
	for _, attempts := range bySlot {
		for i, a := range attempts {
			if i%perScript == 0 {
				p.calls, p.of = append(p.calls, scripts.Call{}), append(p.of, nil)
			}
			held := GrantOf(a.Lease).grant()
			owner, pending, serial := held.owners()
			p.put(held.Key(), asked{a, owner, serial})
			if pending != "" {
				p.put(held.Key(), asked{a, pending, serial})
			}
		}
	}
	return p
}

func (r renewer) send(ctx context.Context, to route, bySlot map[uint16][]watchdog.Attempt) {
	started := r.k.Now() // before the packing, which may write the time
	p := packed(to.kind, bySlot)
	results, unconfirmed := r.exec(ctx, to, p.calls)
	failures := make([]error, len(results))
	var strays sync.WaitGroup
	holds := 0
	for i, res := range results {
		holds += len(p.of[i])
		if strayed(res.Error()) {
			r.k.Topo.MarkStale()
			strays.Go(func() { failures[i] = r.oneByOne(ctx, to, p.of[i]) }) // ended by ctx
			continue
		}
		failures[i] = r.settle(p.of[i], confirmed(said(res, len(p.of[i])), unconfirmed), started)
	}
	strays.Wait()
	failed := errors.Join(failures...)
	if failed != nil {
		r.k.Topo.MarkStale()
		r.k.Logger.Debug("renewal failed", "holds", holds, "err", failed)
	}
	if r.k.Observer != nil {
		r.k.Observer.Renewed(holds, r.k.Now().Mono-started.Mono, failed)
	}
}

// exec sends the scripts of one pipeline. Unconfirmed is why what it renewed does not
// count, if too few replicas have it.
func (r renewer) exec(ctx context.Context, to route, calls []scripts.Call) (results []rueidis.RedisResult, unconfirmed error) {
	client := r.k.Topo.Reach(to.node)
	if !r.k.RenewalAcks {
		return to.kind.Script.ExecMulti(ctx, client, to.fresh, calls), nil
	}
	node, err := r.k.Meet(ctx, to.node, calls[0].Keys[0])
	if err != nil {
		// The client of the whole cluster would leave a WAIT behind, elsewhere.
		return to.kind.Script.ExecMulti(ctx, client, to.fresh, calls), err
	}
	patience := r.k.AckTimeout
	if end, bounded := ctx.Deadline(); bounded {
		patience = min(patience, max(time.Until(end)*3/4, time.Millisecond)) // the answer comes before the end
	}
	results, wait := to.kind.Script.ExecMultiAcked(ctx, node, calls, int64(r.k.ReplicaAcks), core.Millis(patience))
	acks, err := wait.AsInt64()
	if err != nil {
		return results, err
	}
	return results, r.k.tooFew(acks)
}

// tooFew returns the error of what too few replicas have confirmed.
func (k *Keeper) tooFew(acks int64) error {
	if acks >= int64(k.ReplicaAcks) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d within %v", core.ErrNotReplicated, acks, k.ReplicaAcks, k.AckTimeout)
}

// confirmed returns what the server said of owners, of whom none counts as renewed for
// which unconfirmed says why.
func confirmed(words []word, unconfirmed error) []word {
	for i := range words {
		if unconfirmed != nil && words[i].stands {
			words[i] = word{err: unconfirmed}
		}
	}
	return words
}

// strayed reports that a node's own client asked a node which does not serve
// the slot, or not all of it.
func strayed(err error) bool {
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) {
		return false
	}
	_, moved := reply.IsMoved()
	return moved || send.Moving(err)
}

// oneByOne asks for each owner by itself, through the client that follows
// redirections: of a slot on the move some keys are here and some there. Replicas are
// not asked to confirm it: a WAIT would stay behind.
func (r renewer) oneByOne(ctx context.Context, to route, attempts []asked) error {
	started := r.k.Now() // likewise
	calls := make([]scripts.Call, len(attempts))
	for i, a := range attempts {
		calls[i].Keys, calls[i].Args = to.kind.Add(nil, nil, a.key(), a.owner, a.Ask)
	}
	var words []word
	for i, res := range to.kind.Script.ExecMulti(ctx, r.k.Redis, to.fresh, calls) {
		if strayed(res.Error()) && to.kind.Apart != nil {
			words = append(words, r.apart(ctx, to, attempts[i]))
		} else {
			words = append(words, said(res, 1)...)
		}
	}
	return r.settle(attempts, words, started)
}

// apart asks for each key of an owner by itself.
func (r renewer) apart(ctx context.Context, to route, a asked) (w word) {
	for _, part := range to.kind.Apart {
		keys, args := part.Add(nil, nil, a.key(), a.owner, a.Ask)
		res := part.Script.ExecMulti(ctx, r.k.Redis, to.fresh, []scripts.Call{{Keys: keys, Args: args}})[0]
		if w = said(res, 1)[0]; !w.stands {
			break
		}
	}
	return w
}

// word is what the server said of one owner.
type word struct {
	stands bool
	err    error // it said neither yes nor no
}

// said returns what one script said of that many owners.
func said(res rueidis.RedisResult, owners int) []word {
	answers, err := res.ToArray()
	if err == nil && len(answers) != owners {
		err = errors.New("renewal script answered for another number of holds")
	}
	words := make([]word, owners)
	for i := range words {
		if err != nil {
			words[i].err = err
			continue
		}
		n, err := answers[i].AsInt64()
		if err != nil {
			text, _ := answers[i].ToString()
			err = errors.New(text)
		}
		words[i] = word{n == 1, err}
	}
	return words
}

// settle deals words out, one for each attempt.
func (r renewer) settle(attempts []asked, words []word, started watchdog.Instant) (failed error) {
	for i := 0; i < len(attempts); {
		n := i + 1
		for n < len(attempts) && attempts[n].Lease == attempts[i].Lease {
			n++
		}
		if err := r.answer(attempts[i], words[i:n], started); err != nil {
			failed = err
		}
		i = n
	}
	return failed
}

// answer takes what was said of one hold, under each owner that it may stand
// under.
func (r renewer) answer(a asked, words []word, started watchdog.Instant) (failed error) {
	for _, w := range words {
		if w.stands {
			r.k.dog.Renewed(a.Attempt, started)
			return nil
		}
		failed = cmp.Or(failed, w.err)
	}
	// An export that ran meanwhile has renamed the owner that was asked for.
	if _, _, serial := GrantOf(a.Lease).grant().owners(); failed != nil || serial != a.serial {
		r.k.dog.Missed(a.Attempt)
		return failed
	}
	r.k.dog.Gone(a.Attempt)
	return nil
}
