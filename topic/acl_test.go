package topic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md", "+spublish +ssubscribe")
	e := engineOn(t, user.Client(t))
	for kind, of := range kinds {
		name := "orders:1"
		if kind == "pattern" {
			name = "orders" // the pattern is &orders*
		}
		topic := of(e, name)
		s := topic.listening(t)
		topic.publishes(t, "a")
		s.hears(t, "a")
		if topic.subscribers != nil {
			_, err := topic.subscribers(t.Context())
			require.NoError(t, err)
		}
		s.close()
		redistest.Eventually(t, func() bool {
			n, err := topic.publish(t.Context(), "b")
			require.NoError(t, err)
			return n == 0
		}, soon, 1e6)
	}
	reliable := reliableBy(t, user.Admin, e, "orders:2", WithMaxLength(10))
	listener, named := reliable.listening(), reliable.durable("billing")
	reliable.publishes(2, "a")
	listener.hears(t, "a")
	named.hears(t, "a")
	reliable.awaitLen(0)
	_, err := reliable.CountSubscribers(t.Context())
	require.NoError(t, err)
	reliable.publishes(2, "b")
	for m, err := range named.Deliveries(within(t)) {
		require.NoError(t, err)
		if m.Attempt == 1 {
			require.NoError(t, m.Nack(t.Context(), nil))
			continue
		}
		require.NoError(t, m.Bury(t.Context(), nil))
		break
	}
	require.Len(t, dead(t, reliable.Durable("billing")), 1)
	_, err = reliable.Durable("billing").Redrive(t.Context())
	require.NoError(t, err)
	named.hears(t, "b")
	_, err = reliable.Durable("billing").Lag(t.Context())
	require.NoError(t, err)
	_, err = reliable.Durable("billing").PurgeDead(t.Context())
	require.NoError(t, err)
	listener.Close()
	named.Close()
	_, err = reliable.Durable("billing").Drop(t.Context())
	require.NoError(t, err)
	_, err = reliable.Delete(t.Context())
	require.NoError(t, err)
	user.NothingDenied(t)
}
