package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// OfSeveral makes a lock of the clients of several servers.
type OfSeveral func(clients []*rueidisson.Client, name string) lock.Locker

// several has a client for each server.
type several struct {
	clients []*rueidisson.Client
	of      OfSeveral
}

func (p several) Locker(name string) lock.Locker { return p.of(p.clients, name) }

func (p several) Close(ctx context.Context) error {
	errs := make([]error, len(p.clients))
	var all sync.WaitGroup
	for i, c := range p.clients { // at once, as the first one waits for the unlock of a hold that the others are in
		all.Go(func() { errs[i] = c.Close(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// OnSeveral returns the suite of a lock on several servers. It has other locks, mute, where servers fall silent.
func OnSeveral(servers []rueidis.ClientOption, of, mute OfSeveral) Suite {
	start := func(t testing.TB, of OfSeveral, servers []rueidis.ClientOption, watchdog time.Duration) Process {
		p := several{of: of}
		for _, option := range servers {
			p.clients = append(p.clients, Connected(t, option, rueidisson.WithWatchdogTimeout(watchdog)))
		}
		return p
	}
	return Suite{
		Start: func(t testing.TB, watchdog time.Duration) Process { return start(t, of, servers, watchdog) },
		Mute: func(t testing.TB, watchdog time.Duration) (Process, func(), func()) {
			through, silence, restore := redistest.Mute(t, servers...)
			return start(t, mute, through, watchdog), silence, restore
		},
		Name: redistest.Name,
	}
}
