package lock_test

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs what a client does under the
// user that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	words := redistest.UserOfThePage(t, "../docs/redis.md")
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(words...).Build()).Error())

	proxy := redistest.NewProxy(t, server.Addr())
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: []string{proxy.Addr()}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
	}, rueidisson.WithWatchdogTimeout(6*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { closeClient(c) })
	l := c.Lock("orders:1")

	lost := proxy.DropReply(redistest.MatchScript(body(t, "acquire")), 1)
	hold, err := l.Lock(t.Context()) // and its unlock is a give-back, with a tombstone
	require.NoError(t, err)
	lost.Await(t)
	require.NoError(t, hold.Unlock(t.Context()))
	hold, err = l.Lock(t.Context()) // past the tombstone
	require.NoError(t, err)
	require.NoError(t, hold.Extend(t.Context(), 8*time.Second))
	waited := make(chan error, 1)
	other := open(t, server.Addr()).Lock("orders:1")
	token, err := hold.Token(t.Context())
	require.NoError(t, err)
	joined, err := l.Join(t.Context(), token)
	require.NoError(t, err)
	_, err = l.Holder(t.Context())
	require.NoError(t, err)
	require.NoError(t, joined.Unlock(t.Context()))
	require.NoError(t, hold.Unlock(t.Context()))

	held, err := other.Lock(t.Context())
	require.NoError(t, err)
	go func() { // ends with the unlock below
		mine, err := l.Lock(t.Context())
		if err == nil {
			err = mine.Unlock(t.Context())
		}
		waited <- err
	}()
	require.Eventually(t, func() bool {
		n, err := l.Waiting(t.Context())
		return err == nil && n == 1
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, held.Unlock(t.Context()))
	require.NoError(t, <-waited)
	_, err = l.ForceUnlock(t.Context())
	require.NoError(t, err)

	denied, err := admin.Do(t.Context(), admin.B().Arbitrary("ACL", "LOG").Build()).ToArray()
	require.NoError(t, err)
	require.Empty(t, denied)
}
