package latch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// send is one exchange about a latch. Each call has its own outcome, so it
// returns no error for all.
func (h *hub) send(_ string, flight int, b batch) error {
	if h.e.Open() != nil {
		if b = h.downs(b); len(b) == 0 {
			return nil
		}
	}
	if first := &b[0].Ask; first.kind != down {
		b[0].Answer = h.single(flight, first)
	} else if !h.e.During(func() { h.down(flight, b) }) { // on a caller's goroutine, for which Close waits here
		return ErrClosed
	}
	return nil
}

// downs is what still goes out while the client closes.
func (h *hub) downs(b batch) (left batch) {
	for _, c := range b {
		if c.Ask.kind == down {
			left = append(left, c)
		} else {
			c.Answer = answer{err: ErrClosed}
		}
	}
	return left
}

// errOvertaken says that the lane knows a later request already, which takes a
// client id that was used before, by a clock that was ahead.
var errOvertaken = errors.New("the server remembers a later request of this client id")

// down counts down for several callers.
func (h *hub) down(flight int, b batch) {
	runs := load(b)
	before, err := h.countDown(b[0].Ask.of, flight, runs)
	for _, c := range b {
		switch at := c.Answer.at; {
		case err != nil:
			c.Answer = answer{err: err}
		case runs[at].party != "":
			c.Answer = answer{n: before[at]}
		default:
			c.Answer = answer{n: max(before[at]-c.Answer.before-1, 0)}
		}
	}
}

// load puts the batch into runs.
func load(b batch) (runs []run) {
	for i, c := range b {
		if i > 0 && alike(&b[i-1].Ask, &c.Ask) {
			last := &runs[len(runs)-1]
			c.Answer.before = last.count
			last.count++
		} else {
			runs = append(runs, run{c.Ask.party, 1})
		}
		c.Answer.at = len(runs) - 1
	}
	return runs
}

// countDown makes the call. What becomes of it the server is asked until it
// says so: the same request again finds its answer, or is done then.
func (h *hub) countDown(of *names, flight int, runs []run) ([]int64, error) {
	for again := true; ; again = false {
		r := h.e.Request(of.lane, flight)
		args := []string{r.Number, memory, of.channel, h.e.Publish(), "0"}
		for _, one := range runs {
			args = append(args, decimal(one.count), one.party)
		}
		said, err := h.numbers(context.Background(), r, of, args)
		switch {
		case err != nil && (errors.Is(err, ErrUnknown) || !engine.Hopeless(err)):
			h.e.Settle(r, of.key, func(ctx context.Context, r engine.Request) error {
				late := slices.Clone(args)
				late[4] = decimal(r.Age().Microseconds())
				_, err := h.numbers(ctx, r, of, late)
				return err
			})
			return nil, unknown(err)
		case err != nil:
			return nil, err
		case len(said) == 1 && said[0] < 0 && again:
			h.void(r, of)
			continue
		case len(said) != len(runs) || said[0] < 0:
			return nil, fmt.Errorf("%w: down.lua said %v", errOvertaken, said)
		}
		return said, nil
	}
}

func (h *hub) numbers(ctx context.Context, r engine.Request, of *names, args []string) ([]int64, error) {
	got, err := h.e.Run(ctx, downScript, []string{of.key, r.Lane, of.opened, of.parties}, args)
	if err != nil {
		return nil, err
	}
	return got.AsIntSlice()
}

// unknown is the error of a count down which goes on until it is done.
func unknown(err error) error {
	if errors.Is(err, ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// void sees to it that a request which has not run never will.
func (h *hub) void(r engine.Request, of *names) {
	h.e.Settle(r, of.key, func(ctx context.Context, r engine.Request) error {
		_, err := h.e.Run(ctx, voidScript, []string{r.Lane}, []string{r.Number, memory})
		return err
	})
}

// single is a request that goes by itself.
func (h *hub) single(flight int, a *ask) answer {
	for again := true; ; again = false {
		r := h.e.Request(a.of.lane, flight)
		said, err := h.alone(r, a)
		switch {
		case errors.Is(err, ErrUnknown):
			h.void(r, a.of)
			return answer{err: err}
		case err != nil:
			return answer{err: err}
		case len(said) != 1:
			return answer{err: fmt.Errorf("%w: the script said %v", ErrUnknown, said)}
		case said[0] < 0 && again:
			h.void(r, a.of)
			continue
		case said[0] < 0:
			return answer{err: errOvertaken}
		}
		return answer{n: said[0]}
	}
}

func (h *hub) alone(r engine.Request, a *ask) ([]int64, error) {
	script, on := deleteScript, []string{a.of.key, r.Lane, a.of.opened, a.of.parties}
	args := []string{r.Number, memory, a.of.channel, h.e.Publish()}
	if a.kind == trySet {
		script, on, args = trySetScript, []string{a.of.key, r.Lane, a.of.parties}, append(args, decimal(a.n))
	}
	got, err := h.e.Run(context.Background(), script, on, args)
	if err != nil {
		return nil, err
	}
	return got.AsIntSlice()
}
