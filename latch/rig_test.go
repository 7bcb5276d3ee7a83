package latch

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

var soon = redistest.Soon

// rig is a latch, and a look at its keys.
type rig struct {
	*Latch
	enginetest.Rig
}

func newRig(t testing.TB, change ...func(*core.Config)) *rig {
	t.Helper()
	return rigOn(t, redistest.Shared(t).Client(t), redistest.Name(t), change...)
}

func rigOn(t testing.TB, raw rueidis.Client, name string, change ...func(*core.Config)) *rig {
	t.Helper()
	r := enginetest.NewRig(t, raw, change...)
	return &rig{New(r.E, name), r}
}

// beside is another client on the same latch.
func (r *rig) beside(change ...func(*core.Config)) *rig {
	r.T.Helper()
	return rigOn(r.T, r.Raw, r.of.key, change...)
}

func (r *rig) arm(n int64) *rig {
	r.T.Helper()
	did, err := r.TrySetCount(context.Background(), n)
	require.NoError(r.T, err)
	require.True(r.T, did)
	return r
}

// down counts down to left.
func (r *rig) down(left int64) {
	r.T.Helper()
	n, err := r.CountDown(context.Background())
	require.NoError(r.T, err)
	require.Equal(r.T, left, n)
}

func (r *rig) once(party string, left int64) {
	r.T.Helper()
	n, err := r.CountDownOnce(context.Background(), party)
	require.NoError(r.T, err)
	require.Equal(r.T, left, n, party)
}

// stored is what stands in Redis, "" if there is nothing.
func (r *rig) stored() string {
	r.T.Helper()
	msg := r.Ask("GET", r.of.key)
	text, _ := msg.ToString()
	return text
}

func (r *rig) awaitStored(text string) {
	r.T.Helper()
	require.Eventually(r.T, func() bool { return r.stored() == text }, soon, 5*time.Millisecond, "never %q", text)
}

func (r *rig) exists(key string) bool { r.T.Helper(); return r.Number("EXISTS", key) == 1 }

// awaiting is an Await on a goroutine of its own.
func (r *rig) awaiting(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.Await(ctx) }() // ends with ctx, or when the client closes
	return done
}

// waiting blocks until so many wait in this process, and have looked and listen.
func (r *rig) waiting(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
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
	return enginetest.SentFor(s, r.of.key)
}

func got(t testing.TB, done <-chan error) { t.Helper(); require.NoError(t, redistest.Done(t, done)) }
