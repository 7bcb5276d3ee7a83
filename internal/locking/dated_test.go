package locking

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// slowPasses are passes whose renewals contain the time of the client, and are
// written by a process that stands still then.
type slowPasses struct {
	passes
	renewal *lease.Renewal
}

func (p *slowPasses) Renewal() *lease.Renewal { return p.renewal }

// TestRenewalCountsFromBeforeItWasWritten has a process stand still between the
// time that it writes into a renewal and the send. The lease counts from that time.
func TestRenewalCountsFromBeforeItWasWritten(t *testing.T) {
	t.Parallel()
	const whole, still = 30 * time.Second, 1750 * time.Millisecond // beyond the margins of the leases below
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Shared(t).Addr()}, DisableCache: true})
	require.NoError(t, err)
	e, err := New(t.Context(), raw, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: whole, Owned: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = Close(ctx, e)
	})
	var written atomic.Int64 // when the last one was
	p := &slowPasses{passes: passes{t, e, redistest.Name(t)}}
	p.renewal = &lease.Renewal{Script: renewedKeys.Script, Dated: true,
		Add: func(keys, args []string, key core.Key, owner string, whole time.Duration) (k, a []string) {
			written.Store(time.Now().UnixNano())
			time.Sleep(still) // what is tested
			return append(keys, pass(key, owner)), append(args, strconv.FormatInt(core.Millis(whole), 10))
		}}
	for _, by := range []string{"watchdog", "extend"} {
		owner, started := e.IDs.Private(), e.Now()
		set := raw.B().Set().Key(pass(p.Key(), owner)).Value("1").Px(time.Minute).Build()
		require.NoError(t, raw.Do(t.Context(), set).Error())
		every := time.Duration(0)
		if by == "watchdog" {
			every = whole / 60
		}
		g := e.NewGrant(p, owner, started, whole, every, watchdog.Instant{}, newEnding())
		before, asked := g.Deadline(), whole
		if by == "extend" {
			asked = whole + 2*time.Second
			require.NoError(t, g.Grow(t.Context(), asked))
		}
		require.Eventually(t, func() bool { return g.Deadline().After(before.Add(still / 2)) }, redistest.Soon, time.Millisecond, by)
		at := time.Unix(0, written.Load())
		require.False(t, g.Deadline().After(at.Add(asked)), "%s: it is trusted beyond what was written", by)
		require.True(t, g.Finish(core.ErrReleased), by)
	}
}
