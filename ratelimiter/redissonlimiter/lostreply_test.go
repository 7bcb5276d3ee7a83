package redissonlimiter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

func logClientOf(t testing.TB, addr string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func shortSends(c *core.Config) { c.WatchdogTimeout = 9 * time.Second }

// rigCutAndSilent runs a test with a connection that is cut where the reply was,
// and with one that stays open and silent.
func rigCutAndSilent(t *testing.T, test func(t *testing.T, r *rig, p *redistest.Proxy, how ...redistest.DropOption)) {
	t.Parallel()
	t.Run("cut", func(t *testing.T) { t.Parallel(); r, p := faultyRig(t); test(t, r, p) })
	t.Run("silent", func(t *testing.T) { t.Parallel(); r, p := faultyRig(t); test(t, r, p, redistest.Silent()) })
}

func TestLostReplyToTakeTakesOnce(t *testing.T) {
	rigCutAndSilent(t, func(t *testing.T, r *rig, p *redistest.Proxy, how ...redistest.DropOption) {
		r.set(atMost(5, time.Hour))
		drop := p.DropReply(r.script("log_take"), 1, how...)
		d := r.take(2)
		require.True(t, d.Allowed)
		require.EqualValues(t, 3, d.Remaining)
		drop.Await(t)
		require.Len(t, r.entries(r.logKey()), 1)
		r.available(3)
	})
}

func TestLostReplyToALookIsAskedAgain(t *testing.T) {
	t.Parallel()
	for script, call := range map[string]func(t *testing.T, r *rig){
		"log_read": func(t *testing.T, r *rig) {
			rate, err := r.Rate(t.Context())
			require.NoError(t, err)
			require.Equal(t, atMost(5, time.Hour), rate)
		},
		"log_take": func(_ *testing.T, r *rig) { r.available(5) },
	} {
		t.Run(script, func(t *testing.T) {
			rigCutAndSilent(t, func(t *testing.T, r *rig, p *redistest.Proxy, how ...redistest.DropOption) {
				r.set(atMost(5, time.Hour))
				drop := p.DropReply(r.script(script), 1, how...)
				call(t, r)
				drop.Await(t)
			})
		})
	}
}

func TestLostReplyToAChangeIsUnknownAndNotRepeated(t *testing.T) {
	t.Parallel()
	for script, c := range map[string]struct {
		call func(r *rig) error
		done func(r *rig) bool
	}{
		"log_create": {
			func(r *rig) error {
				_, err := r.TrySetRate(context.Background(), atMost(7, time.Hour))
				return err
			},
			func(r *rig) bool { return r.setting()["rate"] == "7" },
		},
		"log_set": {
			func(r *rig) error { return r.SetRate(context.Background(), atMost(6, time.Hour)) },
			func(r *rig) bool { return r.setting()["rate"] == "6" },
		},
		"log_release": {
			func(r *rig) error { return r.Release(context.Background(), 1) },
			func(r *rig) bool { return r.value(r.valueKey()) == 3 },
		},
		"log_delete": {
			func(r *rig) error { _, err := r.Delete(context.Background()); return err },
			func(r *rig) bool { return !r.exists(r.name) && !r.exists(r.valueKey()) },
		},
	} {
		t.Run(script, func(t *testing.T) {
			rigCutAndSilent(t, func(t *testing.T, r *rig, p *redistest.Proxy, how ...redistest.DropOption) {
				if script != "log_create" {
					r.set(atMost(5, time.Hour))
					r.allowed(3)
				}
				drop := p.DropReply(r.script(script), 1, how...)
				require.ErrorIs(t, c.call(r), ratelimiter.ErrOutcomeUnknown)
				drop.Await(t)
				require.True(t, c.done(r))
			})
		})
	}
}

func TestTakeThatArrivesLateTakesNothingMore(t *testing.T) {
	t.Parallel()
	r, p := faultyRig(t)
	r.set(atMost(5, time.Hour))
	late := p.HoldRequest(r.script("log_take"))
	r.allowed(2) // by a second send, on another connection
	late.Await(t)
	late.Release()
	require.Len(t, r.entries(r.logKey()), 1)
	r.available(3)
}

func TestCallerWhoLeavesTakesNothing(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, r *rig, ctx context.Context) error{
		"take": func(_ *testing.T, r *rig, ctx context.Context) error { _, err := r.Take(ctx, 2); return err },
		"wait": func(_ *testing.T, r *rig, ctx context.Context) error { return r.WaitN(ctx, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			p := redistest.NewProxy(t, server.Addr())
			r := &rig{t: t, raw: server.Client(t), name: redistest.Name(t)}
			r.e = engineOn(t, logClientOf(t, p.Addr()))
			r.Limiter = redissonlimiter.New(r.e, r.name)
			r.set(atMost(5, time.Hour))
			r.allowed(1)

			gone := errors.New("gone")
			held := p.HoldRequest(r.script("log_take"))
			ctx, cancel := context.WithCancelCause(t.Context())
			left := make(chan error, 1)
			go func() { left <- leave(t, r, ctx) }()
			held.Await(t)
			cancel(gone)
			err := <-left
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, gone)
			require.NotErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
			held.Release()
			p.AwaitCount(t, r.script("log_undo"), 1)
			require.Eventually(t, func() bool { return r.value(r.valueKey()) == 4 }, soon, 5*time.Millisecond)
			require.Len(t, r.entries(r.logKey()), 1)
		})
	}
}

func TestCallerWhoLeavesAChangeDoesNotKnow(t *testing.T) {
	t.Parallel()
	r, p := faultyRig(t)
	r.set(atMost(5, time.Hour))
	held := p.HoldRequest(r.script("log_set"))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- r.SetRate(ctx, atMost(6, time.Hour)) }()
	held.Await(t)
	cancel()
	err := <-left
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
	held.Release()
	require.Equal(t, "6", r.setting()["rate"])
}
