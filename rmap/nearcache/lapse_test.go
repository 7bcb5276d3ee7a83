package nearcache

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// Whoever answers after a silence need not be the one who was asked to tell.
func TestAnAnswerAfterASilenceRestoresNoCopies(t *testing.T) {
	t.Parallel()
	o := &origin{born: time.Now().Add(-time.Hour), silence: time.Minute}
	o.Alive(time.Now().Add(-2 * time.Minute))
	before := o.gen.Load()
	o.Alive(time.Now())
	require.Greater(t, o.gen.Load(), before)
	require.True(t, o.alive(o.now()))

	before = o.gen.Load()
	o.Alive(time.Now())
	require.Equal(t, before, o.gen.Load(), "without a silence nothing is dropped")
}

func TestASilenceEndsWithOneArming(t *testing.T) {
	t.Parallel()
	e := maptest.EngineOn(t, maptest.MiniredisClient(t))
	o := &origin{born: time.Now().Add(-time.Hour), silence: time.Minute}
	o.arm = func(context.Context) (time.Duration, error) {
		o.Alive(time.Now())
		return -1, nil
	}
	o.Alive(time.Now().Add(-2 * time.Minute))
	before := o.gen.Load()
	gen, ok := o.ready(t.Context(), e)
	require.True(t, ok)
	require.Greater(t, gen, before)
	again, ok := o.ready(t.Context(), e)
	require.True(t, ok)
	require.Equal(t, gen, again)
}

// The monotonic clock stands still while a machine sleeps.
func TestAMachineThatSleptHasNoCopies(t *testing.T) {
	t.Parallel()
	o := &origin{born: time.Now().Add(-time.Hour), silence: time.Minute}
	o.Alive(time.Now())
	require.True(t, o.alive(o.now()))
	before := o.gen.Load()
	o.wall.Add(-int64(2 * time.Minute)) // as if it had been heard so long ago
	time.Sleep(2 * doze)
	require.False(t, o.alive(o.now()))
	o.Alive(time.Now())
	require.Greater(t, o.gen.Load(), before)
	require.True(t, o.alive(o.now()))
	require.Zero(t, o.armed.Load())
}

// TestAMachineThatSleptAfterItsClockWasSetBack has no copies either.
func TestAMachineThatSleptAfterItsClockWasSetBack(t *testing.T) {
	t.Parallel()
	o := &origin{born: time.Now().Add(-time.Hour), silence: time.Minute}
	o.Alive(time.Now())
	o.wall.Add(int64(time.Hour)) // as if it had been heard before the clock was set back
	o.Alive(time.Now())
	o.wall.Add(-int64(2 * time.Minute))
	time.Sleep(2 * doze)
	require.False(t, o.alive(o.now()))
}
