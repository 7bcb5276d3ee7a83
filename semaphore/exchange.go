package semaphore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// send makes one exchange about a semaphore. Each call has its own outcome, so it returns no error
// for all. Only releases are still sent while the client closes.
func (h *shared) send(_ string, flight int, b batch) error {
	if h.e.Open() != nil {
		gives := func(a *ask) bool { return a.kind == give }
		if b = combine.Of(b, gives, answer{err: ErrClosed}); len(b) == 0 {
			return nil
		}
	}
	if first := &b[0].Ask; first.kind > give {
		b[0].Answer = h.single(flight, first)
	} else {
		h.move(flight, b)
	}
	return nil
}

// move makes the takes and gives of several callers in one call.
func (h *shared) move(flight int, b batch) {
	x := exchange{h: h, of: b[0].Ask.of}
	x.runs = x.few[:0]
	var release releasing
	for i, c := range b {
		a, last := &c.Ask, len(x.runs)-1
		if a.from != nil && release.courtesy == nil {
			release = a.from.releasing(x.of.channel)
		}
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

	err := x.call(flight)
	woken := err == nil && release.done(x.reached)
	var lacking error
	if err == nil && !x.acked && x.took > 0 {
		lacking = h.giveBackLacking(x.of, flight, x.took)
	}

	for _, c := range b {
		a, of := &c.Ask, c.Answer
		c.Answer = answer{err: err, woken: woken}
		switch {
		case err != nil:
			if a.kind != give && errors.Is(err, core.ErrDeferred) {
				c.Answer.err = x.cause
			}
		case a.kind == waitTake:
			for _, one := range x.runs[of.at : of.at+len(a.queue)] {
				c.Answer.n += one.k
			}
		case of.before < x.runs[of.at].k:
			c.Answer.n = 1
		case a.kind == give:
			c.Answer.err = errTooMany
		}
		if lacking != nil && a.kind != give && c.Answer.n > 0 {
			c.Answer = answer{err: lacking}
		}
	}
}

// giveBackLacking releases permits that too few replicas have confirmed.
func (h *shared) giveBackLacking(of *names, flight int, n int64) error {
	err := fmt.Errorf("%w: fewer than %d within %v", ErrNotReplicated, h.e.ReplicaAcks, h.e.AckTimeout)
	x := exchange{h: h, of: of, runs: []run{{kind: give, size: n, count: 1}}}
	if undo := x.call(flight); undo != nil {
		err = fmt.Errorf("%w: %w: giving it back: %w", core.ErrOutcomeUnknown, err, undo)
	}
	return err
}

// exchange is runs of takes and gives in one call, and their outcome.
type exchange struct {
	h       *shared
	of      *names
	runs    []run
	few     [1]run // most have no more
	took    int64
	reached int
	acked   bool
	cause   error // the failure of a send, instead of ErrDeferred for takes
}

// call runs the script for the runs. If all runs are of one kind, there are scripts that cost the
// server less than move.lua.
func (x *exchange) call(flight int) error {
	gives, takes := int64(0), false
	for _, one := range x.runs {
		if one.kind == give {
			gives += one.size * one.count
		} else {
			takes = true
		}
	}
	_, err := x.h.numbered(x.of, flight, gives, func(r *request) ([]int64, error) {
		script, one := moveScript, x.runs[0]
		var args []string
		switch {
		case len(x.runs) > 1:
			args = slices.Grow(x.h.e.Preamble(r.Request, x.of.channel), 3*len(x.runs))
			for _, one := range x.runs {
				args = append(args, one.kind.word(), decimal(one.size), decimal(one.count))
			}
		case takes:
			script, args = takeScript, []string{decimal(one.size), r.Number, memory, decimal(one.count)}
		default:
			script, args = giveScript, []string{decimal(one.size), r.Number, memory, decimal(one.count), x.of.channel, x.h.e.Publish()}
		}
		got, acked, err := r.run(script, args, takes)
		if err != nil {
			x.cause = r.cause
			return nil, err
		}
		if got.Nil {
			r.refused(got)
			return nil, errNotSet
		}

		var said []int64 // how many heard of it, and of each run how many were done
		if script != takeScript {
			said, err = got.AsIntSlice()
		} else if n, bad := got.AsInt64(); n < 0 {
			said, err = []int64{n}, bad
		} else {
			said, err = []int64{0, n}, bad
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		case len(said) == 1:
			return []int64{-1}, nil // of a request that was ended, too
		case len(said) != 1+len(x.runs):
			return nil, fmt.Errorf("%w: move.lua said %v", ErrOutcomeUnknown, said)
		}
		x.reached, x.acked = int(said[0]), acked
		done := int64(0)
		for i, k := range said[1:] {
			x.runs[i].k = k
			done += k
			if x.runs[i].kind != give {
				x.took += k * x.runs[i].size
			}
		}
		if done == 0 {
			r.refused(got)
		}
		return said, nil
	})
	return err
}

// single makes a request that is sent alone.
func (h *shared) single(flight int, a *ask) (ans answer) {
	ans.n, ans.err = send.Only(h.numbered(a.of, flight, 0, func(r *request) ([]int64, error) {
		switch {
		case a.held != "":
			if r.also = []string{a.held}; a.labels != "" {
				r.also = append(r.also, a.labels)
			}
		case a.kind != drain:
			r.also = []string{a.of.set}
		}
		args := h.e.Preamble(r.Request, a.of.channel)
		switch a.kind {
		case trySet, trySetHeld:
			args = append(args, decimal(a.n), decimal(core.Millis(a.ttl)))
		case drain, remove, removeHeld:
			args = args[:2]
		default:
			args = append(args, decimal(a.n))
		}
		got, _, err := r.run(alone[a.kind], args, false)
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

// request is one script call under a lane. It settles an outcome that stays unknown.
type request struct {
	h  *shared
	of *names
	send.Request
	gives int64    // the sum
	also  []string // further keys, if the script has some
	cause error    // the failure of a send that the client repeats
}

// numbered sends a request that gives gives permits.
func (h *shared) numbered(of *names, flight int, gives int64, ask func(r *request) ([]int64, error)) ([]int64, error) {
	return h.e.Numbered(of.lane, flight, of.key, func(r send.Request) ([]int64, error) {
		return ask(&request{h: h, of: of, Request: r, gives: gives})
	})
}

// run sends the request. Takes wait for replicas, if the client does.
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
	case errors.Is(err, ErrOutcomeUnknown):
		r.settle(0)
	}
	return got, acked, err
}

// refused handles an answer that nothing was done: an earlier send of the request may still arrive.
func (r *request) refused(got send.Answer) {
	if got.Replayed {
		r.settle(-r.gives)
	}
}

// settle ends the request. gives is the number that it was to give, or negative if it is known that
// nothing was given.
func (r *request) settle(gives int64) {
	r.h.e.Settle(r.Request, r.of.key, r.settling(gives))
}

// settling returns the request that does that on the server.
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
