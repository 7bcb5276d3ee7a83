package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
)

// process has a client for each server, as the conformance suite sees it.
type process struct {
	clients []*rueidisson.Client
	lock    func(clients []*rueidisson.Client, name string) lock.Locker
}

func (p process) Locker(name string) lock.Locker { return p.lock(p.clients, name) }

func (p process) Close(ctx context.Context) error {
	errs := make([]error, len(p.clients))
	var all sync.WaitGroup
	for i, c := range p.clients { // at once, as the first one waits for the unlock of a hold that the others are in
		all.Go(func() { errs[i] = c.Close(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// silencable has other locks where servers fall silent.
func silencable(servers []rueidis.ClientOption, of, mute func(clients []*rueidisson.Client, name string) lock.Locker) locktest.Suite {
	start := func(t testing.TB, of func([]*rueidisson.Client, string) lock.Locker, servers []rueidis.ClientOption, watchdog time.Duration) locktest.Process {
		p := process{lock: of}
		for _, option := range servers {
			p.clients = append(p.clients, locktest.Connected(t, option, rueidisson.WithWatchdogTimeout(watchdog)))
		}
		return p
	}
	return locktest.Suite{
		Start: func(t testing.TB, watchdog time.Duration) locktest.Process { return start(t, of, servers, watchdog) },
		Mute: func(t testing.TB, watchdog time.Duration) (locktest.Process, func(), func()) {
			through, silence, restore := redistest.Mute(t, servers...)
			return start(t, mute, through, watchdog), silence, restore
		},
		Name: redistest.Name,
	}
}

// red returns a red lock on all servers. Each server has a name of its own for it.
func red(clients []*rueidisson.Client, name string) lock.Locker {
	// A machine that is busy is no reason to do without a member here.
	return hasty(clients, name).(*redlock.Lock).With(redlock.WithMemberTimeout(soon))
}

// hasty is a red lock that waits no longer for its members than it does by itself.
func hasty(clients []*rueidisson.Client, name string) lock.Locker {
	var all []lock.Locker
	for i, c := range clients {
		all = append(all, c.Lock(fmt.Sprintf("%s:%d", name, i)))
	}
	return redlock.New(all...).With(redlock.WithRestartGuard(0))
}

func TestRedConforms(t *testing.T) {
	t.Parallel()
	var servers []rueidis.ClientOption
	for i := range 5 {
		s := redistest.Start(t, redistest.Version(redistest.Versions[i%len(redistest.Versions)]))
		servers = append(servers, rueidis.ClientOption{InitAddress: []string{s.Addr()}})
	}
	silencable(servers, red, hasty).Run(t)
}

func TestRedConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	var servers []rueidis.ClientOption
	for range 3 {
		servers = append(servers, redistest.Miniredis(t).ClientOption())
	}
	silencable(servers, red, hasty).Run(t)
}
