package redlock_test

import (
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
)

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
	locktest.OnSeveral(servers, red, hasty).Run(t)
}

func TestRedConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	var servers []rueidis.ClientOption
	for range 3 {
		servers = append(servers, redistest.Miniredis(t).ClientOption())
	}
	locktest.OnSeveral(servers, red, hasty).Run(t)
}
