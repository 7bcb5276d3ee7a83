package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

// Process is one client of the server under test: what another process would
// be. Lockers of one name are the same lock, from whichever Process they come.
type Process interface {
	Locker(name string) lock.Locker
	Close(ctx context.Context) error
}

// Suite says how to reach what is tested.
type Suite struct {
	// Start returns a fresh Process whose watchdog has that timeout. It is
	// closed when the test ends.
	Start func(t testing.TB, watchdog time.Duration) Process
	// Name returns a name that nobody else uses.
	Name func(t testing.TB) string
}

// long is a lease that no test outlives, short one that each can wait for, and
// kept one that a busy machine still renews in time.
const (
	long  = 30 * time.Second
	short = 400 * time.Millisecond
	kept  = 3 * time.Second
)

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	for _, group := range []struct {
		name  string
		tests map[string]func(*testing.T, Suite)
	}{
		{"exclusion", exclusion}, {"waiting", waiting}, {"holding", holding},
		{"reentry", reentry}, {"leases", leases}, {"ending", ending},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, s)
				})
			}
		})
	}
}

// pair is one lock as two processes see it.
func (s Suite) pair(t *testing.T, watchdog time.Duration) (here, there lock.Locker) {
	t.Helper()
	name := s.Name(t)
	return s.Start(t, watchdog).Locker(name), s.Start(t, watchdog).Locker(name)
}

func (s Suite) one(t *testing.T, watchdog time.Duration) lock.Locker {
	t.Helper()
	return s.Start(t, watchdog).Locker(s.Name(t))
}

func take(t *testing.T, l lock.Locker, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	hold, err := l.Lock(bounded(t), opts...)
	require.NoError(t, err)
	return hold
}

func unlock(t *testing.T, hold *lock.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(context.Background()))
}

func requireBusy(t *testing.T, l lock.Locker) {
	t.Helper()
	_, err := l.TryLock(bounded(t))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
}

func requireFree(t *testing.T, l lock.Locker) {
	t.Helper()
	hold, err := l.TryLock(bounded(t))
	require.NoError(t, err)
	unlock(t, hold)
}

// bounded keeps a test that would wait for ever from doing so.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(20 * time.Second):
		require.Fail(t, "never happened: "+what)
	}
}
