package semaphore

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestWhatCannotBeUsedOfPermitsIsRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t))
	before := server.ScriptCalls(t)
	for name, op := range permitOperations {
		var none context.Context
		require.ErrorIs(t, op(none, r.PermitSemaphore, 1), ErrInvalidArgument, name)
		require.ErrorIs(t, op(t.Context(), NewPermits(r.E, ""), 1), ErrInvalidArgument, name)
	}
	for _, name := range []string{"set permits", "try set permits", "add permits"} {
		for _, n := range []int64{0, -1, most + 1, -most - 1, 1 << 40, -1 << 63} {
			if n == 0 && name != "add permits" {
				continue
			}
			if name != "add permits" || n != -1 {
				require.ErrorIs(t, permitOperations[name](t.Context(), r.PermitSemaphore, n), ErrInvalidArgument, "%s %d", name, n)
			}
		}
	}
	for _, id := range []string{
		"", "1", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeeff0", "00112233445566778899AABBCCDDEEFF",
		"0011223344556677-899aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff", "ñ0112233445566778899aabbccddeef",
	} {
		err := r.ReleaseID(t.Context(), id)
		require.ErrorIs(t, err, ErrInvalidArgument, id)
		require.NotErrorIs(t, err, ErrLost)
	}
	for _, d := range []time.Duration{0, -1, core.ShortestLease - 1, core.LongestLease + 1} {
		_, err := r.Acquire(t.Context(), WithLease(d))
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = r.TryAcquire(t.Context(), WithLease(d))
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, n := range []int{0, -1, mostPerCall + 1, math.MinInt} {
		_, err := r.AcquireN(t.Context(), n)
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = r.TryAcquireN(t.Context(), n)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, label := range []string{"", strings.Repeat("x", mostLabel+1)} {
		_, err := r.TryAcquire(t.Context(), WithLabel(label))
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	require.ErrorIs(t, r.Extend(t.Context(), "00112233445566778899aabbccddeeff", time.Millisecond), ErrInvalidArgument)
	_, err := r.TryAcquire(t.Context(), WithWait(-1))
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.TryAcquire(t.Context(), nil)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.Acquire(t.Context(), nil)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = r.TrySetPermits(t.Context(), 1, WithTTL(0))
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.Equal(t, before, server.ScriptCalls(t))

	p := r.set(1).take()
	var none context.Context
	require.ErrorIs(t, p.Release(none), ErrInvalidArgument)
	require.ErrorIs(t, p.Extend(none, time.Hour), ErrInvalidArgument)
	require.ErrorIs(t, p.Extend(t.Context(), time.Millisecond), ErrInvalidArgument)
	require.Panics(t, func() { p.Context(none) })
	require.ErrorIs(t, r.ReleaseN(none, p), ErrInvalidArgument)
	require.ErrorIs(t, r.ReleaseN(t.Context(), p, nil), ErrInvalidArgument)
	require.ErrorIs(t, r.beside().ReleaseN(t.Context(), p), ErrInvalidArgument, "of another client")
	require.ErrorIs(t, NewPermits(r.E, r.of.key+"x").ReleaseN(t.Context(), p), ErrInvalidArgument)
	require.ErrorIs(t, r.ReleaseN(t.Context(), make([]*Permit, mostPerCall+1)...), ErrInvalidArgument)
	require.NoError(t, r.ReleaseN(t.Context()))
	require.NoError(t, p.Err())
	r.give(p)
}

func TestAContextThatHasEndedTakesNoPermit(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t).set(2)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(assert.AnError)
	for name, op := range permitOperations {
		if name == "release by id" {
			continue
		}
		err := op(ctx, r.PermitSemaphore, 1)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, assert.AnError, name)
	}
	r.stands(2, 0)
	p := r.take()
	require.NoError(t, p.Release(ctx), "it runs to its end")
	r.stands(2, 0)
}
