package rueidisson_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
)

// unlocking takes something, and returns what gives it back.
type unlocking func(t *testing.T, p process, name string) (unlock func(context.Context) error)

func unlockingOf(of func(p process, name string) lock.Locker) unlocking {
	return func(t *testing.T, p process, name string) func(context.Context) error {
		t.Helper()
		hold, err := of(p, name).Lock(t.Context())
		require.NoError(t, err)
		return hold.Unlock
	}
}

var unlockings = map[string]unlocking{
	"fenced": unlockingOf(func(p process, name string) lock.Locker { return p[0].FencedLock(name) }),
	"fair":   unlockingOf(func(p process, name string) lock.Locker { return p[0].FairLock(name) }),
	"read":   unlockingOf(func(p process, name string) lock.Locker { return p[0].RWLock(name).Read() }),
	"write":  unlockingOf(func(p process, name string) lock.Locker { return p[0].RWLock(name).Write() }),
	"group":  unlockingOf(func(p process, name string) lock.Locker { return p[0].LockGroup(name).Of("a", "b") }),
	"multi": unlockingOf(func(p process, name string) lock.Locker {
		return p[0].MultiLock(p[0].Lock(name+"-1"), p[0].Lock(name+"-2"))
	}),
	"red": unlockingOf(func(p process, name string) lock.Locker {
		return redlock.New(p[0].Lock(name+"-1"), p[1].Lock(name+"-2"), p[2].Lock(name+"-3")).With(redlock.WithRestartGuard(0))
	}),
	"write, with a reader under it": func(t *testing.T, p process, name string) func(context.Context) error {
		t.Helper()
		hold, err := p[0].RWLock(name).Write().Lock(t.Context())
		require.NoError(t, err)
		_, err = p[0].RWLock(name).Read().Lock(hold.Context(t.Context()))
		require.NoError(t, err)
		return hold.Unlock
	},
	"term": func(t *testing.T, p process, name string) func(context.Context) error {
		t.Helper()
		term, err := p[0].Election(name).Campaign(t.Context(), "leader")
		require.NoError(t, err)
		return term.Resign
	},
}

// TestUnlockOfEveryKindEndsSoonAfterItsContext has a server that is silent: by its own
// bound an unlock would take more than four seconds.
func TestUnlockOfEveryKindEndsSoonAfterItsContext(t *testing.T) {
	t.Parallel()
	for kind, take := range unlockings {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			redistest.Within(t, 2*time.Second, func() time.Duration {
				proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
				unlock := take(t, waiterProcess(t, proxy.Addr()), redistest.Name(t))
				proxy.BlackHole()
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				began := time.Now()
				err := unlock(ctx)
				took := time.Since(began)
				require.ErrorIs(t, err, lock.ErrDeferred)
				proxy.Restore()
				return took
			})
		})
	}
}
