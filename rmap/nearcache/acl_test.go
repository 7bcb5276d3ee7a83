package nearcache

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// A right that a near cache lacks is said by its name, and nothing is kept.
func TestANearCacheSaysWhichRightItLacks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	for user, c := range map[string]struct{ denied, says string }{
		"tracking": {"-client|tracking", "CLIENT TRACKING"},
		"info":     {"-client|info", "CLIENT INFO"},
		"pttl":     {"-pttl", "pttl"},
	} {
		words := []string{"ACL", "SETUSER", user, "on", ">password", "~*", "&*", "+@all", c.denied}
		require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(words...).Build()).Error())
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{server.Addr()}, Username: user, Password: "password", DisableCache: true, ForceSingleClient: true,
		})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		n := New(rmap.New[string, string](maptest.EngineOn(t, client), "m"))
		t.Cleanup(n.Close)
		require.NoError(t, n.Put(t.Context(), "k", "v"))
		for range 3 {
			v, there, err := n.Get(t.Context(), "k")
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, "v", v)
		}
		require.Zero(t, n.Stats().Hits, user)
		require.ErrorContains(t, n.Stats().Err, c.says)
	}
}

// TestTheACLOfTheDocsIsEnoughForCopies, with the channels of near caches in addition.
func TestTheACLOfTheDocsIsEnoughForCopies(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../../docs/redis.md")
	e := maptest.EngineOn(t, user.Client(t))
	told := rmap.New[string, string](e, "orders:5", rmap.WithAnnounce(), rmap.WithCodec(codec.Text))
	require.ErrorContains(t, told.Put(t.Context(), "k", "v"), "publish") // the channel is not among those of the page's user
	there, err := told.Has(t.Context(), "k")
	require.NoError(t, err)
	require.False(t, there)
	require.NoError(t, user.Admin.Do(t.Context(), user.Admin.B().Arbitrary("ACL", "SETUSER", "orders", "&{orders*").Build()).Error())
	require.NoError(t, user.Admin.Do(t.Context(), user.Admin.B().Arbitrary("ACL", "LOG", "RESET").Build()).Error())
	for _, opts := range nears {
		n := New(rmap.New[string, string](e, "orders:5", rmap.WithAnnounce(), rmap.WithCodec(codec.Text)), opts...)
		require.NoError(t, n.Put(t.Context(), "k", "v"))
		hot(t, n, "k", "v")
		require.NoError(t, n.Clear(t.Context()))
		n.Close()
	}
	m := rmap.NewCache[string, string](e, "orders:6", rmap.WithAnnounce(), rmap.WithCodec(codec.Text))
	n := New(m, WithAnnounced())
	defer n.Close()
	require.NoError(t, m.SetMaxSize(t.Context(), 1, rmap.LRU))
	for _, k := range []string{"k", "l"} { // which evicts k
		require.NoError(t, n.Put(t.Context(), k, "v", rmap.WithTTL(time.Hour)))
		hot(t, n, k, "v")
	}
	becomes(t, n, "k", "")
	user.NothingDenied(t)
}
