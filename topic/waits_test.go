package topic

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// manyReliable has one client listen to topics of that many names. It returns another client's way to
// publish to one of them, which waits until the message has come, and the end of all.
func manyReliable(t *testing.T, raw rueidis.Client, names int) (publish func(i int, v string)) {
	t.Helper()
	e, other := engineOn(t, raw), engineOn(t, raw)
	came := make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	prefix := redistest.Name(t)
	named := func(e *locking.Engine, i int) *Reliable[string] {
		return NewReliable[string](e, prefix+strconv.Itoa(i))
	}
	subscriptions := make([]*ReliableSubscription[string], names)
	useNames(t, 0, names, func(name string) error {
		i, err := strconv.Atoi(strings.TrimPrefix(name, "name"))
		if err == nil {
			subscriptions[i], err = named(e, i).Listen(t.Context())
		}
		return err
	})
	for _, s := range subscriptions {
		s.f.isQuiet(t)
		go func() { // ends with ctx
			for v, err := range s.Messages(ctx) {
				if err == nil {
					came <- v
				}
			}
		}()
	}
	return func(i int, v string) {
		n, err := named(other, i).Publish(t.Context(), v)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.Equal(t, v, redistest.Done(t, came))
	}
}

// isQuiet waits until a feed waits for announcements.
func (f *feed) isQuiet(t *testing.T) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		f.stageMu.Lock()
		defer f.stageMu.Unlock()
		return f.stage == resting && f.watched.Load() != nil
	}, soon, time.Millisecond)
}

// looks returns how many reads of quiet topics there may be since then, in addition to those of messages.
func looks(since time.Time, names int64) int64 {
	return names + int64(time.Since(since)/lookEach) + int64(time.Since(since)/lookEvery)
}

// received returns how many bytes a server has received.
func received(t testing.TB, node rueidis.Client) int64 {
	t.Helper()
	info := redistest.Do(t, node, "INFO", "stats")
	text, err := info.ToString()
	require.NoError(t, err)
	_, rest, _ := strings.Cut(text, "total_net_input_bytes:")
	n, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 10, 64)
	require.NoError(t, err)
	return n
}

// TestReliableMessageCostsTheSameHoweverManyTopicsAreListenedTo: its own topic is read, and no other. A command with
// all names would have 20 KB for each message.
func TestReliableMessageCostsTheSameHoweverManyTopicsAreListenedTo(t *testing.T) {
	t.Parallel()
	const names, messages = 1_000, 200
	server := redistest.Start(t)
	raw := server.Client(t)
	publish := manyReliable(t, raw, names)
	server.ResetStats()
	began, before := time.Now(), received(t, raw)
	for i := range messages {
		publish(rand.IntN(names), strconv.Itoa(i))
	}
	some := looks(began, names)
	require.LessOrEqual(t, server.CommandCalls(t, "xreadgroup"), 3*messages+some)
	require.Less(t, received(t, raw)-before, 4_000*messages+500*some)
	require.Zero(t, blockedOf(t, raw))
}

// TestReliableTopicsOfManySlotsTakeNoTurns: one connection to each master reads all that are there, and none blocks.
func TestReliableTopicsOfManySlotsTakeNoTurns(t *testing.T) {
	t.Parallel()
	const names, messages = 300, 100
	cluster := redistest.StartCluster(t)
	publish := manyReliable(t, cluster.Client(t), names)
	calls := func() (n int64) {
		for _, node := range cluster.Nodes()[:3] {
			n += node.CommandCalls(t, "xreadgroup")
		}
		return n
	}
	began, before := time.Now(), calls()
	for i := range messages {
		publish(rand.IntN(names), strconv.Itoa(i))
	}
	require.LessOrEqual(t, calls()-before, 3*messages+looks(began, names))
	for _, node := range cluster.Nodes()[:3] {
		require.Zero(t, blockedOf(t, node.Client(t)))
	}
}

// TestReliableWithoutAnnouncements is of clients to which the server announces no changes: they wait by XREAD, or where
// that is refused, too, read every now and then.
func TestReliableWithoutAnnouncements(t *testing.T) {
	t.Parallel()
	for what, denied := range map[string]string{
		"RESP2": "", "no tracking": "-client|tracking", "no pttl": "-pttl", "no xread": "-client|tracking -xread", "no unblock": "-client|tracking -client|unblock",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			admin := server.Client(t)
			redistest.Do(t, admin, append([]string{"ACL", "SETUSER", "reader", "on", ">password", "~*", "&*", "+@all"}, strings.Fields(denied)...)...)
			user, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{server.Addr()}, Username: "reader", Password: "password", DisableCache: true,
				ForceSingleClient: true, AlwaysRESP2: denied == "",
			})
			require.NoError(t, err)
			t.Cleanup(user.Close)
			for what, test := range reliableSuite {
				t.Run(what, func(t *testing.T) { test(t, user, redistest.Name(t)) })
			}
		})
	}
}

// TestReliableConnectionThatIsNotToldAnyMore is given up: another may be in its place, of which nothing is announced.
func TestReliableConnectionThatIsNotToldAnyMore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	r := reliableBy(t, raw, engineOn(t, raw), "orders")
	s := r.listening()
	s.f.isQuiet(t)
	l := s.f.watched.Load()
	require.NoError(t, l.Do(t.Context(), l.B().Arbitrary("CLIENT", "TRACKING", "OFF").Build()).Error())
	redistest.Eventually(t, func() bool { now := s.f.watched.Load(); return now != nil && now != l }, soon, time.Millisecond)
	r.publishes(1, "a")
	s.hears(t, "a")
}
