package lock_test

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

func (w warnings) option() rueidisson.Option {
	return rueidisson.WithLogger(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})))
}

func TestANestedCallWithAPlainContextIsNamedInTheLog(t *testing.T) {
	t.Parallel()
	said := make(warnings, 10)
	c := locktest.Open(t, redistest.Shared(t).Addr(), said.option(), rueidisson.WithWatchdogTimeout(6*time.Second))
	l := c.Lock(redistest.Name(t))
	hold := acquire(t, l)
	ctx, cancel := context.WithCancel(t.Context()) // the plain one
	defer cancel()
	nested := start(ctx, l)
	line := <-said
	require.Contains(t, line, l.Name())
	require.Contains(t, line, "Hold.Context")
	cancel()
	require.ErrorIs(t, await(t, nested).err, context.Canceled)
	require.NoError(t, hold.Unlock(t.Context()))
}
