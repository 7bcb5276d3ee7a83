package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDelayedQueueKeepSaysThatTheServerRefuses at once in the log, and to its caller
// when that has lasted for a watchdog timeout. What waits is moved when it is over.
func TestDelayedQueueKeepSaysThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T){}
	for said, refuse := range map[string][2][]string{
		"OOM":        {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
		"NOREPLICAS": {{"CONFIG", "SET", "min-replicas-to-write", "1"}, {"CONFIG", "SET", "min-replicas-to-write", "0"}},
	} {
		tests[said] = func(t *testing.T) {
			raw := redistest.Start(t).Client(t)
			log, clock := &enginetest.Log{}, enginetest.NewClock()
			const borne = 2 * time.Second
			e := engineOn(t, raw, log.To, clock.To, func(c *core.Config) { c.WatchdogTimeout = borne })
			q := delayedOn(t, e)
			taker := also(t, q, raw).Queue() // its client moves nothing
			offers := func() bool {
				_, err := q.Offer(t.Context(), "a", time.Minute)
				return err == nil
			}
			redistest.Eventually(t, offers, soon, time.Millisecond) // one whose outcome is unknown is made again
			redistest.Do(t, raw, refuse[0]...)
			refused := time.Now()
			clock.Forward(time.Minute)
			result := make(chan error, 1)
			go func() { result <- q.Keep(t.Context()) }()
			redistest.Eventually(t, func() bool { return log.Has("is not moved") && log.Has(said) }, soon, 5*time.Millisecond)
			select {
			case err := <-result:
				require.Greater(t, time.Since(refused), borne, "Keep did not bear it for a watchdog timeout: %v", err)
				result <- err // this process stood still meanwhile
			default:
			}
			select {
			case err := <-result:
				require.ErrorContains(t, err, said)
			case <-time.After(soon):
				t.Fatal("Keep goes on")
			}
			redistest.Do(t, raw, refuse[1]...)
			v, err := taker.Take(within(t))
			require.NoError(t, err)
			require.Equal(t, "a", v)
		}
	}
	redistest.Together(t, tests)
}
