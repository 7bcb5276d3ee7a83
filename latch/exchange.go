package latch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

// send makes one exchange about a latch. Each call has its own outcome, so it returns no error for
// all.
func (h *shared) send(_ string, flight int, b batch) error {
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

// counts reports whether a request is still sent while the client closes.
func counts(a *ask) bool { return a.kind == down }

// down counts down for several callers.
func (h *shared) down(flight int, b batch) {
	var runs []run
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
	left, err := h.countDown(b[0].Ask.of, flight, runs)
	for _, c := range b {
		switch at := c.Answer.at; {
		case err != nil:
			c.Answer = answer{err: err}
		case runs[at].party != "":
			c.Answer = answer{n: left[at]}
		default:
			c.Answer = answer{n: max(left[at]-c.Answer.before-1, 0)}
		}
	}
}

// countDown makes the call. The client repeats a count down that was not answered: the same request
// again finds its answer, or is done then.
func (h *shared) countDown(of *names, flight int, runs []run) ([]int64, error) {
	said, err := h.e.Numbered(of.lane, flight, of.key, func(r send.Request) ([]int64, error) {
		args := append(h.e.Preamble(r, of.channel), "0")
		for _, one := range runs {
			args = append(args, decimal(one.count), one.party)
		}
		said, err := h.numbers(context.Background(), send.Aged(downScript, r, ageAt), r, of, args)
		if err == nil {
			return said, nil
		}
		work := core.Work{Kind: label, Name: of.key, Op: "count down"}
		for _, one := range runs {
			work.Amount += one.count
		}
		return nil, h.e.SeeThrough(r, work, err, h.late(of, len(runs), args))
	})
	if err == nil {
		err = counted(said, len(runs))
	}
	return said, err
}

// late returns the request that is sent later for a count down that the server did not accept at
// once.
func (h *shared) late(of *names, runs int, args []string) func(ctx context.Context, r send.Request) error {
	return func(ctx context.Context, r send.Request) error {
		late := slices.Clone(args)
		late[ageAt] = decimal(r.Age().Microseconds())
		said, err := h.numbers(ctx, downScript, r, of, late)
		if err == nil && len(said) > runs {
			err = errTooLate
		}
		return err
	}
}

// errTooLate is the error of a count down that the client gives up.
var errTooLate = fmt.Errorf("%w: it came too late: the time when the latch was armed is unknown", ErrInvalidArgument)

// counted returns an error unless down.lua returned a number for each run.
func counted(said []int64, runs int) error {
	switch {
	case len(said) == runs+1 && said[runs] == -1:
		return errTooLate
	case len(said) != runs:
		return fmt.Errorf("%w: down.lua said %v", ErrOutcomeUnknown, said)
	}
	return nil
}

// ageAt is the index of the age of the request in the arguments of down.lua.
const ageAt = 4

// countDownOnce counts down, unless the server knows the request already. The client does not
// repeat it, because its caller does.
func (h *shared) countDownOnce(ctx context.Context, of *names, request send.CallerRequest) (left int64, err error) {
	got, err := h.e.Run(context.WithoutCancel(ctx), downOnceScript,
		[]string{of.key, keys.CallerRequest(of.key, request.ID), of.opened, of.parties, of.armed},
		[]string{decimal(core.Millis(request.Memory)), memory, of.channel, h.e.Publish()})
	if err != nil {
		return 0, err
	}
	return got.AsInt64()
}

func (h *shared) numbers(ctx context.Context, op send.Operation, r send.Request, of *names, args []string) ([]int64, error) {
	got, err := h.e.Run(ctx, op, []string{of.key, r.Lane, of.opened, of.parties, of.armed}, args)
	if err != nil {
		return nil, err
	}
	return got.AsIntSlice()
}

// single makes a request that is sent alone.
func (h *shared) single(flight int, a *ask) (got answer) {
	of := a.of
	got.n, got.err = send.Only(h.e.Numbered(of.lane, flight, of.key, func(r send.Request) ([]int64, error) {
		script, on, args := deleteScript, []string{of.key, r.Lane, of.opened, of.parties, of.armed}, h.e.Preamble(r, of.channel)
		if a.kind == trySet {
			script, on = trySetScript, []string{of.key, r.Lane, of.parties, of.armed}
			args = append(args, decimal(a.n), decimal(core.Millis(a.ttl)))
		}
		got, err := h.e.Run(context.Background(), script, on, args)
		if err == nil {
			return got.AsIntSlice()
		}
		if errors.Is(err, ErrOutcomeUnknown) {
			h.e.Void(r, of.key)
		}
		return nil, err
	}))
	return got
}
