package latch

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestLatchAwaitLooksWhileTheLastWaitersLeave: the look that ended their waits was
// sent before the newcomer came.
func TestLatchAwaitLooksWhileTheLastWaitersLeave(t *testing.T) {
	t.Parallel()
	r := newRig(t, enginetest.NoLooks).arm(1)
	g := r.h.places.Get(r.of.key) // as a waiter has it that is about to leave
	defer r.h.places.Put(r.of.key, g)
	done := r.awaiting(t.Context())
	r.waiting(1)
	r.down(0)
	got(t, done)
	got(t, r.awaiting(t.Context()))
}

// TestLatchShortAwaitsSeeAnOpeningOfWhichNoMessageCame: the time since the last look
// counts for the name, not for each head of its waiters.
func TestLatchShortAwaitsSeeAnOpeningOfWhichNoMessageCame(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *core.Config) { c.LongestSleep = time.Second }).arm(1)
	const waits = 20
	var all []<-chan error
	var leave []context.CancelFunc
	for i := range waits {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		leave = append(leave, cancel)
		all = append(all, r.awaiting(ctx))
		r.entered(i + 1)
	}
	r.waiting(waits)
	for i, cancel := range leave { // each becomes the head for 200 ms
		time.AfterFunc(time.Duration(i+1)*200*time.Millisecond, cancel)
	}
	r.Ask("DEL", r.of.key)
	passed := 0
	for _, done := range all {
		if err := redistest.Done(t, done); err == nil {
			passed++
		}
	}
	require.NotZero(t, passed)
}

// entered blocks until so many wait in this process.
func (r *rig) entered(n int) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
		g := r.h.places.Get(r.of.key)
		defer r.h.places.Put(r.of.key, g)
		g.Mu.Lock()
		defer g.Mu.Unlock()
		all, _ := g.count()
		return all == n
	}, soon, time.Millisecond)
}
