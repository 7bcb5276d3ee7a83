package exchange

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Whoever is told core.ErrClosed alone may ask elsewhere: nothing was sent.
func TestOfWhatMeetsCloseOnlyRefundsAreSent(t *testing.T) {
	t.Parallel()
	asks := func(kinds ...bucket.Kind) func(r *bucket.Rule) batch {
		return func(r *bucket.Rule) (b batch) {
			for _, k := range kinds {
				b = append(b, &call{Ask: Ask{Want: bucket.Want{Rule: r, N: 1, Kind: k}}})
			}
			return b
		}
	}
	for name, c := range map[string]struct {
		batch func(*bucket.Rule) batch
		sent  []string
		errs  []error
	}{
		"takes":   {asks(bucket.Take, bucket.Take), nil, []error{core.ErrClosed}},
		"refunds": {asks(bucket.Refund, bucket.Refund), []string{"decide.lua"}, nil},
		"both":    {asks(bucket.Take, bucket.Refund), []string{"decide.lua"}, []error{core.ErrOutcomeUnknown, core.ErrClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
			require.NoError(t, err)
			t.Cleanup(client.Close) // Close leaves it open
			r := redistest.RecordScripts(t, client)
			e, err := locking.New(t.Context(), r, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute})
			require.NoError(t, err)
			limiter := HubOf(e).Core("orders")
			state := keys.Bucket("orders")
			known := limiter.rated(t, PerHour(10))
			taken := batchOf(Ask{Want: bucket.Want{Rule: known, N: 5}})
			require.NoError(t, limiter.send(state, on(limiter, state, taken)))
			require.EqualValues(t, 5, taken[0].Answer.Remaining())
			busy := make(chan struct{})
			require.True(t, e.Spawn(func() { <-busy })) // so that Close has begun, and has not ended
			closed := make(chan error, 1)
			go func() { closed <- locking.Close(context.Background(), e) }()
			<-e.Closing()
			r.Take()

			err = limiter.send(state, on(limiter, state, c.batch(known)))
			for _, want := range c.errs {
				assert.ErrorIs(t, err, want)
			}
			if len(c.errs) < 2 {
				assert.NotErrorIs(t, err, core.ErrOutcomeUnknown)
			}
			if c.errs == nil {
				assert.NoError(t, err)
			}
			assert.Equal(t, c.sent, redistest.ScriptNames(r.Take()))
			close(busy)
			assert.NoError(t, <-closed)
		})
	}
}
