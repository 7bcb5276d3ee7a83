package semaphore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// send makes one exchange about a semaphore. Each call has its own outcome, so it
// returns no error for all.
func (h *hub) send(_ string, flight int, b batch) error {
	if h.e.Open() != nil {
		if b = combine.Of(b, gives, answer{err: ErrClosed}); len(b) == 0 {
			return nil
		}
	}
	first := &b[0].Ask
	switch {
	case first.kind > give:
		b[0].Answer = h.single(flight, first)
	case len(b) == 1 && first.kind == take:
		b[0].Answer = h.take(flight, first)
	default:
		h.move(flight, b)
	}
	return nil
}

// gives is for what still goes out while the client closes.
func gives(a *ask) bool { return a.kind == give }

// request is one script call under a lane, and what is done about it when its
// outcome stays unknown.
type request struct {
	h  *hub
	of *names
	send.Request
	gives int64    // in all
	also  []string // further keys, if the script has some
	cause error    // what a send met that the client goes on with
}

// numbered has a request sent that gives so many.
func (h *hub) numbered(of *names, flight int, gives int64, ask func(r *request) ([]int64, error)) ([]int64, error) {
	return h.e.Numbered(of.lane, flight, of.key, func(r send.Request) ([]int64, error) {
		return ask(&request{h: h, of: of, Request: r, gives: gives})
	})
}

// run sends it. Takes wait for replicas, if the client does.
func (r *request) run(s *scripts.Script, args []string, takes bool) (got send.Answer, acked bool, err error) {
	on := append([]string{r.of.key, r.Lane}, r.also...)
	if takes && r.h.e.ReplicaAcks > 0 {
		var acks int64
		got, acks, err = r.h.e.RunAcked(context.Background(), s, on, args)
		acked = acks >= int64(r.h.e.ReplicaAcks)
	} else {
		got, err = r.h.e.Run(context.Background(), s, on, args)
		acked = true
	}
	switch {
	case err == nil:
	case r.gives > 0:
		r.cause = err
		work := core.Work{Kind: label, Name: r.of.key, Op: "release", Amount: r.gives}
		err = r.h.e.SeeThrough(r.Request, work, err, r.settling(r.gives))
	case errors.Is(err, ErrUnknown):
		r.settle(0)
	}
	return got, acked, err
}

// equal returns what the scripts take for callers who want the same.
func (r *request) equal(one run) []string {
	return append(make([]string, 0, 6), decimal(one.size), r.Number, memory, decimal(one.count))
}

// refused handles an answer that says that nothing was done: an earlier send of
// the request may still arrive.
func (r *request) refused(got send.Answer) {
	if got.Replayed {
		r.settle(-r.gives)
	}
}

// settle ends the request. Gives is what it was to give, or less than 0 for what
// it was told not to have given.
func (r *request) settle(gives int64) {
	r.h.e.Settle(r.Request, r.of.key, r.settling(gives))
}

// settling returns what is said to the server for that.
func (r *request) settling(gives int64) func(ctx context.Context, r send.Request) error {
	h, of := r.h, r.of
	return func(ctx context.Context, r send.Request) error {
		got, err := h.e.Run(ctx, settleScript, []string{of.key, r.Lane, of.set},
			append(h.e.Preamble(r, of.channel), decimal(gives), decimal(r.Age().Microseconds())))
		if err != nil || gives <= 0 {
			return err
		}
		if grew, err := got.AsInt64(); err != nil || grew >= 0 {
			return err
		}
		return errTooLate
	}
}

// take returns one caller's.
func (h *hub) take(flight int, a *ask) (ans answer) {
	lacking := false
	ans.n, ans.err = send.Only(h.numbered(a.of, flight, 0, func(r *request) ([]int64, error) {
		got, acked, err := r.run(takeScript, r.equal(run{size: a.n, count: 1}), true)
		if err != nil {
			return nil, err
		}
		if got.Nil {
			r.refused(got)
			return nil, errNotSet
		}
		k, err := got.AsInt64()
		if err == nil && k == 0 {
			r.refused(got)
		}
		lacking = !acked
		return []int64{k}, err
	}))
	if ans.n > 0 && lacking {
		return answer{err: h.unacked(a.of, flight, a.n)}
	}
	return ans
}

// unacked gives back what too few replicas have.
func (h *hub) unacked(of *names, flight int, n int64) error {
	err := fmt.Errorf("%w: fewer than %d within %v", ErrNotReplicated, h.e.ReplicaAcks, h.e.AckTimeout)
	x := exchange{h: h, of: of, runs: []run{{kind: give, size: n, count: 1}}}
	if undo := x.run(flight); undo != nil {
		err = fmt.Errorf("%w: %w: giving it back: %w", core.ErrUnknown, err, undo)
	}
	return err
}

// single returns a request that goes by itself.
func (h *hub) single(flight int, a *ask) (ans answer) {
	ans.n, ans.err = send.Only(h.numbered(a.of, flight, 0, func(r *request) ([]int64, error) {
		switch {
		case a.held != "":
			if r.also = []string{a.held}; a.labels != "" {
				r.also = append(r.also, a.labels)
			}
		case a.kind != drain:
			r.also = []string{a.of.set}
		}
		got, _, err := r.run(alone[a.kind], h.argue(r, a), false)
		if err != nil {
			return nil, err
		}
		said, err := got.AsIntSlice()
		if len(said) == 1 && said[0] == 0 {
			r.refused(got)
		}
		return said, err
	}))
	return ans
}

