package multilock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
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

func suite(servers []rueidis.ClientOption, of func(clients []*rueidisson.Client, name string) lock.Locker) locktest.Suite {
	return silencable(servers, of, of)
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

// several is a lock of three, on as many servers as there are. The order in
// which they are given is not that in which they are taken.
func several(clients []*rueidisson.Client, name string) lock.Locker {
	last := clients[len(clients)-1]
	return multilock.Multi(last.Lock(name+":c"), clients[0].Lock(name+":a"), last.Lock(name+":b"))
}

func TestMultiConforms(t *testing.T) {
	t.Parallel()
	one, two := redistest.Shared(t), redistest.Shared(t, redistest.Version("valkey-8.1"))
	suite([]rueidis.ClientOption{{InitAddress: []string{one.Addr()}}, {InitAddress: []string{two.Addr()}}}, several).Run(t)
}

func TestMultiConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	suite([]rueidis.ClientOption{redistest.Miniredis(t).ClientOption()}, several).Run(t)
}
