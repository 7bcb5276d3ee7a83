package reliable

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAnOvertakenExchangeHasAFreshLane: the server knows a later request of the lane, and does nothing. The give-back is said
// again at once.
func TestAnOvertakenExchangeHasAFreshLane(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("a")
		m := r.gets("a")
		lane := r.e.Request(m.d.c.of.lane, lanes+m.d.c.number).Lane
		r.do("SET", lane, "9000000000000000 0", "PX", "60000")
		require.NoError(t, m.Release(t.Context()))
		r.acks("a")
		r.leaves()
	})
}

// TestAGiveBackThatIsNotAnsweredIsSaidAgain though nobody uses the queue any more.
func TestAGiveBackThatIsNotAnsweredIsSaidAgain(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		proxy := redistest.NewProxy(t, server.Addr())
		raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{proxy.Addr()}, DisableCache: true, ForceSingleClient: true})
		require.NoError(t, err)
		t.Cleanup(raw.Close)
		r := rigOn(t, raw)
		r.adds("a")
		m := r.gets("a")
		defect := proxy.Exchange("local lane = KEYS[#KEYS]", "if true then return {} end local lane = KEYS[#KEYS]")
		require.ErrorIs(t, m.Release(t.Context()), ErrOutcomeUnknown)
		defect.Cancel()
		redistest.Eventually(t, func() bool {
			s, err := r.Stats(t.Context())
			return err == nil && s.Ready == 1
		}, soon, 10*time.Millisecond)
		n, err := defect.Calls()
		require.NoError(t, err)
		require.Positive(t, n)
		r.acks("a")
	})
}
