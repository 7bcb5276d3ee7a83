//go:build interop

package interop

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/semaphore"
)

var semaphoreProofs = []proof{
	{row: "semaphore/counts/go-java", test: goCounts},
	{row: "semaphore/counts/java-go", test: javaCounts},
	{row: "semaphore/change/go-java", test: goChangesPermits},
	{row: "semaphore/change/java-go", test: javaChangesPermits},
	{row: "semaphore/wake-up/go-java", test: goWakesJavaWithPermits},
	{row: "semaphore/wake-up/java-go", test: javaWakesGoWithPermits},
	{row: "semaphore/waiters_of_both/both", test: waitersOfBoth, alone: true},
	{row: "semaphore/time_to_live/go-java", test: goSetsATime},
	{row: "semaphore/time_to_live/java-go", test: javaSetsATime},
}

var semaphoreEssentials = []proof{
	{row: "semaphore/counts/go-java", test: goCounts},
	{row: "semaphore/counts/java-go", test: javaCounts},
	{row: "semaphore/wake-up/go-java", test: goWakesJavaWithPermits},
	{row: "semaphore/wake-up/java-go", test: javaWakesGoWithPermits},
}

// permits is a semaphore as both sides see it.
type permits struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *semaphore.Semaphore
	theirs peer.Semaphore
}

func (w *world) permits(t *testing.T) *permits {
	t.Helper()
	name := redistest.Name(t)
	p := &permits{world: w, t: t, ctx: within(t)}
	p.mine = w.client(t, answersMayTakeLong).Semaphore(name)
	p.theirs = w.java.Semaphore(name, name)
	t.Cleanup(func() { // it has no end of its own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
	})
	return p
}

// free is what both sides say.
func (p *permits) free(want int64) {
	p.t.Helper()
	n, err := p.mine.Available(p.ctx)
	require.NoError(p.t, err)
	require.Equal(p.t, want, n)
	n, err = p.theirs.AvailablePermits(p.ctx)
	require.NoError(p.t, err)
	require.Equal(p.t, want, n)
}

func (p *permits) goSets(n int64) {
	p.t.Helper()
	did, err := p.mine.TrySetPermits(p.ctx, n)
	require.NoError(p.t, err)
	require.True(p.t, did)
}

func (p *permits) javaSets(n int64) {
	p.t.Helper()
	requireTruth(p.ctx, p.t, true, func(ctx context.Context) (bool, error) { return p.theirs.TrySetPermits(ctx, n) })
}

func (p *permits) goTakes(n int64) { p.t.Helper(); require.NoError(p.t, p.mine.TryAcquire(p.ctx, n)) }

func (p *permits) goIsRefused(n int64) {
	p.t.Helper()
	require.ErrorIs(p.t, p.mine.TryAcquire(p.ctx, n), semaphore.ErrNotAcquired)
}

// javaTakes says whether Java gets them.
func (p *permits) javaTakes(n int64, want bool) {
	p.t.Helper()
	requireTruth(p.ctx, p.t, want, func(ctx context.Context) (bool, error) { return p.theirs.TryAcquire(ctx, n, 0) })
}

func goCounts(t *testing.T, w *world) {
	p := w.permits(t)
	p.goSets(5)
	p.free(5)
	p.goTakes(3)
	p.free(2)
	p.javaTakes(3, false)
	require.NoError(t, p.mine.Release(p.ctx, 1))
	p.javaTakes(3, true)
	p.free(0)
}

func javaCounts(t *testing.T, w *world) {
	p := w.permits(t)
	p.javaSets(5)
	p.javaTakes(3, true)
	p.free(2)
	p.goIsRefused(3)
	require.NoError(t, p.theirs.Release(p.ctx, 1))
	p.goTakes(3)
	p.free(0)
}

