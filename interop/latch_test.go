//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/latch"
)

var latchProofs = []proof{
	{row: "latch/counts/go-java", test: goCountsDown},
	{row: "latch/counts/java-go", test: javaCountsDown},
	{row: "latch/wake-up/go-java", test: goOpensForJava},
	{row: "latch/wake-up/java-go", test: javaOpensForGo},
	{row: "latch/arm_again/go-java", test: goArmsAgain},
	{row: "latch/arm_again/java-go", test: javaArmsAgain},
	{row: "latch/delete/go-java", test: goDeletesALatch},
	{row: "latch/delete/java-go", test: javaDeletesALatch},
}

var latchEssentials = latchProofs[:4]

// gate is a latch as both sides see it.
type gate struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *latch.Latch
	theirs peer.Latch
}

func (w *world) gate(t *testing.T) *gate {
	t.Helper()
	name := redistest.Name(t)
	g := &gate{world: w, t: t, ctx: within(t)}
	g.mine = w.client(t, answersMayTakeLong).Latch(name)
	g.theirs = w.java.Latch(name, name)
	t.Cleanup(func() { // it has no end of its own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
	})
	return g
}

// left is what both sides say.
func (g *gate) left(want int64) {
	g.t.Helper()
	n, err := g.mine.Count(g.ctx)
	require.NoError(g.t, err)
	require.Equal(g.t, want, n)
	n, err = g.theirs.GetCount(g.ctx)
	require.NoError(g.t, err)
	require.Equal(g.t, want, n)
}

// goArms says whether it does.
func (g *gate) goArms(n int64, want bool) {
	g.t.Helper()
	did, err := g.mine.TrySetCount(g.ctx, n)
	require.NoError(g.t, err)
	require.Equal(g.t, want, did)
}

func (g *gate) javaArms(n int64, want bool) {
	g.t.Helper()
	requireTruth(g.ctx, g.t, want, func(ctx context.Context) (bool, error) { return g.theirs.TrySetCount(ctx, n) })
}

func (g *gate) goDown(left int64) {
	g.t.Helper()
	n, err := g.mine.CountDown(g.ctx)
	require.NoError(g.t, err)
	require.Equal(g.t, left, n)
}

func (g *gate) javaDown() { g.t.Helper(); require.NoError(g.t, g.theirs.CountDown(g.ctx)) }

func goCountsDown(t *testing.T, w *world) {
	g := w.gate(t)
	g.left(0)
	g.goArms(4, true)
	g.javaArms(9, false)
	g.left(4)
	g.goDown(3)
	g.javaDown()
	g.left(2)
	n, err := g.mine.CountDownOnce(g.ctx, "party")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	g.javaDown()
	g.left(0)
	g.goDown(0)
	g.left(0)
}

func javaCountsDown(t *testing.T, w *world) {
	g := w.gate(t)
	g.javaArms(3, true)
	g.goArms(9, false)
	g.left(3)
	g.javaDown()
	g.goDown(1)
	g.goDown(0)
	g.javaDown()
	g.left(0)
	g.javaArms(2, true)
	g.goDown(1)
	g.left(1)
}

// awaitListener waits until one process listens to the latch.
func (g *gate) awaitListener() {
	g.t.Helper()
	how, channel := "NUMSUB", "redisson_countdownlatch__channel__{"+g.mine.Name()+"}"
	if g.spublish() {
		how = "SHARDNUMSUB"
	}
	eventually(g.ctx, g.t, "somebody listens to "+channel, func() (listens bool) {
		for _, node := range g.redis.Nodes() {
			listens = listens || g.subscribers(node, how, channel) == 1
		}
		return listens
	})
	for range 2 { // who listens has looked once more by then
		_, err := g.theirs.GetCount(g.ctx)
		require.NoError(g.t, err)
		_, err = g.mine.Count(g.ctx)
		require.NoError(g.t, err)
	}
}

func (g *gate) subscribers(node rueidis.Client, how, channel string) int64 {
	g.t.Helper()
	answer, err := node.Do(g.ctx, node.B().Arbitrary("PUBSUB", how, channel).Build()).ToArray()
	require.NoError(g.t, err)
	n, err := answer[1].AsInt64()
	require.NoError(g.t, err)
	return n
}

// javaWaits is an await on a thread of its own.
func (g *gate) javaWaits() <-chan outcome[bool] {
	g.t.Helper()
	waits := g.java.Latch(redistest.Name(g.t), g.mine.Name())
	done := begin(func() (bool, error) { return waits.Await(g.ctx, 0) })
	g.awaitListener()
	return done
}

func (g *gate) goWaits() <-chan outcome[struct{}] {
	g.t.Helper()
	done := begin(func() (struct{}, error) { return struct{}{}, g.mine.Await(g.ctx) })
	g.awaitListener()
	return done
}

func passed[T any](t *testing.T, done <-chan outcome[T], began time.Time) {
	t.Helper()
	o := <-done
	require.NoError(t, o.err)
	t.Logf("passed after %v", o.at.Sub(began))
}

func goOpensForJava(t *testing.T, w *world) {
	g := w.gate(t)
	g.goArms(2, true)
	done := g.javaWaits()
	g.goDown(1)
	began := time.Now()
	g.goDown(0)
	passed(t, done, began)
}

func javaOpensForGo(t *testing.T, w *world) {
	g := w.gate(t)
	g.javaArms(2, true)
	done := g.goWaits()
	g.javaDown()
	began := time.Now()
	g.javaDown()
	passed(t, done, began)
}

// goArmsAgain when Java has passed, who waits for the next opening then.
func goArmsAgain(t *testing.T, w *world) {
	g := w.gate(t)
	for range 3 {
		g.goArms(1, true)
		done := g.javaWaits()
		g.left(1)
		began := time.Now()
		g.goDown(0)
		passed(t, done, began)
	}
}

// javaArmsAgain at once, and who waited in Go has passed, as Go opened it.
func javaArmsAgain(t *testing.T, w *world) {
	g := w.gate(t)
	g.javaArms(1, true)
	for range 3 {
		done := g.goWaits()
		began := time.Now()
		g.goDown(0)
		g.javaArms(1, true)
		passed(t, done, began)
		g.left(1)
	}
}

func goDeletesALatch(t *testing.T, w *world) {
	g := w.gate(t)
	g.javaArms(2, true)
	done := g.javaWaits()
	began := time.Now()
	did, err := g.mine.Delete(g.ctx)
	require.NoError(t, err)
	require.True(t, did)
	passed(t, done, began)
	g.left(0)
}

func javaDeletesALatch(t *testing.T, w *world) {
	g := w.gate(t)
	g.goArms(2, true)
	done := g.goWaits()
	began := time.Now()
	requireTruth(g.ctx, t, true, g.theirs.Delete)
	passed(t, done, began)
	g.left(0)
}
