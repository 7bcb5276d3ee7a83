package redlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/redlock"
)

func TestARedLockOfFairLocks(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	fair := func() *redlock.Lock {
		p := f.direct()
		for i, c := range p.clients {
			p.locks[i] = c.FairLock(f.name)
		}
		return p.red()
	}
	here, there := fair(), fair()
	hold := locktest.Take(t, here)
	locktest.RequireBusy(t, there)
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, locktest.Take(t, there).Unlock(t.Context()))
	f.heldOn(0, everyServer...)
}
