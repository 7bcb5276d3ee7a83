package lock_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// inBatches has all calls go together.
func inBatches(c *core.Config) { c.Directly = -1 }

// keeper is an observer that keeps the contexts which it is given.
type keeper struct {
	mu  sync.Mutex
	all []context.Context
}

func (k *keeper) keep(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, ctx)
}

func (k *keeper) ScriptRan(ctx context.Context, _ string, _ time.Duration, _ int, _ error) {
	k.keep(ctx)
}
func (k *keeper) Acquired(ctx context.Context, _, _ string, _ bool)                  { k.keep(ctx) }
func (k *keeper) Released(ctx context.Context, _, _ string, _ bool)                  { k.keep(ctx) }
func (k *keeper) WaitStarted(context.Context, string, string)                        {}
func (k *keeper) WaitEnded(_ context.Context, _, _ string, _ time.Duration, _ error) {}
func (k *keeper) Lost(string, string, error)                                         {}
func (k *keeper) Renewed(int, time.Duration, error)                                  {}

// TestAReleaseThatIsLeftLeavesAContextThatLives: the first send is cut, the second dials slowly, and asks its
// context for a value when the caller has gone. The lock is free in the end.
func TestAReleaseThatIsLeftLeavesAContextThatLives(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	var slow atomic.Bool
	asked := make(chan struct{}, 10)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{proxy.Addr()}, DisableCache: true, ForceSingleClient: true,
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "tcp", addr)
			if slow.Load() {
				time.Sleep(700 * time.Millisecond) // longer than a caller that leaves
			}
			_, cancel := context.WithCancel(ctx) // asks for a value, as a TLS handshake does
			cancel()
			asked <- struct{}{}
			return c, err
		},
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	l := lock.New(enginetest.On(t, client, inBatches), redistest.Name(t))
	for range 2 { // loads the scripts
		h, err := l.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
	}
	h, err := l.Lock(t.Context())
	require.NoError(t, err)
	for len(asked) > 0 {
		<-asked
	}
	lost := proxy.DropReply(redistest.All(redistest.Command("EVALSHA")), 1)
	slow.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, h.Unlock(ctx), lock.ErrDeferred)
	lost.Await(t)
	<-asked
	slow.Store(false)
	require.Eventually(t, func() bool {
		held, err := l.Locked(context.Background())
		return err == nil && !held
	}, redistest.Soon, 10*time.Millisecond)
}

// TestObserversOfACrowdMayKeepTheirContexts, which have the values of the callers' own.
func TestObserversOfACrowdMayKeepTheirContexts(t *testing.T) {
	t.Parallel()
	type own struct{}
	seen := new(keeper)
	e := enginetest.On(t, redistest.Shared(t).Client(t), inBatches, func(c *core.Config) { c.Observer = seen })
	name := redistest.Name(t)
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), own{}, i))
			defer cancel()
			for range 10 {
				h, err := lock.New(e, fmt.Sprint(name, i)).Lock(ctx)
				if assert.NoError(t, err) {
					assert.NoError(t, h.Unlock(ctx))
				}
			}
		})
	}
	calls.Wait()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	count := map[any]int{}
	for _, ctx := range seen.all {
		if i := ctx.Value(own{}); i != nil {
			count[i]++
		}
	}
	require.Len(t, count, 50)
	for i, n := range count {
		require.Equal(t, 40, n, "of caller %v: an acquire, a release, and a script of each", i)
	}
}

// TestACallerInACrowdLeavesASilentServer soon after its context has ended, with an acquire and with a release.
func TestACallerInACrowdLeavesASilentServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := enginetest.On(t, server.Client(t), inBatches)
	held, err := lock.New(e, "held").Lock(t.Context())
	require.NoError(t, err)
	for what, leave := range map[string]func(ctx context.Context) error{
		"acquire": func(ctx context.Context) error { _, err := lock.New(e, "other").Lock(ctx); return err },
		"release": held.Unlock,
	} {
		server.Pause()
		redistest.Within(t, time.Second, func() time.Duration { // a send has three
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			require.ErrorIs(t, leave(ctx), context.DeadlineExceeded, what)
			return time.Since(began)
		})
		server.Resume()
	}
	for _, name := range []string{"held", "other"} {
		require.Eventually(t, func() bool {
			held, err := lock.New(e, name).Locked(context.Background())
			return err == nil && !held
		}, 2*redistest.Soon, 10*time.Millisecond, name)
	}
}
