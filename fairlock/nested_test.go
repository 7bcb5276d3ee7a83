package fairlock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// warnings are the lines that a client logs, as they come.
type warnings chan string

func (w warnings) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}

func TestANestedCallWithAPlainContextIsNamedInTheLog(t *testing.T) {
	t.Parallel()
	said := make(warnings, 10)
	log := slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c := locktest.Open(t, redistest.Shared(t).Addr(), rueidisson.WithLogger(log), rueidisson.WithWatchdogTimeout(6*time.Second))
	l := c.FairLock(redistest.Name(t))
	hold := locktest.Take(t, l)
	inner, err := l.Lock(hold.Context(t.Context())) // this one re-enters
	require.NoError(t, err)
	locktest.Unlock(t, inner)
	ctx, cancel := context.WithCancel(t.Context()) // the plain one
	defer cancel()
	nested := lockLater(ctx, l)
	select {
	case line := <-said:
		require.Contains(t, line, l.Name())
		require.Contains(t, line, "Hold.Context")
	case <-time.After(soon):
		require.FailNow(t, "nothing was said")
	}
	cancel()
	require.ErrorIs(t, (<-nested).err, context.Canceled)
	locktest.Unlock(t, hold)
	mustBeFree(t, l)
}
