package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

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
	var errs []error
	for _, c := range p.clients {
		errs = append(errs, c.Close(ctx))
	}
	return errors.Join(errs...)
}

func suite(servers []rueidis.ClientOption, of func(clients []*rueidisson.Client, name string) lock.Locker) locktest.Suite {
	return locktest.Suite{
		Start: func(t testing.TB, watchdog time.Duration) locktest.Process {
			p := process{lock: of}
			for _, option := range servers {
				c, err := rueidisson.New(option, rueidisson.WithWatchdogTimeout(watchdog))
				require.NoError(t, err)
				t.Cleanup(func() { closeClient(c) })
				p.clients = append(p.clients, c)
			}
			return p
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
