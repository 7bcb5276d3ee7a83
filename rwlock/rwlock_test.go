package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// readers is a client whose locks the suite takes for reading.
type readers struct{ *rueidisson.Client }

func (p readers) Locker(name string) lock.Locker { return p.RWLock(name).Read() }
func (p readers) Rival(name string) lock.Locker  { return p.RWLock(name).Write() }

// writers is one whose locks it takes for writing.
type writers struct {
	*rueidisson.Client
	opts []rwlock.Option
}

func (p writers) Locker(name string) lock.Locker { return p.RWLock(name, p.opts...).Write() }

// suites are the sides of the lock.
func suites(option rueidis.ClientOption, more ...rueidisson.Option) map[string]locktest.Suite {
	of := func(side func(c *rueidisson.Client) locktest.Process) locktest.Suite {
		return locktest.Suite{
			Start: func(t testing.TB, watchdog time.Duration) locktest.Process {
				c, err := rueidisson.New(option, append(more[:len(more):len(more)], rueidisson.WithWatchdogTimeout(watchdog))...)
				require.NoError(t, err)
				t.Cleanup(func() { closeClient(c) })
				return side(c)
			},
			Name: redistest.Name,
		}
	}
	return map[string]locktest.Suite{
		"read":  of(func(c *rueidisson.Client) locktest.Process { return readers{c} }),
		"write": of(func(c *rueidisson.Client) locktest.Process { return writers{c, nil} }),
		"write, preferred": of(func(c *rueidisson.Client) locktest.Process {
			return writers{c, []rwlock.Option{rwlock.WithWriterPreference()}}
		}),
	}
}

func conforms(t *testing.T, option rueidis.ClientOption, more ...rueidisson.Option) {
	for side, suite := range suites(option, more...) {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			suite.Run(t)
		})
	}
}

func TestBothSidesConformOnEveryServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			conforms(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}})
		})
	}
}

func TestBothSidesConformOnMiniredis(t *testing.T) {
	t.Parallel()
	conforms(t, redistest.Miniredis(t).ClientOption())
}

func TestBothSidesConformWithoutHandOver(t *testing.T) {
	t.Parallel()
	conforms(t, rueidis.ClientOption{InitAddress: []string{redistest.Shared(t).Addr()}, ForceSingleClient: true},
		rueidisson.WithHandover(0, 0))
}

func take(t testing.TB, l lock.Locker, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	hold, err := l.Lock(ctx, opts...)
	require.NoError(t, err)
	return hold
}

func unlock(t testing.TB, hold *lock.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(context.Background()))
}

func requireBusy(t testing.TB, l lock.Locker) {
	t.Helper()
	_, err := l.TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
}
