package fairlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

func TestANameThatCannotBeUsedIsRefusedByEachCall(t *testing.T) {
	t.Parallel()
	l := locktest.Open(t, redistest.Shared(t).Addr()).FairLock("")
	_, err := l.Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = l.TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = l.ForceUnlock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = l.Queue(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = l.Lock(nil) //lint:ignore SA1012 nil is what is tested
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}

func TestNobodyTakesPartInAFairHold(t *testing.T) {
	t.Parallel()
	l := locktest.Open(t, redistest.Shared(t).Addr()).FairLock(redistest.Name(t))
	hold := locktest.Take(t, l)
	_, err := hold.Token(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
}

func TestAnotherFamilyUnderTheNameIsSeen(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	hold := locktest.Take(t, here.FairLock(name))
	_, err := here.Lock(name).TryLock(t.Context())
	require.ErrorIs(t, err, rueidisson.ErrWrongKind, "in the process")
	_, err = here.Lock(name).TryLock(hold.Context(context.Background()))
	require.ErrorIs(t, err, rueidisson.ErrWrongKind, "under its own context")
	waited := lockLater(t.Context(), here.FairLock(name))
	awaitQueue(t, here.FairLock(name), 1)
	_, err = there.Lock(name).TryLock(t.Context())
	require.ErrorIs(t, err, rueidisson.ErrWrongKind, "by its queue")
	locktest.Unlock(t, hold)
	locktest.Unlock(t, got(t, waited))
	plain, err := here.Lock(name).Lock(t.Context())
	require.NoError(t, err)
	_, err = here.FairLock(name).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrWrongKind)
	require.NoError(t, plain.Unlock(t.Context()))
}
