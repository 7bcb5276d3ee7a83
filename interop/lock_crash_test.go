//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

// goIsKilled: Java gets the lock when the lease has ended that the dead process left, and not before.
func goIsKilled(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	child := startChild(t, "holder", contest{Addrs: w.addrs, Sharded: w.sharded, Lock: name, Watchdog: watchdog})
	theirs := w.thread(t, name)
	got := w.javaWaits(ctx, t, theirs, name)
	child.Kill()
	ends := w.leaseEnds(ctx, t, name)
	requireFreedBy(t, ends, javaHas(t, got))
	require.NoError(t, theirs.Unlock(ctx))
}

func javaIsKilled(t *testing.T, w *world) {
	java := peer.Start(t, w.jvm)
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	require.NoError(t, java.Lock("holder", name).Lock(ctx))
	got := w.goWaits(ctx, t, c.Lock(name))
	java.Kill()
	ends := w.leaseEnds(ctx, t, name)
	mine, at := goHas(t, got)
	requireFreedBy(t, ends, at)
	require.NoError(t, mine.Unlock(ctx))
}

// leaseEnds is when the lock that a dead process held will be free, or a little before.
func (w *world) leaseEnds(ctx context.Context, t *testing.T, name string) time.Time {
	t.Helper()
	asked := time.Now()
	left := w.pttl(ctx, t, name)
	require.Positive(t, left, "nobody holds the lock any more")
	return asked.Add(left)
}

// holder is a Go process that holds a lock until it is killed.
func holder(p *redistest.Parent) {
	inContest(p, func(ctx context.Context, c contest, client *rueidisson.Client, _ rueidis.Client) error {
		_, err := client.Lock(c.Lock).Lock(ctx)
		if err != nil {
			return err
		}
		p.Say("ready")
		p.Hear()
		return nil
	})
}
