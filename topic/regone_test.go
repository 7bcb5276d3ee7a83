package topic

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableDeliveryWhoseGroupIsGone is lost, which is no fault: another process has settled the last message that was
// redriven, whose stream goes with it, or the name was dropped.
func TestDurableDeliveryWhoseGroupIsGone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		d, s := r.Durable("billing"), r.durable("billing")
		one := func(how func(m *Delivery[string])) {
			t.Helper()
			for m, err := range s.Deliveries(within(t), WithBackoff(quick)) {
				require.NoError(t, err)
				how(m)
				break
			}
		}
		bury := func(m *Delivery[string]) error { return m.Bury(t.Context(), nil) }
		nack := func(m *Delivery[string]) error { return m.Nack(t.Context(), nil) }
		for _, how := range []func(m *Delivery[string]) error{bury, nack} {
			r.publishes(1, "a")
			one(func(m *Delivery[string]) { require.NoError(t, bury(m)) })
			n, err := d.Redrive(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			one(func(m *Delivery[string]) {
				redistest.Do(t, raw, "DEL", r.of.again("billing"))
				require.NoError(t, s.f.release([]*entry{m.it}), "the reader gives its connection up for it")
				require.ErrorIs(t, how(m), ErrLost)
			})
		}
		r.publishes(1, "a")
		one(func(m *Delivery[string]) {
			s.Close() // nobody makes the name anew
			there, err := d.Drop(t.Context())
			require.NoError(t, err)
			require.True(t, there)
			require.ErrorIs(t, nack(m), ErrLost)
		})
	})
}
