package latch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
)

// send is one exchange about a latch. Each call has its own outcome, so it
// returns no error for all.
func (h *hub) send(_ string, flight int, b batch) error {
	if h.e.Open() != nil {
		if b = combine.Of(b, counts, answer{err: ErrClosed}); len(b) == 0 {
			return nil
		}
	}
	if first := &b[0].Ask; !counts(first) {
		b[0].Answer = h.single(flight, first)
	} else if !h.e.During(func() { h.down(flight, b) }) { // on a caller's goroutine, for which Close waits here
		return ErrClosed
	}
	return nil
}

// counts is for what still goes out while the client closes.
func counts(a *ask) bool { return a.kind == down }

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
	said, err := h.e.Numbered(of.lane, flight, of.key, func(r engine.Request) ([]int64, error) {
		args := append(h.e.Preamble(r, of.channel), "0")
		for _, one := range runs {
			args = append(args, decimal(one.count), one.party)
		}
		said, err := h.numbers(context.Background(), r, of, args)
		if err == nil || engine.Hopeless(err) && !errors.Is(err, ErrUnknown) {
			return said, err
		}
		h.e.Settle(r, of.key, func(ctx context.Context, r engine.Request) error {
			late := slices.Clone(args)
			late[4] = decimal(r.Age().Microseconds())
			_, err := h.numbers(ctx, r, of, late)
			return err
		})
		return nil, unknown(err)
	})
	if err == nil && len(said) != len(runs) {
		err = fmt.Errorf("%w: down.lua said %v", ErrUnknown, said)
	}
	return said, err
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

// single is a request that goes by itself.
func (h *hub) single(flight int, a *ask) (got answer) {
	got.n, got.err = engine.Only(h.e.Numbered(a.of.lane, flight, a.of.key, func(r engine.Request) ([]int64, error) {
		said, err := h.alone(r, a)
		if errors.Is(err, ErrUnknown) {
			h.e.Void(r, a.of.key)
		}
		return said, err
	}))
	return got
}

func (h *hub) alone(r engine.Request, a *ask) ([]int64, error) {
	script, on := deleteScript, []string{a.of.key, r.Lane, a.of.opened, a.of.parties}
	args := h.e.Preamble(r, a.of.channel)
	if a.kind == trySet {
		script, on, args = trySetScript, []string{a.of.key, r.Lane, a.of.parties}, append(args, decimal(a.n))
	}
	got, err := h.e.Run(context.Background(), script, on, args)
	if err != nil {
		return nil, err
	}
	return got.AsIntSlice()
}
