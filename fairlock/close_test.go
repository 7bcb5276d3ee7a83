package fairlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Close leaves no place behind, and those of others where they were.
func TestCloseTakesItsWaitersOutOfTheQueue(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	c, other := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	held := locktest.Take(t, other.FairLock(name))
	var waited []<-chan result
	for i, of := range []*rueidisson.Client{c, other, c, c} {
		waited = append(waited, lockLater(t.Context(), of.FairLock(name)))
		awaitQueue(t, other.FairLock(name), i+1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	require.NoError(t, c.Close(ctx))
	queue, err := other.FairLock(name).Queue(t.Context())
	require.NoError(t, err)
	require.Len(t, queue, 1, "when Close returns, not only some time later")
	require.True(t, queue[0].Mine)
	for _, i := range []int{0, 2, 3} {
		require.ErrorIs(t, (<-waited[i]).err, rueidisson.ErrClosed)
	}
	locktest.Unlock(t, held)
	locktest.Unlock(t, got(t, waited[1]))
	mustBeFree(t, other.FairLock(name))
}

// A holder that closes with waiters of its own behind it grants them nothing.
func TestCloseGrantsNothingToItsOwn(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	c, other := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	held := locktest.Take(t, c.FairLock(name))
	work := held.Context(t.Context())
	own := lockLater(t.Context(), c.FairLock(name))
	awaitQueue(t, other.FairLock(name), 1)
	behind := lockLater(t.Context(), other.FairLock(name))
	awaitQueue(t, other.FairLock(name), 2)
	unlocked := make(chan error, 1)
	go func() { // ended by Close
		<-work.Done()
		unlocked <- held.Unlock(work)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	require.NoError(t, c.Close(ctx))
	require.NoError(t, <-unlocked)
	require.ErrorIs(t, (<-own).err, rueidisson.ErrClosed)
	locktest.Unlock(t, got(t, behind))
	mustBeFree(t, other.FairLock(name))
}
