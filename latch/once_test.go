package latch

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// downFor counts down under a request id, to left.
func (r *rig) downFor(id string, left int64) {
	r.T.Helper()
	n, err := r.CountDown(context.Background(), WithRequestID(id, time.Hour))
	require.NoError(r.T, err)
	require.Equal(r.T, left, n)
}

// TestLatchCountDownWithRequestIDCountsOnce, however often and wherever it is called, and
// opens as any other does.
func TestLatchCountDownWithRequestIDCountsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t).arm(3)
	other := r.beside(enginetest.NoLooks)
	r.downFor("a", 2)
	other.downFor("a", 2)
	r.down(1)
	r.downFor("a", 2)
	waits := other.awaiting(t.Context())
	other.waiting(1)
	r.downFor("b", 0)
	got(t, waits)
	require.Empty(t, r.stored())
	r.downFor("c", 0)
	r.arm(2)
	r.downFor("b", 0)
	r.downFor("c", 0)
	require.Equal(t, "2", r.stored(), "what was done counts in no later arming")
	r.downFor("d", 1)
}

// TestLatchCountDownWithRequestIDIsRepeatedAfterAnUnknownOutcome: the first call counted,
// and its reply did not come.
func TestLatchCountDownWithRequestIDIsRepeatedAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	r, proxy := faulty(t, enginetest.ShortSends)
	r.arm(3)
	lost := proxy.DropReply(r.sent(downOnceScript), 1, redistest.Silent())
	done := make(chan error, 1)
	go func() {
		_, err := r.CountDown(context.Background(), WithRequestID("a", time.Hour))
		done <- err
	}()
	lost.Await(t)
	proxy.BlackHole()
	require.ErrorIs(t, redistest.Done(t, done), ErrOutcomeUnknown)
	proxy.Restore()
	r.downFor("a", 2)
	require.Equal(t, "2", r.stored())
}

func TestLatchOptionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t).arm(3)
	for _, o := range []CountOption{
		nil, WithRequestID("", time.Hour), WithRequestID(strings.Repeat("x", 257), time.Hour), WithRequestID("a", time.Second),
		WithRequestID("a", 101*365*24*time.Hour),
	} {
		_, err := r.CountDown(t.Context(), o)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	for _, o := range []SetOption{nil, WithTTL(0), WithTTL(-time.Second), WithTTL(101 * 365 * 24 * time.Hour)} {
		_, err := r.TrySetCount(t.Context(), 1, o)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	require.Equal(t, "3", r.stored())
}

// TestLatchWithTTLOpensByItself: nobody is told, and those who wait look at that time,
// though they look at no other.
func TestLatchWithTTLOpensByItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, enginetest.NoLooks)
	did, err := r.TrySetCount(t.Context(), 2, WithTTL(500*time.Millisecond))
	require.NoError(t, err)
	require.True(t, did)
	r.once("p", 1)
	for _, key := range []string{r.of.key, r.of.armed, r.of.parties} {
		ttl := r.Ask("PTTL", key)
		n, err := ttl.AsInt64()
		require.NoError(t, err)
		require.Positive(t, n, key)
		require.LessOrEqual(t, n, int64(500), key)
	}
	done := r.awaiting(t.Context())
	redistest.Waits(t, done)
	got(t, done)
	require.Empty(t, r.stored())
}

// TestLatchWithTTLThatIsArmedAgainAtOnce: those who waited before pass.
func TestLatchWithTTLThatIsArmedAgainAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	did, err := r.TrySetCount(t.Context(), 2, WithTTL(time.Hour))
	require.NoError(t, err)
	require.True(t, did)
	first := r.awaiting(t.Context())
	r.waiting(1)
	r.Ask("DEL", r.of.key, r.of.armed) // as its end does, without a word
	r.arm(2)                           // which wakes those who wait
	got(t, first)
	second := r.awaiting(t.Context())
	r.waiting(1)
	r.down(1)
	redistest.Waits(t, second)
	r.down(0)
	got(t, second)
}
