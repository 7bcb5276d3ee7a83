package multilock_test

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
)

// several is a lock of three, on as many servers as there are. The order in
// which they are given is not that in which they are taken.
func several(clients []*rueidisson.Client, name string) lock.Locker {
	last := clients[len(clients)-1]
	return multilock.Multi(last.Lock(name+":c"), clients[0].Lock(name+":a"), last.Lock(name+":b"))
}

func TestMultiConforms(t *testing.T) {
	t.Parallel()
	one, two := redistest.Shared(t), redistest.Shared(t, redistest.Version("valkey-8.1"))
	locktest.OnSeveral([]rueidis.ClientOption{{InitAddress: []string{one.Addr()}}, {InitAddress: []string{two.Addr()}}}, several, several).Run(t)
}

func TestMultiConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	locktest.OnSeveral([]rueidis.ClientOption{redistest.Miniredis(t).ClientOption()}, several, several).Run(t)
}
