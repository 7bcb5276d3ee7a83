package exchange

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Who knows a rule waits for a newer one, but not again behind a question that
// nobody has answered; and again when one has been.
func TestASilentRuleIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	through, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	t.Cleanup(through.Close)
	e, err := locking.New(t.Context(), through, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 3 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locking.Close(context.Background(), e)) })
	c := HubOf(e).Core(redistest.Name(t))
	known := c.rated(t, slowly(20))

	waits := func(ctx context.Context) time.Duration { // for a reading that has not begun to take long
		return c.patience(ctx, &reading{began: e.Mono() + time.Hour})
	}
	settled := func() { // a reading of that moment has ended
		under := c.read()
		<-under.done
	}
	require.Positive(t, waits(t.Context()))
	p.Refuse()
	p.CutAll()
	settled()
	require.Zero(t, waits(t.Context()), "nobody has answered")
	for range 3 {
		by, err := c.orKnown(t.Context(), known)
		require.NoError(t, err)
		require.Same(t, known, by)
		settled()
		require.Zero(t, waits(t.Context()))
	}
	p.Accept()
	redistest.Eventually(t, func() bool { settled(); return waits(t.Context()) > 0 }, redistest.Soon, time.Millisecond)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	require.LessOrEqual(t, waits(short), 10*time.Minute, "the rest of a deadline is for the bucket")
}
