package lock_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// everyOperation calls all that a handle can do, and returns the errors.
func everyOperation(ctx context.Context, l *lock.Lock, token lock.Token) map[string]error {
	errs := map[string]error{}
	_, errs["lock"] = l.Lock(ctx)
	_, errs["try lock"] = l.TryLock(ctx)
	_, errs["join"] = l.Join(ctx, token)
	_, errs["force unlock"] = l.ForceUnlock(ctx)
	_, errs["locked"] = l.Locked(ctx)
	_, errs["remaining"] = l.Remaining(ctx)
	_, errs["holder"] = l.Holder(ctx)
	_, errs["waiting"] = l.Waiting(ctx)
	errs["do"] = lock.Do(ctx, l, func(context.Context) error { panic("not reached") })
	return errs
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

// refused checks an error for bad input, and that nothing was sent for it.
func refused(t testing.TB, p *redistest.Proxy, err error, says ...string) {
	t.Helper()
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	for _, words := range says {
		require.ErrorContains(t, err, words)
	}
	require.Empty(t, sent(p), "nothing is sent")
}

func watched(t testing.TB) (*rueidisson.Client, *redistest.Proxy) {
	t.Helper()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := locktest.Open(t, proxy.Addr())
	proxy.ResetLog()
	return c, proxy
}

func TestAnEmptyNameIsRefusedByEveryOperation(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	for op, err := range everyOperation(t.Context(), c.Lock(""), javaToken(t)) {
		t.Run(op, func(t *testing.T) { refused(t, proxy, err, "empty name", `""`) })
	}
}

func TestANameThatIsMappedToNothingIsRefused(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := locktest.Open(t, proxy.Addr(), rueidisson.WithNameMapper(func(string) string { return "" }))
	proxy.ResetLog()
	for op, err := range everyOperation(t.Context(), c.Lock("order"), javaToken(t)) {
		t.Run(op, func(t *testing.T) { refused(t, proxy, err, "empty name", `"order"`) })
	}
}

func TestANilContextIsRefusedByEveryOperation(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	l := c.Lock(redistest.Name(t))
	//lint:ignore SA1012 nil is what is tested
	for op, err := range everyOperation(nil, l, javaToken(t)) {
		t.Run(op, func(t *testing.T) { refused(t, proxy, err, "nil context", l.Name()) })
	}
}

func TestANilContextIsRefusedByAHold(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	hold := acquire(t, c.Lock(redistest.Name(t)))
	for op, call := range map[string]func(ctx context.Context) error{
		"unlock":   hold.Unlock,
		"extend":   func(ctx context.Context) error { return hold.Extend(ctx, time.Minute) },
		"token of": func(ctx context.Context) error { _, err := hold.Token(ctx); return err },
	} {
		t.Run(op, func(t *testing.T) {
			proxy.ResetLog()
			refused(t, proxy, call(nil), "nil context", op)
		})
	}
	//lint:ignore SA1012 it panics as the context package does
	require.Panics(t, func() { hold.Context(nil) })
	require.NoError(t, hold.Unlock(t.Context()), "the refused unlock ended nothing")
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	l := c.Lock(redistest.Name(t))
	for name, of := range map[string]struct {
		option lock.LockOption
		says   string
	}{
		"a lease below 10 ms":   {lock.WithLease(10*time.Millisecond - 1), "9.999999ms"},
		"a lease of nothing":    {lock.WithLease(0), "lease 0s"},
		"a negative lease":      {lock.WithLease(-time.Second), "lease -1s"},
		"a lease beyond clocks": {lock.WithLease(math.MaxInt64), "lease"},
		"a nil option":          {nil, "nil option"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.Lock(t.Context(), of.option)
			refused(t, proxy, err, of.says, "lock", l.Name())
			_, err = l.TryLock(t.Context(), of.option)
			refused(t, proxy, err, of.says, "try lock", l.Name())
			_, err = l.Join(t.Context(), javaToken(t), of.option)
			refused(t, proxy, err, of.says, "join", l.Name())
			err = lock.Do(t.Context(), l, func(context.Context) error { panic("not reached") }, of.option)
			refused(t, proxy, err, of.says, l.Name())
		})
	}
	for name, of := range map[string]struct {
		option lock.TryOption
		says   string
	}{
		"a negative wait":     {lock.WithWait(-1), "wait -1ns"},
		"a nil option to try": {nil, "nil option"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := l.TryLock(t.Context(), of.option)
			refused(t, proxy, err, of.says, l.Name())
		})
	}
}

func TestTheShortestAndTheLongestLeaseAreTaken(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	direct, l := server.Client(t), locktest.Open(t, server.Addr()).Lock(redistest.Name(t))
	const longest = 100 * 365 * 24 * time.Hour
	hold := acquire(t, l, lock.WithLease(longest))
	require.Greater(t, keyLeft(t, direct, l.Name()), longest-time.Hour)
	require.NoError(t, hold.Unlock(t.Context()))

	require.Eventually(t, func() bool { // where answers take longer than that, it is an error
		var err error
		hold, err = l.Lock(t.Context(), lock.WithLease(10*time.Millisecond))
		return err == nil
	}, soon, time.Millisecond)
	locktest.Ended(t, "the end of a short lease", hold.Lost())
	require.ErrorIs(t, hold.Err(), lock.ErrLost)
}

func TestABadLeaseIsRefusedByExtend(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	hold := acquire(t, c.Lock(redistest.Name(t)))
	proxy.ResetLog()
	for _, d := range []time.Duration{0, -time.Second, 9 * time.Millisecond, math.MaxInt64} {
		refused(t, proxy, hold.Extend(t.Context(), d), "extend", "lease")
	}
	require.NoError(t, hold.Err())
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestATokenThatCannotBeJoinedIsRefused(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	l := c.Lock(redistest.Name(t))
	_, err := l.Join(t.Context(), lock.Token{})
	refused(t, proxy, err, "zero token", l.Name())
	require.ErrorIs(t, err, lock.ErrToken)

	hold := acquire(t, l)
	holder, err := l.Holder(t.Context())
	require.NoError(t, err)
	proxy.ResetLog()
	private, err := lock.ParseToken(holder.Owner)
	require.ErrorIs(t, err, lock.ErrToken)
	refused(t, proxy, err, "private")
	_, err = l.Join(t.Context(), private)
	require.ErrorIs(t, err, lock.ErrToken)
	refused(t, proxy, err, l.Name())
	require.NoError(t, hold.Unlock(t.Context()))

	for _, text := range []string{"", ":", "x", "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11", "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:",
		"6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:0", "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:-1",
		"6F5C2AE5-5a3c-4d6e-9d36-0a4a0b2d8f11:1", "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:01", "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:99999999999999999999"} {
		_, err := lock.ParseToken(text)
		require.ErrorIs(t, err, lock.ErrToken, "%q", text)
		require.ErrorIs(t, err, lock.ErrInvalidArgument, "%q", text)
	}
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	reason := context.DeadlineExceeded
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for op, err := range everyOperation(ctx, c.Lock(redistest.Name(t)), javaToken(t)) {
		require.ErrorIs(t, err, context.Canceled, op)
		require.ErrorIs(t, err, reason, op)
	}
	require.Empty(t, sent(proxy))
}
