package latch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

// TestLatchObserverIsToldOfUnknownOutcomes, as that of a barrier is.
func TestLatchObserverIsToldOfUnknownOutcomes(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	r, proxy := faulty(t, enginetest.ShortSends, func(c *core.Config) { c.Outcomes = told })
	r.arm(3)
	b := NewBarrier(r.E, r.of.key+"b", 2)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { // ends with ctx
		_, err := b.Await(ctx)
		done <- err
	}()
	redistest.Eventually(t, func() bool { n, err := b.Waiting(t.Context()); return err == nil && n == 1 }, soon, time.Millisecond)
	proxy.BlackHole()
	_, err := r.CountDown(t.Context())
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, []string{"unknown latch " + r.of.key + ": count down"}, told.Take())
	cancel()
	require.ErrorIs(t, redistest.Done(t, done), ErrOutcomeUnknown)
	require.Equal(t, []string{"unknown barrier " + b.of.key + ": await"}, told.Take())
	proxy.Restore()
	r.awaitStored("2")
}

// TestLatchObserverIsToldOfACountDownThatWasGivenUp: the server refuses it until the client
// closes.
func TestLatchObserverIsToldOfACountDownThatWasGivenUp(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	server := redistest.Start(t)
	c := core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute, Deferrals: told}
	enginetest.ShortSends(&c)
	raw := server.Client(t)
	e, err := locking.New(t.Context(), raw, c)
	require.NoError(t, err)
	r := (&rig{New(e, redistest.Name(t)), enginetest.Rig{T: t, Raw: raw, E: e}}).arm(5)
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "1")
	_, err = r.CountDown(t.Context())
	require.ErrorIs(t, err, ErrDeferred)
	require.ErrorContains(t, locking.Close(context.Background(), r.E), "count down 1")
	require.Equal(t, []string{"gave up latch " + r.of.key + ": count down 1"}, told.Take())
}

// TestLatchCountDownThatCameTooLateIsGivenUp, and told: Java has armed the latch, and nobody
// knows when.
func TestLatchCountDownThatCameTooLateIsGivenUp(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	r := newRig(t, func(c *core.Config) { c.Deferrals = told })
	r.Ask("SET", r.of.key, "5")
	old := send.Request{Lane: r.of.lane + ":9", Number: "7"}
	require.Greater(t, old.Age(), time.Hour)
	work := core.Work{Kind: label, Name: r.of.key, Op: "count down", Amount: 2}
	late := r.h.late(r.of, 1, append(r.E.Preamble(old, r.of.channel), "0", "2", ""))
	require.ErrorIs(t, r.E.SeeThrough(old, work, errors.New("refused for now"), late), ErrDeferred)
	redistest.Eventually(t, func() bool { return !r.E.CleaningUp() }, soon, time.Millisecond)
	require.Equal(t, []string{"gave up latch " + r.of.key + ": count down 2"}, told.Take())
	require.Equal(t, "5", r.stored())
	require.ErrorIs(t, late(t.Context(), old), ErrInvalidArgument, "said twice")
	r.down(4)
}
