package latch

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// operations is every operation.
var operations = map[string]func(ctx context.Context, l *Latch) error{
	"try set count": func(ctx context.Context, l *Latch) error { _, err := l.TrySetCount(ctx, 1); return err },
	"count down":    func(ctx context.Context, l *Latch) error { _, err := l.CountDown(ctx); return err },
	"count down for a request": func(ctx context.Context, l *Latch) error {
		_, err := l.CountDown(ctx, WithRequestID("r", time.Hour))
		return err
	},
	"count down once": func(ctx context.Context, l *Latch) error { _, err := l.CountDownOnce(ctx, "p"); return err },
	"count":           func(ctx context.Context, l *Latch) error { _, err := l.Count(ctx); return err },
	"await":           func(ctx context.Context, l *Latch) error { return l.Await(ctx) },
	"delete":          func(ctx context.Context, l *Latch) error { _, err := l.Delete(ctx); return err },
}

func TestWhatCannotBeUsedIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t))
	before := server.ScriptCalls(t)
	for name, op := range operations {
		var none context.Context
		require.ErrorIs(t, op(none, r.Latch), ErrInvalidArgument, name)
		require.ErrorIs(t, op(t.Context(), New(r.E, "")), ErrInvalidArgument, name)
	}
	for _, n := range []int64{0, -1, most + 1, 1 << 40, -1 << 63} {
		_, err := r.TrySetCount(t.Context(), n)
		require.ErrorIs(t, err, ErrInvalidArgument, "%d", n)
	}
	_, err := r.CountDownOnce(t.Context(), "")
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.Equal(t, before, server.ScriptCalls(t))
}

func TestAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t).arm(2)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for name, op := range operations {
		if strings.HasPrefix(name, "count down") {
			continue
		}
		err := op(ctx, r.Latch)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, assert.AnError, name)
	}
	require.Equal(t, "2", r.stored())
	n, err := r.CountDown(ctx)
	require.NoError(t, err, "a count down runs to its end")
	require.EqualValues(t, 1, n)
	n, err = r.CountDownOnce(ctx, "p")
	require.NoError(t, err)
	require.Zero(t, n)
}
