package rueidissontest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// TestForwardMovesWhatIsDue in the clients' time, to who waits for it.
func TestForwardMovesWhatIsDue(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]rueidissontest.Option{"the machine's clock": nil, "a manual clock": {rueidissontest.WithManualClock()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rueidissontest.NewServer(t, opts...)
			orders := queue.NewDelayed[string](s.NewClient(t), "orders")
			for v, d := range map[string]time.Duration{"tea": time.Hour, "milk": 2 * time.Hour} {
				_, err := orders.Offer(t.Context(), v, d)
				require.NoError(t, err)
			}
			taken := make(chan string)
			go func() {
				for v, err := range queue.NewDelayed[string](s.NewClient(t), "orders").Consume(t.Context()) {
					if err != nil {
						return
					}
					taken <- v
				}
			}()
			s.Forward(59 * time.Minute)
			_, err := orders.Poll(t.Context())
			require.ErrorIs(t, err, queue.ErrEmpty)
			s.Forward(time.Minute)
			require.Equal(t, "tea", <-taken)
			s.Forward(time.Hour)
			require.Equal(t, "milk", <-taken)
			n, err := orders.Len(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}
