package semaphore

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// send is one exchange about a semaphore. Each call has its own outcome, so it
// returns no error for all.
func (h *hub) send(_ string, flight int, b batch) error {
	if h.e.Open() != nil {
		if b = h.gives(b); len(b) == 0 {
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

// gives is what still goes out while the client closes.
func (h *hub) gives(b batch) (left batch) {
	for _, c := range b {
		if c.Ask.kind == give {
			left = append(left, c)
		} else {
			c.Answer = answer{err: ErrClosed}
		}
	}
	return left
}

// request is one script call under a lane, and what is done about it when its
// outcome stays unknown.
type request struct {
	h  *hub
	of *names
	engine.Request
	gives int64    // in all
	also  []string // further keys, if the script has some
}

func (h *hub) request(of *names, flight int, gives int64) request {
	return request{h: h, of: of, Request: h.e.Request(of.lane, flight), gives: gives}
}

// run sends it. Takes wait for replicas, if the client does.
func (r *request) run(s *scripts.Script, args []string, takes bool) (got engine.Answer, acked bool, err error) {
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
	case errors.Is(err, ErrUnknown), err != nil && r.gives > 0 && !engine.Hopeless(err):
		r.settle(r.gives)
	}
	return got, acked, err
}

// refused is for an answer that says that nothing was done: an earlier send of
// the request may still arrive.
func (r *request) refused(got engine.Answer) {
	if got.Replayed {
		r.settle(-r.gives)
	}
}

// settle ends the request. Gives is what it was to give, or less than 0 for what
// it was told not to have given.
func (r *request) settle(gives int64) {
	h, of := r.h, r.of
	h.e.Settle(r.Request, of.key, func(ctx context.Context, r engine.Request) error {
		_, err := h.e.Run(ctx, settleScript, []string{of.key, r.Lane},
			[]string{r.Number, memory, of.channel, h.e.Publish(), decimal(gives)})
		return err
	})
}

// errOvertaken says that the lane knows a later request already, which takes a
// client id that was used before, by a clock that was ahead.
var errOvertaken = errors.New("the server remembers a later request of this client id")

// take is one caller's.
func (h *hub) take(flight int, a *ask) answer {
	for again := true; ; again = false {
		r := h.request(a.of, flight, 0)
		n := decimal(a.n)
		got, acked, err := r.run(takeScript, []string{n, r.Number + " " + n, memory}, true)
		switch {
		case err != nil:
			return answer{err: err}
		case got.Nil:
			r.refused(got)
			return answer{err: errNotSet}
		}
		k, err := got.AsInt64()
		switch {
		case err != nil:
			return answer{err: err}
		case k < 0 && again:
			r.settle(0)
			continue
		case k < 0:
			return answer{err: errOvertaken}
		case k == 0:
			r.refused(got)
		case !acked:
			return answer{err: h.unacked(a.of, flight, a.n)}
		}
		return answer{n: k}
	}
}

// unacked gives back what too few replicas have.
func (h *hub) unacked(of *names, flight int, n int64) error {
	err := fmt.Errorf("%w: fewer than %d within %v", ErrNotReplicated, h.e.ReplicaAcks, h.e.AckTimeout)
	x := exchange{h: h, of: of, runs: []run{{kind: give, size: n, count: 1}}}
	if undo := x.run(flight); undo != nil {
		err = fmt.Errorf("%w: %w: giving it back: %w", engine.ErrUnknown, err, undo)
	}
	return err
}

// single is a request that goes by itself.
func (h *hub) single(flight int, a *ask) answer {
	for again := true; ; again = false {
		r := h.request(a.of, flight, 0)
		if a.held != "" {
			r.also = []string{a.held}
		}
		got, _, err := r.run(alone[a.kind], h.argue(&r, a), false)
		var said []int64
		if err == nil {
			said, err = got.AsIntSlice()
		}
		switch {
		case err != nil:
			return answer{err: err}
		case len(said) != 1:
			return answer{err: fmt.Errorf("%w: the script said %v", ErrUnknown, said)}
		case said[0] < 0 && again:
			r.settle(0)
			continue
		case said[0] < 0:
			return answer{err: errOvertaken}
		case said[0] == 0:
			r.refused(got)
		}
		return answer{n: said[0]}
	}
}

func (h *hub) argue(r *request, a *ask) []string {
	args := []string{r.Number, memory, a.of.channel, h.e.Publish(), decimal(a.n)}
	switch a.kind {
	case trySet, trySetHeld:
		return append(args, decimal(engine.Millis(a.ttl)))
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
}

// move is takes and gives of several callers.
func (h *hub) move(flight int, b batch) {
	x := exchange{h: h, of: b[0].Ask.of}
	p := x.load(b)
	var subscribed bool
	var before uint64
	if p != nil {
		subscribed, before = h.e.Subscribed(x.of.channel), p.courtesy.Heard()
	}
	err := x.run(flight)
	woken := false // by our own message, which came before the reply and so counts as another's
	if err == nil && p != nil {
		woken = subscribed && p.courtesy.Heard() != before
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
		case a.kind == wait:
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
	for again := true; ; again = false {
		takes, gives := false, int64(0)
		for _, one := range x.runs {
			if one.kind == give {
				gives += one.size * one.count
			} else {
				takes = true
			}
		}
		r := x.h.request(x.of, flight, gives)
		got, acked, err := r.run(moveScript, x.args(&r), takes)
		if err != nil {
			return err
		}
		if got.Nil {
			r.refused(got)
			return errNotSet
		}
		said, err := got.AsIntSlice()
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		case len(said) == 1 && again:
			r.settle(0)
			continue
		case len(said) != 1+len(x.runs):
			return fmt.Errorf("%w: move.lua said %v", errOvertaken, said)
		}
		if x.read(said); x.took == 0 && x.gave() == 0 {
			r.refused(got)
		}
		x.unacked = takes && !acked
		return nil
	}
}

func (x *exchange) args(r *request) []string {
	args := append(make([]string, 0, 4+3*len(x.runs)), r.Number, memory, x.of.channel, x.h.e.Publish())
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

// answer is that of one call.
func (x *exchange) answer(c *call, err error) answer {
	a := &c.Ask
	switch {
	case err != nil && a.kind == give:
		return answer{err: settled(err)}
	case err != nil:
		return answer{err: err}
	case a.kind == wait:
		var n int64
		for i := range a.queue {
			n += x.runs[c.Answer.at+i].k
		}
		return answer{n: n}
	case c.Answer.before < x.runs[c.Answer.at].k:
		return answer{n: 1}
	case a.kind == give:
		return answer{err: fmt.Errorf("%w: there would be more than %d permits", ErrOption, most)}
	}
	return answer{}
}

// settled is the error of a give which goes on until it is done.
func settled(err error) error {
	if errors.Is(err, ErrUnknown) || errors.Is(err, errNotSet) || engine.Hopeless(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}
