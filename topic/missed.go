package topic

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// missing returns what is left undone if the server does not count so many messages as missed.
func (f *feed) missing(n int64) core.Work {
	return core.Work{Kind: "reliable topic", Name: f.of.key, Op: "count missed messages", Amount: n}
}

// forgo counts n messages as missed that were not reported to a loop. The client repeats what the server
// does not take, and reports what it cannot repeat.
func (f *feed) forgo(n int64) error {
	if n == 0 {
		return nil
	}
	defer f.h.turn(f.of.key)()
	_, err := f.h.e.Numbered(f.of.lane, missing, f.of.key, func(r send.Request) ([]int64, error) {
		said, err := f.counting(context.Background(), forgoScript, r, n)
		if err == nil {
			return said, nil
		}
		closed := f.h.e.Open()
		err = f.h.e.SeeThrough(r, f.missing(n), err, func(ctx context.Context, r send.Request) error {
			_, err := f.counting(ctx, forgoScript, r, n)
			return err
		})
		if closed != nil && !errors.Is(err, ErrOutcomeUnknown) || send.Permanent(err) {
			f.undone(n, err)
		}
		return nil, err
	})
	return err
}

// undone reports messages that a durable name has missed, and that no subscriber of it learns of.
func (f *feed) undone(n int64, why error) {
	if f.durable && n > 0 {
		f.h.e.LeftUndone(f.missing(n), why)
	}
}

// takeMissed takes up to n messages from those that a durable group has missed, and returns how many. Where nobody knows whether
// the server has done so, the loops are told, and the server is asked until it says: another is told again only if it never does,
// or asked first.
func (f *feed) takeMissed(n int64) (int64, error) {
	defer f.h.turn(f.of.key)()
	return send.Only(f.h.e.Numbered(f.of.lane, missing, f.of.key, func(r send.Request) ([]int64, error) {
		said, err := f.counting(context.Background(), missedScript, r, n)
		if errors.Is(err, ErrOutcomeUnknown) {
			f.h.e.Settle(r, f.of.key, func(ctx context.Context, r send.Request) error {
				_, err := f.counting(ctx, missedScript, r, n)
				return err
			})
			return []int64{n}, nil
		}
		return said, err
	}))
}

// counting runs a script that changes how many messages the group has missed, and returns what it said.
func (f *feed) counting(ctx context.Context, s *scripts.Script, r send.Request, n int64) ([]int64, error) {
	got, err := f.h.e.Run(ctx, s, []string{f.of.key, r.Lane, f.of.missed}, []string{r.Number, send.MemoryMillis, f.group, strconv.FormatInt(n, 10)})
	if err != nil {
		return nil, err
	}
	said, err := got.AsIntSlice()
	if err == nil && len(said) != 1 {
		err = fmt.Errorf("%w: the script said %v", ErrOutcomeUnknown, said)
	}
	return said, err
}
