package topic

import (
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableDeliveryThatTwoLoopsAckAtOnceIsAcknowledged when both have returned: the last of them waits for that.
func TestDurableDeliveryThatTwoLoopsAckAtOnceIsAcknowledged(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) {
		const messages = 300
		r := settling(t, raw, redistest.Name(t))
		one, two := r.durable("billing"), r.durable("billing")
		r.publishes(1, numbers(0, messages)...)
		nextOne, endOne := iter.Pull2(one.Deliveries(within(t)))
		nextTwo, endTwo := iter.Pull2(two.Deliveries(within(t)))
		defer endOne()
		defer endTwo()
		late := 0
		for range messages {
			first, err, _ := nextOne()
			require.NoError(t, err)
			second, err, _ := nextTwo()
			require.NoError(t, err)
			require.Equal(t, first.ID, second.ID)
			begin := make(chan struct{})
			var acks sync.WaitGroup
			for _, m := range []*Delivery[string]{first, second} {
				acks.Go(func() {
					<-begin
					assert.NoError(t, m.Ack(t.Context()))
				})
			}
			close(begin)
			acks.Wait()
			pending := redistest.Do(t, raw, "XPENDING", r.of.key, "billing", first.ID, first.ID, "1")
			rows, err := pending.ToArray()
			require.NoError(t, err)
			late += len(rows)
		}
		require.Zero(t, late, "they have returned before the server knew")
	})
}

// TestBeginBesideOverdue: a message that another loop was left with may go back as a loop begins with it, which then skips it
// or has it.
func TestBeginBesideOverdue(t *testing.T) {
	t.Parallel()
	r := settling(t, redistest.Shared(t).Client(t), redistest.Name(t))
	f := r.durable("billing").f
	for range 1000 {
		it := &entry{id: "1-1", left: 2, begun: 1}
		f.mu.Lock()
		f.flight[it.id] = it
		f.mu.Unlock()
		var all []*entry
		var both sync.WaitGroup
		both.Go(func() {
			f.unbegin(it)
			all = f.overdue(time.Now().Add(time.Hour))
		})
		begun := f.begin(it)
		both.Wait()
		require.True(t, begun || len(all) == 1, "it is skipped, and does not go back")
		f.mu.Lock()
		delete(f.flight, it.id)
		f.mu.Unlock()
	}
}
