package multilock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
	"github.com/rueidisson/rueidisson/redlock"
)

// sent is what the client has said to the server, keep-alives apart.
func sent(p *redistest.Proxy) (commands []string) {
	for _, cmd := range p.Log() {
		if !strings.EqualFold(cmd[0], "PING") {
			commands = append(commands, strings.Join(cmd, " "))
		}
	}
	return commands
}

func TestMembersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := locktest.Open(t, proxy.Addr(), rueidisson.WithNameMapper(strings.ToLower))
	one := c.Lock("one")
	for name, of := range map[string]struct {
		locks []lock.Locker
		says  string
	}{
		"none":                    {nil, "no locks"},
		"a nil one":               {[]lock.Locker{one, nil}, "lock 2 of 2"},
		"a nil pointer":           {[]lock.Locker{(*lock.Lock)(nil)}, "nil lock"},
		"one of a user":           {[]lock.Locker{one, locktest.Stranger{}}, "Stranger"},
		"the same twice":          {[]lock.Locker{one, c.Lock("two"), c.Lock("one")}, "twice"},
		"the same twice, mapped":  {[]lock.Locker{one, c.Lock("ONE")}, "twice"},
		"several":                 {[]lock.Locker{one, multilock.Multi(c.Lock("two"))}, "several"},
		"a red lock":              {[]lock.Locker{one, redlock.New(c.Lock("two"))}, "several"},
		"several that are no use": {[]lock.Locker{multilock.Multi()}, "several"},
		"an empty name":           {[]lock.Locker{one, c.Lock("")}, "empty name"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy.ResetLog()
			for _, all := range []lock.Locker{multilock.Multi(of.locks...), c.MultiLock(of.locks...)} {
				_, err := all.Lock(t.Context())
				require.ErrorIs(t, err, lock.ErrInvalidArgument)
				require.ErrorContains(t, err, of.says)
				_, err = all.TryLock(t.Context())
				require.ErrorIs(t, err, lock.ErrInvalidArgument)
				require.ErrorIs(t, lock.Do(t.Context(), all, func(context.Context) error { panic("not reached") }), lock.ErrInvalidArgument)
			}
			require.Empty(t, sent(proxy), "nothing is sent")
		})
	}
}

func TestCallsThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := locktest.Open(t, proxy.Addr())
	both := c.MultiLock(c.Lock("two"), c.Lock("one"))
	require.Equal(t, "one, two", both.Name())
	proxy.ResetLog()
	for _, option := range []lock.TryOption{lock.WithLease(time.Millisecond), lock.WithWait(-1), nil} {
		_, err := both.TryLock(t.Context(), option)
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
		require.ErrorContains(t, err, `"one", "two"`)
	}
	_, err := both.Lock(nil) //lint:ignore SA1012 nil is what is tested
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	require.Empty(t, sent(proxy), "nothing is sent")
}

func TestNamesThatDoNotKeepTogetherAreRefusedOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c, err := rueidisson.Open("redis://" + cluster.Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	_, err = multilock.Multi(c.Lock("good"), c.Lock("a{b")).Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	locktest.RequireFree(t, multilock.Multi(c.Lock("good"), c.Lock("of another slot")))
}
