package redlock_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{"holder of a red lock": holdRedAndLook})
}

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// open connects a client to addr and closes it when the test ends.
func open(t testing.TB, addr string, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	return connected(t, single(addr), opts...)
}

func connected(t testing.TB, option rueidis.ClientOption, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := redistest.Patient(func() (*rueidisson.Client, error) { return rueidisson.New(option, opts...) })
	require.NoError(t, err)
	t.Cleanup(func() { closeClient(c) })
	return c
}

func single(addr string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true}
}

func connect(addr string, opts ...rueidisson.Option) (*rueidisson.Client, error) {
	return rueidisson.New(single(addr), opts...)
}

// closeClient waits a moment for holders and leaves the rest to their leases.
func closeClient(c *rueidisson.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx)
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	t.Cleanup(cancel)
	return ctx
}

func take(t testing.TB, l lock.Locker, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	hold, err := l.Lock(bounded(t), opts...)
	require.NoError(t, err)
	return hold
}

func requireBusy(t testing.TB, l lock.Locker) {
	t.Helper()
	_, err := l.TryLock(bounded(t))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
}

func requireFree(t testing.TB, l lock.Locker) {
	t.Helper()
	var hold *lock.Hold
	redistest.Eventually(t, func() (answered bool) {
		var err error
		hold, err = l.TryLock(bounded(t))
		if errors.Is(err, send.ErrUnasked) { // a release of this process is on its way, which is no refusal of the server's
			return false
		}
		require.NoError(t, err)
		return true
	}, soon, time.Millisecond, "its release does not end")
	require.NoError(t, hold.Unlock(bounded(t)))
}

// ended waits for the end of a context or channel.
func ended(t testing.TB, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatalf("%s did not come", what)
	}
}

// left are the owners of a lock that the server knows.
func left(t testing.TB, raw rueidis.Client, name string) []string {
	t.Helper()
	owners, err := raw.Do(context.Background(), raw.B().Hkeys().Key(name).Build()).AsStrSlice()
	require.NoError(t, err)
	return owners
}

// nothingLeft waits until nobody holds any of them: what a call leaves behind is
// given back beside it.
func nothingLeft(t testing.TB, raw rueidis.Client, names ...string) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		for _, name := range names {
			if len(left(t, raw, name)) > 0 {
				return false
			}
		}
		return true
	}, soon/2, 5*time.Millisecond, "locks are left behind") // long before their leases end
}

// script matches the calls of a script of the reentrant lock for one name.
func script(t testing.TB, name, key string) redistest.Match {
	t.Helper()
	body, err := os.ReadFile("../lock/lua/" + name + ".lua")
	require.NoError(t, err)
	return redistest.All(redistest.MatchScript(string(body)), redistest.Arg(key))
}

// lastTrust asks until a hold has ended, and tells when it began to ask for the
// last time that the hold stood. No machine is so slow that this is after the
// end of the key.
func lastTrust(hold *lock.Hold, work context.Context) (when func() time.Time) {
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

// stranger is a Locker that a user has written.
type stranger struct{}

func (stranger) Name() string { return "stranger" }

func (stranger) Lock(context.Context, ...lock.LockOption) (*lock.Hold, error) { panic("not reached") }

func (stranger) TryLock(context.Context, ...lock.TryOption) (*lock.Hold, error) {
	panic("not reached")
}

// sent is what the client has said to the server, keep-alives apart.
func sent(p *redistest.Proxy) (commands []string) {
	for _, cmd := range p.Log() {
		if !strings.EqualFold(cmd[0], "PING") {
			commands = append(commands, strings.Join(cmd, " "))
		}
	}
	return commands
}