func goChangesPermits(t *testing.T, w *world) {
	p := w.permits(t)
	p.javaSets(5)
	require.NoError(t, p.mine.AddPermits(p.ctx, 2))
	p.free(7)
	require.NoError(t, p.mine.AddPermits(p.ctx, -4))
	p.javaTakes(4, false)
	n, err := p.mine.Drain(p.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	p.javaTakes(1, false)
	require.NoError(t, p.mine.SetPermits(p.ctx, 2))
	p.javaTakes(2, true)
	did, err := p.mine.Delete(p.ctx)
	require.NoError(t, err)
	require.True(t, did)
	p.javaTakes(1, false)
}

func javaChangesPermits(t *testing.T, w *world) {
	p := w.permits(t)
	p.goSets(5)
	require.NoError(t, p.theirs.AddPermits(p.ctx, 2))
	p.free(7)
	require.NoError(t, p.theirs.AddPermits(p.ctx, -4))
	p.goIsRefused(4)
	n, err := p.theirs.DrainPermits(p.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	p.goIsRefused(1)
	require.NoError(t, p.theirs.AddPermits(p.ctx, -2)) // announced as -2, which Go ignores
	p.goIsRefused(1)
	requireTruth(p.ctx, t, true, p.theirs.Delete)
	require.ErrorIs(t, p.mine.TryAcquire(p.ctx, 1), semaphore.ErrNotSet)
}

// released is the channel, spelled here once more.
func released(name string) string {
	if strings.Contains(name, "{") {
		return "redisson_sc:" + name
	}
	return "redisson_sc:{" + name + "}"
}

// awaitWaiter waits until one process listens for permits.
func (p *permits) awaitWaiter() {
	p.t.Helper()
	how := "NUMSUB"
	if p.spublish() {
		how = "SHARDNUMSUB"
	}
	eventually(p.ctx, p.t, "somebody listens to "+released(p.mine.Name()), func() (listens bool) {
		for _, node := range p.redis.Nodes() {
			listens = listens || p.subscribers(node, how) == 1
		}
		return listens
	})
	for range 2 { // who listens has tried once more by then
		p.free(0)
	}
}

func (p *permits) subscribers(node rueidis.Client, how string) int64 {
	p.t.Helper()
	answer, err := node.Do(p.ctx, node.B().Arbitrary("PUBSUB", how, released(p.mine.Name())).Build()).ToArray()
	require.NoError(p.t, err)
	n, err := answer[1].AsInt64()
	require.NoError(p.t, err)
	return n
}

func goWakesJavaWithPermits(t *testing.T, w *world) {
	p := w.permits(t)
	p.goSets(2)
	p.goTakes(2)
	waits := w.java.Semaphore(redistest.Name(t), p.mine.Name())
	got := begin(func() (struct{}, error) { return struct{}{}, waits.Acquire(p.ctx, 2) })
	p.awaitWaiter()
	require.NoError(t, p.mine.Release(p.ctx, 2))
	o := <-got
	require.NoError(t, o.err)
	p.free(0)
}

func javaWakesGoWithPermits(t *testing.T, w *world) {
	p := w.permits(t)
	p.javaSets(2)
	p.javaTakes(2, true)
	got := begin(func() (struct{}, error) { return struct{}{}, p.mine.Acquire(p.ctx, 2) })
	p.awaitWaiter()
	began := time.Now()
	require.NoError(t, p.theirs.Release(p.ctx, 2))
	o := <-got
	require.NoError(t, o.err)
	t.Logf("woken after %v", o.at.Sub(began))
	p.free(0)
}

// waitersOfBoth take and give permits as fast as they can: never more of them are out than there are.
func waitersOfBoth(t *testing.T, w *world) {
	const there, each, rounds = 3, 3, 60
	p := w.permits(t)
	p.goSets(there)
	var out atomic.Int64
	inside := func() {
		require.LessOrEqual(t, out.Add(1), int64(there))
		time.Sleep(time.Millisecond)
		out.Add(-1)
	}
	require.NoError(t, together(2*each, func(i int) error {
		theirs := w.java.Semaphore(redistest.Name(t), p.mine.Name())
		for range rounds {
			acquire, release := func() error { return p.mine.Acquire(p.ctx, 1) }, func() error { return p.mine.Release(p.ctx, 1) }
			if i >= each {
				acquire, release = func() error { return theirs.Acquire(p.ctx, 1) }, func() error { return theirs.Release(p.ctx, 1) }
			}
			if err := acquire(); err != nil {
				return err
			}
			inside()
			if err := release(); err != nil {
				return err
			}
		}
		return nil
	}))
	p.free(there)
}

func goSetsATime(t *testing.T, w *world) {
	p := w.permits(t)
	did, err := p.mine.TrySetPermits(p.ctx, 3, semaphore.WithTTL(longInterval))
	require.NoError(t, err)
	require.True(t, did)
	p.javaTakes(2, true)
	require.NoError(t, p.theirs.Release(p.ctx, 1))
	require.NoError(t, p.mine.AddPermits(p.ctx, 1))
	require.Greater(t, w.pttl(p.ctx, t, p.mine.Name()), time.Duration(0))
	require.LessOrEqual(t, w.pttl(p.ctx, t, p.mine.Name()), longInterval)
}

func javaSetsATime(t *testing.T, w *world) {
	p := w.permits(t)
	requireTruth(p.ctx, t, true, func(ctx context.Context) (bool, error) { return p.theirs.TrySetPermitsFor(ctx, 3, longInterval) })
	p.goTakes(2)
	require.NoError(t, p.mine.Release(p.ctx, 1))
	require.Greater(t, w.pttl(p.ctx, t, p.mine.Name()), time.Duration(0))
	require.NoError(t, p.mine.AddPermits(p.ctx, 1))
	require.Greater(t, w.pttl(p.ctx, t, p.mine.Name()), time.Duration(0), "AddPermits keeps it")
	p.free(3)
}
