package topic

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableDeliveryThatComesAgainBeforeItsNackIsAnsweredIsGiven: it waits for no lease, and loses no attempt.
func TestDurableDeliveryThatComesAgainBeforeItsNackIsAnsweredIsGiven(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			raw := server.Client(t)
			client, proxy := through(t, server)
			watch := settling(t, raw, redistest.Name(t))
			r := reliableBy(t, raw, engineOn(t, client, quickly), watch.of.key, WithMaxLength(1000))
			s := r.durable("billing")
			watch.publishes(1, "a")
			var tried []int64
			for m, err := range s.Deliveries(within(t), WithBackoff(quick)) {
				require.NoError(t, err)
				tried = append(tried, m.Attempt)
				if m.Attempt >= 3 {
					require.NoError(t, m.Ack(t.Context()))
					break
				}
				if m.Attempt == 2 {
					require.NoError(t, m.Nack(t.Context(), nil))
					continue
				}
				lost := proxy.DropReply(redistest.All(redistest.MatchScript(attempts.Nack.Body()), redistest.Arg(r.of.key)), 1_000_000)
				nacked := make(chan error, 1)
				go func() { nacked <- m.Nack(context.Background(), nil) }()
				redistest.Eventually(t, func() bool { return s.f.attempted(2) }, soon, 5*time.Millisecond)
				lost.Cancel()
				if err = <-nacked; err != nil { // it was given up before that
					require.ErrorIs(t, err, ErrOutcomeUnknown)
				}
			}
			require.Equal(t, []int64{1, 2, 3}, tried)
		})
	}
}

// attempted reports whether a message has come to a feed for the n-th time, and has it look.
func (f *feed) attempted(n int64) bool {
	defer f.h.wake(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claim = true
	for _, it := range f.flight {
		if it.attempt == n {
			return true
		}
	}
	return false
}
