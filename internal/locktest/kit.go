package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// Single returns what a client of one server needs.
func Single(addr string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true}
}

// Open connects a client to addr, and closes it when the test ends.
func Open(t testing.TB, addr string, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	return Connected(t, Single(addr), opts...)
}

// Connected is Open for any kind of server.
func Connected(t testing.TB, option rueidis.ClientOption, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := redistest.Patient(func() (*rueidisson.Client, error) { return rueidisson.New(option, opts...) })
	require.NoError(t, err)
	t.Cleanup(func() { Close(c) })
	return c
}

// Close waits a moment for holders, and leaves the rest to their leases.
func Close(c *rueidisson.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx)
}

// Bounded returns a context for a call that has to return.
func Bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	t.Cleanup(cancel)
	return ctx
}

// Take acquires a lock.
func Take(t testing.TB, l lock.Locker, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	hold, err := l.Lock(Bounded(t), opts...)
	require.NoError(t, err)
	return hold
}

// Unlock ends a hold that stands.
func Unlock(t testing.TB, hold *lock.Hold) {
	t.Helper()
	require.NoError(t, hold.Unlock(context.Background()))
}

// RequireBusy tries a lock that somebody holds.
func RequireBusy(t testing.TB, l lock.Locker) {
	t.Helper()
	_, err := l.TryLock(Bounded(t))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
}

// RequireFree tries a lock that nobody holds. A release of this process may be on its way, which is no refusal of
// the server's.
func RequireFree(t testing.TB, l lock.Locker) {
	t.Helper()
	var hold *lock.Hold
	redistest.Eventually(t, func() (answered bool) {
		var err error
		hold, err = l.TryLock(Bounded(t))
		if errors.Is(err, send.ErrUnasked) {
			return false
		}
		require.NoError(t, err)
		return true
	}, soon, time.Millisecond, "its release does not end")
	require.NoError(t, hold.Unlock(Bounded(t)))
}

// Ended waits for the end of a context or a channel.
func Ended(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatalf("%s did not come", what)
	}
}

// Left returns the owners of a lock that the server knows.
func Left(t testing.TB, raw rueidis.Client, name string) []string {
	t.Helper()
	owners, err := raw.Do(context.Background(), raw.B().Hkeys().Key(name).Build()).AsStrSlice()
	require.NoError(t, err)
	return owners
}

// NothingLeft waits until nobody holds any of the names. A call gives back in the background what it leaves.
func NothingLeft(t testing.TB, raw rueidis.Client, names ...string) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		for _, name := range names {
			if len(Left(t, raw, name)) > 0 {
				return false
			}
		}
		return true
	}, soon/2, 5*time.Millisecond, "locks are left behind") // long before their leases end
}

// LastTrust asks until a hold has ended. when returns the time at which it began to ask for the last time that
// the hold stood. No machine is so slow that this is after the end of the key.
func LastTrust(hold *lock.Hold, work context.Context) (when func() time.Time) {
	last := make(chan time.Time, 1)
	go func() { // ends with the hold
		var stood time.Time
		for {
			asked := time.Now()
			if hold.Err() != nil && work.Err() != nil {
				break
			}
			stood = asked
			time.Sleep(time.Millisecond)
		}
		last <- stood
	}()
	return func() time.Time { return <-last }
}

// Stranger is a Locker that a user has written.
type Stranger struct{}

// Name implements lock.Locker.
func (Stranger) Name() string { return "stranger" }

// Lock is not reached.
func (Stranger) Lock(context.Context, ...lock.LockOption) (*lock.Hold, error) { panic("not reached") }

// TryLock is not reached.
func (Stranger) TryLock(context.Context, ...lock.TryOption) (*lock.Hold, error) {
	panic("not reached")
}
