package semaphore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// operations is every operation, with n permits where it takes a number.
var operations = map[string]func(ctx context.Context, s *Semaphore, n int64) error{
	"acquire":     func(ctx context.Context, s *Semaphore, n int64) error { return s.Acquire(ctx, n) },
	"try acquire": func(ctx context.Context, s *Semaphore, n int64) error { return s.TryAcquire(ctx, n) },
	"release":     func(ctx context.Context, s *Semaphore, n int64) error { return s.Release(ctx, n) },
	"release for a request": func(ctx context.Context, s *Semaphore, n int64) error {
		return s.Release(ctx, n, WithRequestID("r", time.Hour))
	},
	"set permits":     func(ctx context.Context, s *Semaphore, n int64) error { return s.SetPermits(ctx, n) },
	"try set permits": func(ctx context.Context, s *Semaphore, n int64) error { _, err := s.TrySetPermits(ctx, n); return err },
	"add permits":     func(ctx context.Context, s *Semaphore, n int64) error { return s.AddPermits(ctx, n) },
	"drain":           func(ctx context.Context, s *Semaphore, _ int64) error { _, err := s.Drain(ctx); return err },
	"available":       func(ctx context.Context, s *Semaphore, _ int64) error { _, err := s.Available(ctx); return err },
	"delete":          func(ctx context.Context, s *Semaphore, _ int64) error { _, err := s.Delete(ctx); return err },
}

var withoutNumber = map[string]bool{"drain": true, "available": true, "delete": true}

func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t))
	before := server.ScriptCalls(t)
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			var none context.Context
			require.ErrorIs(t, op(none, r.Semaphore, 1), ErrInvalidArgument)
			require.ErrorIs(t, op(t.Context(), New(r.E, ""), 1), ErrInvalidArgument)
			if withoutNumber[name] {
				return
			}
			for _, n := range []int64{0, -1, most + 1, -most - 1, 1 << 40, -1 << 63} {
				if n == 0 && strings.HasSuffix(name, "set permits") {
					continue
				}
				if name != "add permits" || n != -1 {
					require.ErrorIs(t, op(t.Context(), r.Semaphore, n), ErrInvalidArgument, "%d", n)
				}
			}
		})
	}
	require.ErrorIs(t, r.TryAcquire(t.Context(), 1, WithWait(-1)), ErrInvalidArgument)
	require.ErrorIs(t, r.TryAcquire(t.Context(), 1, nil), ErrInvalidArgument)
	for _, d := range []time.Duration{0, -1, time.Microsecond, core.LongestLease + 1} {
		_, err := r.TrySetPermits(t.Context(), 1, WithTTL(d))
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, o := range []ReleaseOption{nil, WithRequestID("", time.Hour), WithRequestID(strings.Repeat("x", 257), time.Hour), WithRequestID("a", time.Second)} {
		require.ErrorIs(t, r.Release(t.Context(), 1, o), ErrInvalidArgument)
	}
	_, err := r.TrySetPermits(t.Context(), 1, nil)
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.Equal(t, before, server.ScriptCalls(t))
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(2)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for name, op := range operations {
		if strings.HasPrefix(name, "release") {
			continue
		}
		err := op(ctx, r.Semaphore, 1)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, assert.AnError, name)
	}
	require.EqualValues(t, 2, r.free())
}
