package otel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// signalling passes on when a wait has begun and when renewals were answered.
type signalling struct {
	*recorder
	waiting, renewed chan struct{}
}

func newSignalling(t *testing.T) signalling {
	return signalling{newRecorder(t), make(chan struct{}, 100), make(chan struct{}, 100)}
}

func (s signalling) WaitStarted(ctx context.Context, kind, name string) {
	s.recorder.WaitStarted(ctx, kind, name)
	s.waiting <- struct{}{}
}

func (s signalling) Renewed(holds int, took time.Duration, err error) {
	s.recorder.Renewed(holds, took, err)
	select {
	case s.renewed <- struct{}{}:
	default:
	}
}

// youngForAnHour has a hold young enough to be handed over however slow the
// machine is.
type youngForAnHour struct{}

func (youngForAnHour) Apply(c *core.Config) error {
	c.HandoverTime = time.Hour
	return nil
}

func TestAHandOverBetweenGoroutines(t *testing.T) {
	t.Parallel()
	r := newSignalling(t)
	c := rueidissontest.NewClient(t, rueidisson.WithObserver(r), youngForAnHour{})
	hold, err := c.Lock("k").Lock(t.Context())
	require.NoError(t, err)

	ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "parent")
	taken := make(chan error, 1)
	go func() {
		hold, err := c.Lock("k").Lock(ctx)
		if err == nil {
			err = hold.Unlock(ctx)
		}
		taken <- err
	}()
	<-r.waiting
	assert.Equal(t, map[string]int64{"rueidisson.kind=lock": 1}, r.sums(t, "rueidisson.waiting"))
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, <-taken)
	parent.End()

	assert.Equal(t, map[string]int64{"rueidisson.kind=lock": 0}, r.sums(t, "rueidisson.waiting"))
	once := map[string]int64{
		"rueidisson.handed=true,rueidisson.kind=lock":  1,
		"rueidisson.handed=false,rueidisson.kind=lock": 1,
	}
	assert.Equal(t, once, r.sums(t, "rueidisson.acquired"))
	assert.Equal(t, once, r.sums(t, "rueidisson.released"))
	assert.Equal(t, map[string]int64{"rueidisson.script=acquire": 1, "rueidisson.script=release": 1},
		r.sums(t, "rueidisson.script.sends"))
	assert.EqualValues(t, 1, histogram[float64](t, r.recorder, "rueidisson.wait.duration")["rueidisson.kind=lock"].Count)

	waits := r.named("rueidisson.wait")
	require.Len(t, waits, 1)
	assert.Equal(t, "rueidisson.kind=lock,rueidisson.name=k", attrs(waits[0]))
	assert.Equal(t, parent.SpanContext().SpanID(), waits[0].Parent.SpanID())
	// The acquire was the first holder's, who has no span; the release is ours.
	scripts := r.named("rueidisson.script")
	require.Len(t, scripts, 1)
	assert.Equal(t, "rueidisson.script=release,rueidisson.sends=1", attrs(scripts[0]))
}

func TestAWaitThatIsCancelled(t *testing.T) {
	t.Parallel()
	r := newSignalling(t)
	s := rueidissontest.NewServer(t)
	hold, err := s.NewClient(t).Lock("k").Lock(t.Context())
	require.NoError(t, err)

	ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "parent")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := s.NewClient(t, rueidisson.WithObserver(r))
	ended := make(chan error, 1)
	go func() {
		_, err := c.Lock("k").Lock(ctx)
		ended <- err
	}()
	<-r.waiting
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	parent.End()
	require.NoError(t, hold.Unlock(t.Context()))

	// Measured although their context has ended.
	waits := histogram[float64](t, r.recorder, "rueidisson.wait.duration")
	assert.EqualValues(t, 1, waits["error.type=canceled,rueidisson.kind=lock"].Count)
	assert.Equal(t, map[string]int64{"rueidisson.kind=lock": 0}, r.sums(t, "rueidisson.waiting"))
	spans := r.named("rueidisson.wait")
	require.Len(t, spans, 1)
	assert.Equal(t, codes.Error, spans[0].Status.Code)
	assert.Equal(t, parent.SpanContext().SpanID(), spans[0].Parent.SpanID())
}

func TestATryThatWaitedInVain(t *testing.T) {
	t.Parallel()
	r := newSignalling(t)
	s := rueidissontest.NewServer(t)
	hold, err := s.NewClient(t).Lock("k").Lock(t.Context())
	require.NoError(t, err)
	_, err = s.NewClient(t, rueidisson.WithObserver(r)).Lock("k").TryLock(t.Context(), lock.WithWait(time.Second))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, hold.Unlock(t.Context()))
	waits := histogram[float64](t, r.recorder, "rueidisson.wait.duration")
	require.Len(t, waits, 1)
	assert.EqualValues(t, 1, waits["error.type=not_acquired,rueidisson.kind=lock"].Count)
	assert.Empty(t, r.spans.GetSpans())
}

func TestARenewalAndALoss(t *testing.T) {
	t.Parallel()
	r := newSignalling(t)
	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	c := s.NewClient(t, rueidisson.WithObserver(r), rueidisson.WithWatchdogTimeout(6*time.Second))
	ctx, parent := r.tracer.Tracer("test").Start(t.Context(), "parent")
	hold, err := c.Lock("k").Lock(ctx)
	require.NoError(t, err)
	<-r.renewed
	s.Forward(time.Minute)
	<-hold.Lost()
	require.ErrorIs(t, hold.Unlock(ctx), lock.ErrLost)
	parent.End()
	assert.Equal(t, map[string]int64{"rueidisson.kind=lock": 1}, r.sums(t, "rueidisson.lost"))
	assert.NotZero(t, histogram[float64](t, r.recorder, "rueidisson.renewal.duration")[""].Count)
	assert.NotZero(t, histogram[int64](t, r.recorder, "rueidisson.renewal.holds")[""].Sum)
}
