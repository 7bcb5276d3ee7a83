package lock_test

import (
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// fencedProcess is a client as the conformance suite sees it, which tests fenced
// locks by it.
type fencedProcess struct{ *rueidisson.Client }

func (p fencedProcess) Locker(name string) lock.Locker { return p.FencedLock(name) }

func fencedSuite(option rueidis.ClientOption, opts ...rueidisson.Option) locktest.Suite {
	return locktest.Suite{
		Start: func(t testing.TB, watchdog time.Duration) locktest.Process {
			return fencedProcess{locktest.Connected(t, option, append(opts[:len(opts):len(opts)], rueidisson.WithWatchdogTimeout(watchdog))...)}
		},
		Mute: func(t testing.TB, watchdog time.Duration) (locktest.Process, func(), func()) {
			through, silence, restore := redistest.Mute(t, option)
			return fencedProcess{locktest.Connected(t, through[0], append(opts[:len(opts):len(opts)], rueidisson.WithWatchdogTimeout(watchdog))...)}, silence, restore
		},
		Name: redistest.Name,
	}
}

// Every day on one of them: what is the fenced lock's own is tried on all by
// TestEveryHoldHasAHigherTokenThanThoseBefore, and the rest by the lock's suite.
func TestFencedConformsOnEveryServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions[:redistest.Count(t, 1, len(redistest.Versions))] {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			fencedSuite(rueidis.ClientOption{InitAddress: []string{server.Addr()}}).Run(t)
		})
	}
}

func TestFencedConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	fencedSuite(redistest.Miniredis(t).ClientOption()).Run(t)
}

func TestFencedConformsWithoutHandOver(t *testing.T) {
	t.Parallel()
	fencedSuite(rueidis.ClientOption{InitAddress: []string{redistest.Shared(t).Addr()}}, rueidisson.WithHandover(0, 0)).Run(t)
}
