package rmap

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	words := redistest.UserOfThePage(t, "../docs/redis.md")
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(words...).Build()).Error())
	user, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
	})
	require.NoError(t, err)
	t.Cleanup(user.Close)
	e := engineOn(t, user)
	for _, opts := range [][]MapOption{{WithCodec(codec.Text)}, {WithCodec(codec.Text), WithRequestIDs(), WithEntryLock()}} {
		m := New[string, int](e, "orders:1", opts...)
		for name, op := range operations {
			require.NoError(t, m.Put(t.Context(), "k", 1))
			if name == "rename" {
				_, err := m.Rename(t.Context(), "orders:{orders:1}")
				require.NoError(t, err)
				continue
			}
			require.NoError(t, op(t.Context(), m, "k", 1), name)
		}
		_, err := Add(t.Context(), New[string, float64](e, "orders:1", opts...), "f", 1.5)
		require.NoError(t, err)
		_, err = m.Remove(t.Context(), "f") // which is none of m's
		require.NoError(t, err)
	}
	for _, opts := range [][]CacheOption{{WithTTL(time.Hour), WithMaxIdle(time.Hour)}, {WithRequestIDs()}} {
		m := NewCache[string, int](e, "orders:2", append(opts, WithCodec(codec.Text))...)
		for _, by := range []Order{LRU, LFU} {
			require.NoError(t, m.SetMaxSize(t.Context(), 2, by))
			m.Events(t.Context())
			w := &world{t, rand.New(rand.NewPCG(1, 2)), m, "", map[string]int{}}
			for i := range 20 { // more than the bound
				require.NoError(t, m.Put(t.Context(), strconv.Itoa(i), i, WithTTL(time.Millisecond)))
			}
			require.NoError(t, m.Clear(t.Context()))
			require.NoError(t, m.SetMaxSize(t.Context(), 1000, by))
			require.NoError(t, m.SetMaxBytes(t.Context(), 400, by))
			for _, step := range steps {
				step(t.Context(), w)
			}
			_, err := m.Touch(t.Context(), "k")
			require.NoError(t, err)
			_, err = m.TTL(t.Context(), "k")
			require.NoError(t, err)
			_, err = m.Expire(t.Context(), time.Hour)
			require.NoError(t, err)
			_, err = m.Persist(t.Context())
			require.NoError(t, err)
			_, err = m.Delete(t.Context())
			require.NoError(t, err)
		}
	}
	sharded := NewSharded[string, int](e, "orders:4", 4, WithCodec(codec.Text))
	for name, op := range wholes {
		require.NoError(t, sharded.Put(t.Context(), "k", 1))
		if name != "rename" {
			require.NoError(t, op(t.Context(), sharded), name)
		}
	}
	for _, m := range []Mapping[string, int]{New[string, int](e, "orders:1"), NewCache[string, int](e, "orders:2")} {
		l := NewLoading(m, quick)
		for name, op := range operationsOf {
			require.NoError(t, op(t.Context(), l), name)
		}
		_, _, err := l.Get(t.Context(), "none")
		require.NoError(t, err)
		for _, opts := range ways {
			w := NewWriting(m, newBehindMap().write, opts...)
			for name, op := range operationsOf {
				require.NoError(t, op(t.Context(), w), name)
			}
			require.NoError(t, w.Close(t.Context()))
		}
		if m.inside().whole {
			w := NewWriting(m, func(context.Context, []Change[string, int]) error { return Discard(errPicky) }, WithBehind(1), WithWriteDelay(time.Millisecond))
			for range 2 {
				require.NoError(t, w.Put(t.Context(), "k", 1))
				require.NoError(t, w.Flush(t.Context()))
				require.NotEmpty(t, dead(t, w))
				_, err = w.Redrive(t.Context())
				require.NoError(t, err)
				require.NoError(t, w.Flush(t.Context()))
				_, err = w.Purge(t.Context())
				require.NoError(t, err)
			}
			require.NoError(t, w.Close(t.Context()))
		}
	}
	nothingDenied := func() {
		denied, err := admin.Do(t.Context(), admin.B().Arbitrary("ACL", "LOG").Build()).ToArray()
		require.NoError(t, err)
		require.Empty(t, denied)
	}
	nothingDenied()
	told := New[string, string](e, "orders:5", WithAnnounce(), WithCodec(codec.Text))
	require.ErrorContains(t, told.Put(t.Context(), "k", "v"), "publish") // the channel is not among those of the page's user
	there, err := told.Has(t.Context(), "k")
	require.NoError(t, err)
	require.False(t, there)
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary("ACL", "SETUSER", "orders", "&{orders*").Build()).Error())
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary("ACL", "LOG", "RESET").Build()).Error())
	for _, opts := range nears {
		n := NewNear(New[string, string](e, "orders:5", WithAnnounce(), WithCodec(codec.Text)), opts...)
		require.NoError(t, n.Put(t.Context(), "k", "v"))
		hot(t, n, "k", "v")
		require.NoError(t, n.Clear(t.Context()))
		n.Close()
	}
	m := NewCache[string, string](e, "orders:6", WithAnnounce(), WithCodec(codec.Text))
	n := NewNear(m, WithAnnounced())
	defer n.Close()
	require.NoError(t, m.SetMaxSize(t.Context(), 1, LRU))
	for _, k := range []string{"k", "l"} { // which evicts k
		require.NoError(t, n.Put(t.Context(), k, "v", WithTTL(time.Hour)))
		hot(t, n, k, "v")
	}
	becomes(t, n, "k", "")
	nothingDenied()
}

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
		n := NewNear(New[string, string](engineOn(t, client), "m"))
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
