package rwlock_test

import (
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
				return side(locktest.Connected(t, option, append(more[:len(more):len(more)], rueidisson.WithWatchdogTimeout(watchdog))...))
			},
			Mute: func(t testing.TB, watchdog time.Duration) (locktest.Process, func(), func()) {
				through, silence, restore := redistest.Mute(t, option)
				return side(locktest.Connected(t, through[0], append(more[:len(more):len(more)], rueidisson.WithWatchdogTimeout(watchdog))...)), silence, restore
			},
			Name: redistest.Name,
		}
	}
	return map[string]locktest.Suite{
		"read":  of(func(c *rueidisson.Client) locktest.Process { return readers{c} }),
		"write": of(func(c *rueidisson.Client) locktest.Process { return writers{c, nil} }),
		"write, readers first": of(func(c *rueidisson.Client) locktest.Process {
			return writers{c, []rwlock.Option{rwlock.WithReaderPreference()}}
		}),
	}
}

// conforms runs the suite for one side after the other: together they are more
// than a small machine renews in time.
func conforms(t *testing.T, option rueidis.ClientOption, sides []string, more ...rueidisson.Option) {
	all := suites(option, more...)
	for _, side := range sides {
		t.Run(side, func(t *testing.T) {
			suite, known := all[side]
			require.True(t, known)
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
			conforms(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}}, []string{"read", "write"})
		})
	}
}

func TestBothSidesConformOnMiniredis(t *testing.T) {
	t.Parallel()
	conforms(t, redistest.Miniredis(t).ClientOption(), []string{"read", "write, readers first"})
}

func TestBothSidesConformWithoutHandOver(t *testing.T) {
	t.Parallel()
	conforms(t, rueidis.ClientOption{InitAddress: []string{redistest.Shared(t).Addr()}, ForceSingleClient: true},
		[]string{"read", "write, readers first"}, rueidisson.WithHandover(0, 0))
}
