package fairlock_test

import (
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// process is a client as the conformance suite sees it.
type process struct{ *rueidisson.Client }

func (p process) Locker(name string) lock.Locker { return p.FairLock(name) }

func suite(option rueidis.ClientOption) locktest.Suite {
	return locktest.Suite{
		Start: func(t testing.TB, watchdog time.Duration) locktest.Process {
			return process{locktest.Connected(t, option, rueidisson.WithWatchdogTimeout(watchdog))}
		},
		Mute: func(t testing.TB, watchdog time.Duration) (locktest.Process, func(), func()) {
			through, silence, restore := redistest.Mute(t, option)
			return process{locktest.Connected(t, through[0], rueidisson.WithWatchdogTimeout(watchdog))}, silence, restore
		},
		Name: redistest.Name,
	}
}

func TestFairLockConformsOnEveryServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			suite(rueidis.ClientOption{InitAddress: []string{server.Addr()}}).Run(t)
		})
	}
}

func TestFairLockConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	suite(redistest.Miniredis(t).ClientOption()).Run(t)
}
