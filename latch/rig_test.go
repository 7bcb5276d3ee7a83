package latch

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

var soon = redistest.Soon

// rig is a latch, and a look at its keys.
type rig struct {
	*Latch
	t   testing.TB
	raw rueidis.Client
	e   *locking.Engine
}

func newRig(t testing.TB, change ...func(*core.Config)) *rig {
	t.Helper()
	return rigOn(t, redistest.Shared(t).Client(t), redistest.Name(t), change...)
}

func rigOn(t testing.TB, raw rueidis.Client, name string, change ...func(*core.Config)) *rig {
	t.Helper()
	e := enginetest.On(t, raw, change...)
	return &rig{New(e, name), t, raw, e}
}

// beside is another client on the same latch.
func (r *rig) beside(change ...func(*core.Config)) *rig {
	r.t.Helper()
	return rigOn(r.t, r.raw, r.of.key, change...)
}

func (r *rig) arm(n int64) *rig {
	r.t.Helper()
	did, err := r.TrySetCount(context.Background(), n)
	require.NoError(r.t, err)
	require.True(r.t, did)
	return r
}

// down counts down to left.
func (r *rig) down(left int64) {
	r.t.Helper()
	n, err := r.CountDown(context.Background())
	require.NoError(r.t, err)
	require.Equal(r.t, left, n)
}

func (r *rig) once(party string, left int64) {
	r.t.Helper()
	n, err := r.CountDownOnce(context.Background(), party)
	require.NoError(r.t, err)
	require.Equal(r.t, left, n, party)
}

// stored is what stands in Redis, "" if there is nothing.
func (r *rig) stored() string {
	r.t.Helper()
	msg := r.do("GET", r.of.key)
	text, _ := msg.ToString()
	return text
}

func (r *rig) awaitStored(text string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.stored() == text }, soon, 5*time.Millisecond, "never %q", text)
}

func (r *rig) do(args ...string) rueidis.RedisMessage {
	r.t.Helper()
	return redistest.Do(r.t, r.raw, args...)
}

func (r *rig) exists(key string) bool {
	r.t.Helper()
	msg := r.do("EXISTS", key)
	n, err := msg.AsInt64()
	require.NoError(r.t, err)
	return n == 1
}

// awaiting is an Await on a goroutine of its own.
func (r *rig) awaiting(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.Await(ctx) }() // ends with ctx, or when the client closes
	return done
}

// waiting blocks until so many wait in this process, and have looked and listen.
func (r *rig) waiting(n int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		return waiting(&r.h.places, r.of.key, n)
	}, soon, time.Millisecond)
}

// waiting reports whether so many wait for a name in this process, and have looked and listen.
func waiting(in *places.Places[string, *waiters], name string, n int) bool {
	g := in.Get(name)
	defer in.Put(name, g)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	all, looked := g.count()
	return looked == n && all == n && (n == 0 || g.Looked)
}

// count returns how many wait, and how many of them have looked; under Mu.
func (g *waiters) count() (all, looked int) {
	g.each(func(w *waiter) {
		all++
		if w.looked {
			looked++
		}
	})
	return all, looked
}

func (r *rig) sent(s *scripts.Script) redistest.Match {
	return redistest.All(redistest.MatchScript(s.Body()), redistest.Arg(r.of.key))
}

func got(t testing.TB, done <-chan error) { t.Helper(); require.NoError(t, redistest.Done(t, done)) }
