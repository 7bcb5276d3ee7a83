package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// What a client does under the user that docs/redis.md sets up is denied nothing.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	user := redistest.UserOn(t, server, "../docs/redis.md")
	c, err := rueidisson.New(user.Option(), rueidisson.WithWatchdogTimeout(6*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	l := c.RWLock("orders:1")
	other := locktest.Open(t, server.Addr()).RWLock("orders:1")

	read := locktest.Take(t, l.Read())
	require.NoError(t, read.Extend(t.Context(), time.Second))
	locktest.Take(t, other.Read(), lock.WithLease(20*time.Second))
	owner := another(t, l)
	require.NoError(t, user.Admin.Do(t.Context(), user.Admin.B().Del().Key("{orders:1}:"+owner+":rwlock_timeout:1").Build()).Error())
	got := make(chan *lock.Hold, 1)
	go func() { // ends with the hold: dead readers are dropped after a second
		hold, err := l.Write().Lock(context.Background())
		assert.NoError(t, err)
		got <- hold
	}()
	time.Sleep(1500 * time.Millisecond)
	locktest.Unlock(t, read)
	write := <-got
	_, err = other.Read().TryLock(t.Context(), lock.WithWait(10*time.Millisecond)) // it notes itself
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	nested, err := under(t, l.Read(), write)
	require.NoError(t, err)
	locktest.Unlock(t, write)
	_, err = l.Readers(t.Context())
	require.NoError(t, err)
	locktest.Unlock(t, nested)
	hold := locktest.Take(t, l.Write())
	_, err = other.Read().TryLock(t.Context(), lock.WithWait(10*time.Millisecond))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	locktest.Unlock(t, hold)
	again := locktest.Take(t, other.Read())
	_, err = l.Write().TryLock(t.Context(), lock.WithWait(50*time.Millisecond)) // it takes its claim back
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	_, err = l.Read().ForceUnlock(t.Context())
	require.NoError(t, err)
	_ = again.Unlock(context.Background())

	user.NothingDenied(t)
}

// another is a reader that is of another client.
func another(t testing.TB, l *rwlock.Lock) string {
	t.Helper()
	readers, err := l.Readers(t.Context())
	require.NoError(t, err)
	for _, r := range readers {
		if !r.Mine {
			return r.Owner
		}
	}
	t.Fatalf("%q has no other reader", l.Name())
	return ""
}