func (h *hub) argue(r *request, a *ask) []string {
	args := append(h.e.Preamble(r.Request, a.of.channel), decimal(a.n))
	switch a.kind {
	case trySet, trySetHeld:
		return append(args, decimal(core.Millis(a.ttl)))
	case drain, remove, removeHeld:
		return args[:2]
	}
	return args
}

// exchange is runs of takes and gives in one call.
type exchange struct {
	h       *hub
	of      *names
	runs    []run
	took    int64
	reached int
	unacked bool
	cause   error // what a send met, in the place of ErrDeferred for those who take
}

// move makes the takes and gives of several callers.
func (h *hub) move(flight int, b batch) {
	x := exchange{h: h, of: b[0].Ask.of}
	p := x.load(b)
	var subscribed bool
	var before handover.Mark
	if p != nil {
		subscribed, before = h.e.Subscribed(x.of.channel), p.courtesy.Mark()
	}
	err := x.run(flight)
	woken := false // by our own message, which came before the reply and so counts as another's
	if err == nil && p != nil {
		woken = subscribed && p.courtesy.HeardSince(before)
		p.courtesy.Released(x.reached, subscribed, before)
	}
	var lacking error
	if err == nil && x.unacked && x.took > 0 {
		lacking = h.unacked(x.of, flight, x.took)
	}
	for _, c := range b {
		c.Answer = x.answer(c, err)
		c.Answer.woken = woken
		if c.Answer.n > 0 && c.Ask.kind != give && lacking != nil {
			c.Answer = answer{err: lacking}
		}
	}
}

// load puts the batch into runs, and returns the place of one who gives.
func (x *exchange) load(b batch) (p *place) {
	for i, c := range b {
		a := &c.Ask
		if a.from != nil {
			p = a.from
		}
		last := len(x.runs) - 1
		switch {
		case a.kind == waitTake:
			c.Answer.at = len(x.runs)
			x.runs = append(x.runs, a.queue...)
		case i > 0 && alike(&b[i-1].Ask, a):
			c.Answer.at, c.Answer.before = last, x.runs[last].count
			x.runs[last].count++
		default:
			c.Answer.at = len(x.runs)
			x.runs = append(x.runs, run{kind: a.kind, size: a.n, count: 1})
		}
	}
	return p
}

// run makes the call.
func (x *exchange) run(flight int) error {
	takes, gives := x.wants()
	_, err := x.h.numbered(x.of, flight, gives, func(r *request) ([]int64, error) {
		got, acked, err := x.ask(r, takes)
		if err != nil {
			x.cause = r.cause
			return nil, err
		}
		if got.Nil {
			r.refused(got)
			return nil, errNotSet
		}
		said, err := x.said(got)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		case len(said) == 1:
			return []int64{-1}, nil // of a request that was ended, too
		case len(said) != 1+len(x.runs):
			return nil, fmt.Errorf("%w: move.lua said %v", ErrUnknown, said)
		}
		if x.read(said); x.took == 0 && x.gave() == 0 {
			r.refused(got)
		}
		x.unacked = takes && !acked
		return said, nil
	})
	return err
}

// alike returns the only run, if all want the same: for that there are scripts that cost
// the server less.
func (x *exchange) alike() (one run, is bool) { return x.runs[0], len(x.runs) == 1 }

func (x *exchange) ask(r *request, takes bool) (send.Answer, bool, error) {
	one, is := x.alike()
	switch {
	case !is:
		return r.run(moveScript, x.args(r), takes)
	case one.kind == give:
		return r.run(giveScript, append(r.equal(one), x.of.channel, x.h.e.Publish()), takes)
	}
	return r.run(takeScript, r.equal(one), takes)
}

// said returns the answer as move.lua gives it.
func (x *exchange) said(got send.Answer) ([]int64, error) {
	if one, is := x.alike(); !is || one.kind == give {
		return got.AsIntSlice()
	}
	n, err := got.AsInt64()
	if n < 0 {
		return []int64{n}, err
	}
	return []int64{0, n}, err
}

// wants reports whether the runs take, and how much they give.
func (x *exchange) wants() (takes bool, gives int64) {
	for _, one := range x.runs {
		if one.kind == give {
			gives += one.size * one.count
		} else {
			takes = true
		}
	}
	return takes, gives
}

func (x *exchange) args(r *request) []string {
	args := slices.Grow(x.h.e.Preamble(r.Request, x.of.channel), 3*len(x.runs))
	for _, one := range x.runs {
		args = append(args, one.kind.word(), decimal(one.size), decimal(one.count))
	}
	return args
}

// read takes what move.lua said.
func (x *exchange) read(said []int64) {
	x.reached = int(said[0])
	for i, k := range said[1:] {
		x.runs[i].k = k
		if x.runs[i].kind != give {
			x.took += k * x.runs[i].size
		}
	}
}

func (x *exchange) gave() (n int64) {
	for _, one := range x.runs {
		if one.kind == give {
			n += one.k * one.size
		}
	}
	return n
}

// answer returns that of one call.
func (x *exchange) answer(c *call, err error) answer {
	a := &c.Ask
	switch {
	case errors.Is(err, core.ErrDeferred) && a.kind != give:
		return answer{err: x.cause}
	case err != nil:
		return answer{err: err}
	case a.kind == waitTake:
		var n int64
		for i := range a.queue {
			n += x.runs[c.Answer.at+i].k
		}
		return answer{n: n}
	case c.Answer.before < x.runs[c.Answer.at].k:
		return answer{n: 1}
	case a.kind == give:
		return answer{err: errTooMany}
	}
	return answer{}
}
