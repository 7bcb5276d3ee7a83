package reliable

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// poolOf is a ServeAll whose rounds a test makes, and whose handlers it is.
func poolOf(t *testing.T, n int, queues ...Served) *pool {
	t.Helper()
	p := newPool(context.WithoutCancel(t.Context()), t.Context(), n, soon)
	require.NoError(t, p.opens(queues))
	for _, s := range p.all {
		s.c.join(s.t)
		s.c.hear()
	}
	t.Cleanup(func() {
		p.stop()
		p.close()
	})
	return p
}

// handles does the work of a handler.
func (p *pool) handles(t *testing.T) {
	t.Helper()
	j := redistest.Done(t, p.work)
	var at position
	j.of.handle(j.d, &at.id)
	j.of.awaits()
}

// TestServeAllIsToldOfMessagesWhereAHandlerWasFasterThanItsRound: its ack left before the pool had seen that it was free, and was
// the word of a consumer that waits no more.
func TestServeAllIsToldOfMessagesWhereAHandlerWasFasterThanItsRound(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		p := poolOf(t, 1, r.With((&noting{}).handle))
		require.NoError(t, p.round())
		r.awaitIdle(1)
		r.adds("a")
		redistest.Eventually(t, func() bool {
			require.NoError(t, p.collects(p.all[0]))
			return len(p.work) == 1
		}, soon, time.Millisecond)
		p.handles(t)
		require.EqualValues(t, 1, r.counter("acked"))
		require.NoError(t, p.round())
		idle, err := asInt(r.do("ZCARD", r.part("idle")))
		require.NoError(t, err)
		require.EqualValues(t, 1, idle, "it waits, and the server does not know of it")
	})
}

// TestServeAllLetsAQueueSaveUpNoCredit while it has no room for more.
func TestServeAllLetsAQueueSaveUpNoCredit(t *testing.T) {
	t.Parallel()
	p := newPool(t.Context(), t.Context(), 10, soon)
	bounded, other := &source{weight: 1, most: 1}, &source{weight: 1, most: 10}
	dealt := func() (n int) {
		for _, of := range p.portions([]*source{bounded, other}) {
			if of.of == other {
				n += of.n
			}
		}
		return n
	}
	for range 100 {
		require.Equal(t, 9, dealt())
	}
	p.busy = 9
	n := 0
	for range 20 {
		n += dealt()
	}
	require.InDelta(t, 10, n, 1, "one handler is free at a time, and each queue has its half of that")
}
