package topic

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

// TestATopicThatCannotBeReadHoldsUpNoOther of the client, though one command reads
// them all.
func TestATopicThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	redistest.Do(t, admin, "ACL", "SETUSER", "reader", "on", ">password", "~*", "&*", "+@all")
	user, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, Username: "reader", Password: "password", DisableCache: true, ForceSingleClient: true,
	})
	require.NoError(t, err)
	t.Cleanup(user.Close)
	e := engineOn(t, user)
	spoilt, denied, well := reliableBy(t, admin, e, "spoilt"), reliableBy(t, admin, e, "denied"), reliableBy(t, admin, e, "well")
	one, two, three := spoilt.listening(), denied.listening(), well.listening()
	redistest.Do(t, admin, "SET", "spoilt", "x")
	redistest.Do(t, admin, "ACL", "SETUSER", "reader", "resetkeys", "~spoilt*", "~{spoilt*", "~well*", "~{well*", "~rueidisson_*")
	require.ErrorContains(t, one.next(t, 1)[0].err, "WRONGTYPE")
	for i := range 20 {
		well.publishes(1, strconv.Itoa(i))
		three.hears(t, strconv.Itoa(i))
	}
	redistest.Do(t, admin, "ACL", "SETUSER", "reader", "~*")
	denied.publishes(1, "a")
	two.hears(t, "a")
}

// clock is one that a test moves.
type clock struct {
	ahead atomic.Int64
	told  []func()
}

func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) Moved(f func()) { c.told = append(c.told, f) }

// TestAClockThatIsMoved has those keep their groups who live.
func TestAClockThatIsMoved(t *testing.T) {
	t.Parallel()
	onServers(t, aClockThatIsMoved)
}

func aClockThatIsMoved(t *testing.T, raw rueidis.Client) {
	name := redistest.Name(t)
	var moved clock
	tellsTime := func(c *core.Config) { c.Clock = &moved }
	r, other := reliableBy(t, raw, engineOn(t, raw, tellsTime), name), reliableBy(t, raw, engineOn(t, raw, tellsTime), name)
	one, two := r.listening(), other.listening()
	moved.ahead.Store(int64(time.Hour))
	for _, f := range moved.told {
		f()
	}
	redistest.Eventually(t, func() bool {
		msg := redistest.Do(t, raw, "ZCOUNT", r.of.timeout, strconv.FormatInt(moved.Now().UnixMilli(), 10), "+inf")
		n, err := msg.AsInt64()
		require.NoError(t, err)
		return n == 2
	}, soon, time.Millisecond)
	r.publishes(2, "a", "b")
	one.hears(t, "a", "b")
	two.hears(t, "a", "b")
}

// TestAClockThatJumps, or a machine that was asleep for longer than a group is kept:
// nobody takes its own group away.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	var moved clock
	e := engineOn(t, raw, func(c *core.Config) { c.Clock = &moved })
	r := reliableBy(t, raw, e, redistest.Name(t))
	s := r.listening()
	moved.ahead.Store(int64(time.Hour))
	r.adds(numbers(0, 3*window)...)
	s.hears(t, numbers(0, 3*window)...)
	moved.ahead.Store(-int64(time.Hour)) // and back
	r.publishes(1, "a")
	s.hears(t, "a")
	r.awaitLen(0)
}

// TestWhoComesNextHearsInOrder what another has left.
func TestWhoComesNextHearsInOrder(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	s := r.listening()
	r.publishes(1, numbers(0, 50)...)
	for range 20 {
		redistest.Eventually(t, func() bool { return r.inHand() == 50 }, soon, time.Millisecond)
		s.Close()
		s = r.listening()
	}
	s.hears(t, numbers(0, 50)...)
}

// adds appends messages as anybody can, all at once.
func (r *reliableRig) adds(v ...string) {
	r.t.Helper()
	var all rueidis.Commands
	for _, v := range v {
		all = append(all, r.raw.B().Xadd().Key(r.of.key).Id("*").FieldValue().FieldValue("m", v).Build())
	}
	for _, res := range r.raw.DoMulti(r.t.Context(), all...) {
		require.NoError(r.t, res.Error())
	}
}

// inHand is how many messages are on their way through this client.
func (r *reliableRig) inHand() (n int) {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	for _, f := range r.r.feeds {
		f.mu.Lock()
		n += len(f.flight)
		f.mu.Unlock()
	}
	return n
}

// TestNoMoreAreOnTheirWayThanTheDocsSay through a process whose loop hangs.
func TestNoMoreAreOnTheirWayThanTheDocsSay(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	s := r.listening()
	r.publishes(1, numbers(0, 10)...)
	redistest.Eventually(t, func() bool { return r.inHand() == 10 }, soon, time.Millisecond)
	r.adds(numbers(0, 2*window)...)
	redistest.Eventually(t, func() bool { return r.inHand() >= window-100 }, soon, time.Millisecond)
	time.Sleep(50 * time.Millisecond) // would it read more?
	require.LessOrEqual(t, r.inHand(), window)
	s.next(t, 10+2*window)
	r.awaitLen(0)
}

// TestALoopThatEndsItsSubscription handles the message that it has in hand.
func TestALoopThatEndsItsSubscription(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t), WithMaxLength(1000))
	for _, listen := range []func() reliably{r.listening, func() reliably { return r.durable("billing") }} {
		s := listen()
		r.publishes(1, "a", "b")
		var got []string
		for v, err := range s.Messages(t.Context()) {
			require.NoError(t, err)
			got = append(got, v)
			s.Close()
			redistest.Eventually(t, func() bool { return r.gone() || s.f.isParting() }, soon, time.Millisecond)
		}
		require.Equal(t, []string{"a"}, got)
		redistest.Eventually(t, r.gone, soon, time.Millisecond)
		if s.f.durable {
			reliableOn(t, raw, r.Name(), WithMaxLength(1000)).durable("billing").hears(t, "b")
		}
		_, err := r.Delete(t.Context())
		require.NoError(t, err)
	}
}

// isParting reports whether a feed waits for its loops.
func (f *feed) isParting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.parting
}

// gone reports whether nobody listens any more.
func (r *reliableRig) gone() bool {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	return len(r.r.feeds) == 0
}

// TestAGroupThatIsMadeAgainDuringAnAcknowledgement: that was for the old one, and its
// answer comes when the new one has given the message already.
func TestAGroupThatIsMadeAgainDuringAnAcknowledgement(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	s := r.listening()
	r.publishes(1, "a")
	redistest.Eventually(t, func() bool { return r.inHand() == 1 }, soon, time.Millisecond)
	require.NoError(t, raw.Do(t.Context(), raw.B().XgroupDestroy().Key(r.of.key).Group(r.r.group).Build()).Error())
	redistest.Eventually(t, func() bool {
		s.ear.mu.Lock()
		defer s.ear.mu.Unlock()
		return s.ear.cut
	}, soon, time.Millisecond)
	got, _ := s.ear.take()
	require.True(t, got.cut)
	redistest.Eventually(t, func() bool {
		msg := redistest.Do(t, raw, "XPENDING", r.of.key, r.r.group)
		all, err := msg.ToArray()
		require.NoError(t, err)
		n, err := all[0].AsInt64()
		require.NoError(t, err)
		return n == 1 // it was given, and came before
	}, soon, time.Millisecond)
	got, _ = s.ear.take()
	require.Equal(t, "a", got.it.payload)
	s.f.mu.Lock()
	s.f.acks = []string{got.it.id}
	s.f.mu.Unlock()
	s.f.settled([]string{got.it.id}, true, nil)
	s.hears(t, "a")
	r.awaitLen(0)
}

// TestWhatWasHandledDoesNotComeAgain to who comes after its only subscriber.
func TestWhatWasHandledDoesNotComeAgain(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	for range 30 {
		s := r.listening()
		r.publishes(1, "a", "b")
		s.hears(t, "a", "b")
		s.Close()
		redistest.Eventually(t, func() bool { return r.gone() }, soon, time.Millisecond)
	}
	redistest.Eventually(t, func() bool { return r.exists() == 0 }, soon, time.Millisecond, "it is left")
}

// TestCloseDuringListen leaves no group.
func TestCloseDuringListen(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	raw := server.Client(t)
	e := engineOn(t, client)
	r := reliableBy(t, raw, e, redistest.Name(t))
	held := proxy.HoldRequest(redistest.MatchScript(joinScript.Body()))
	done, closed := make(chan error, 1), make(chan error, 1)
	go func() { _, err := r.Listen(context.Background()); done <- err }() // ends with the client
	held.Await(t)
	go func() { closed <- locking.Close(context.Background(), e) }()
	<-e.Closing()
	held.Release()
	require.NoError(t, <-closed)
	require.ErrorIs(t, <-done, ErrClosed)
	redistest.Eventually(t, func() bool { return r.exists() == 0 }, soon, time.Millisecond, "the group is left")
}

// TestCloseGivesBackWhatIsInNoHand so that others need not wait for a lease.
func TestCloseGivesBackWhatIsInNoHand(t *testing.T) {
	t.Parallel()
	raw, name := redistest.Shared(t).Client(t), redistest.Name(t)
	forLong := func(c *core.Config) { c.WatchdogTimeout = time.Hour }
	e := engineOn(t, raw, forLong)
	r := reliableBy(t, raw, e, name, WithMaxLength(100))
	s := r.durable("billing")
	r.publishes(1, numbers(0, 50)...)
	s.hears(t, "0", "1")
	redistest.Eventually(t, func() bool { return r.inHand() == 48 }, soon, time.Millisecond)
	for v, err := range s.Messages(t.Context()) {
		if v == "" {
			require.ErrorIs(t, err, ErrClosed)
			break
		}
		require.Equal(t, "2", v)
		require.NoError(t, locking.Close(t.Context(), e)) // with one in the hands of the loop
	}
	reliableBy(t, raw, engineOn(t, raw, forLong), name, WithMaxLength(100)).durable("billing").hears(t, numbers(3, 50)...)
}

// TestCloseWithoutAServer gives up what it cannot say.
func TestCloseWithoutAServer(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 20*time.Second, func() time.Duration { // where each takes three
		server := redistest.Start(t)
		e := engineOn(t, server.Client(t))
		for i := range 20 {
			_, err := NewReliable[string](e, "orders"+strconv.Itoa(i)).Listen(t.Context())
			require.NoError(t, err)
		}
		server.Kill()
		began := time.Now()
		require.NoError(t, locking.Close(context.Background(), e))
		return time.Since(began)
	})
}

// TestAProcessThatStandsStill for longer than its lease: others get what it has, and
// it goes on where it was.
func TestAProcessThatStandsStill(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	child := redistest.StartChild(t, "worker", "TOPIC_ADDR="+server.Addr(), "TOPIC_NAME="+name)
	child.Await("listens")
	e := engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = 2 * time.Second })
	r := reliableBy(t, raw, e, name, WithMaxLength(1000))
	by := reliableOn(t, raw, name, WithMaxLength(1000)) // one that is not in a hurry
	by.publishes(1, numbers(0, 200)...)
	child.Await("20 ")
	child.Stop()
	seen, mu := map[string]bool{}, sync.Mutex{}
	for _, v := range numbers(0, 21) {
		seen[v] = true // by the child
	}
	s := r.durable("billing")
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for v, err := range s.Messages(ctx) {
			mu.Lock()
			seen[v] = seen[v] || err == nil
			mu.Unlock()
		}
	})
	by.awaitLen(0)
	stop()
	all.Wait()
	s.Close() // which would leave nothing to one that wakes late
	child.Cont()
	by.publishes(1, numbers(200, 400)...)
	for after := 0; after < 200; {
		line, some := child.AwaitFor("", soon)
		require.True(t, some, "it went on")
		v, _, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(v); err == nil && n >= 200 && !seen[v] {
			after++
		}
		seen[v] = true
	}
	by.awaitLen(0)
	for _, v := range numbers(0, 200) {
		require.True(t, seen[v], "%s is lost", v)
	}
}

// TestAFullServer takes no messages, and those that it has are handled.
func TestAFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	r := reliableBy(t, raw, engineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }), "orders")
	s := r.listening()
	r.adds(numbers(0, 2*window)...)
	s.f.mu.Lock()
	s.f.tended = time.Now().Add(-2 * keepEvery) // it has to say that it lives
	s.f.mu.Unlock()
	redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "1")
	s.hears(t, numbers(0, 2*window)...)
	r.awaitLen(0)
	_, err := r.Publish(t.Context(), "a")
	require.ErrorContains(t, err, "OOM")
	_, err = reliableOn(t, raw, "orders").Listen(t.Context())
	require.ErrorContains(t, err, "OOM")
	s.Close()
	redistest.Eventually(t, func() bool { return r.exists() == 0 }, soon, time.Millisecond, "the group is left")
	redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "0")
	s = r.listening()
	r.publishes(1, "a")
	s.hears(t, "a")
}

// TestAServerThatMayNotWrite for a while: nothing is lost, or comes twice to who
// lives.
func TestAServerThatMayNotWrite(t *testing.T) {
	t.Parallel()
	as := func(command ...string) func(testing.TB, rueidis.Client) {
		return func(t testing.TB, admin rueidis.Client) { t.Helper(); redistest.Do(t, admin, command...) }
	}
	for says, of := range map[string]struct {
		refuse, allow func(testing.TB, rueidis.Client)
	}{
		"NOREPLICAS": {as("CONFIG", "SET", "min-replicas-to-write", "1"), as("CONFIG", "SET", "min-replicas-to-write", "0")},
		"NOPERM":     {as("ACL", "SETUSER", "orders", "-eval", "-evalsha"), as("ACL", "SETUSER", "orders", "+eval", "+evalsha")},
		"OOM":        {as("CONFIG", "SET", "maxmemory", "1"), as("CONFIG", "SET", "maxmemory", "0")},
		"MISCONF":    {as("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"), as("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			server := redistest.StartUnsaving(t)
			admin := server.Client(t)
			redistest.Do(t, admin, redistest.UserOfThePage(t, "../docs/redis.md")...)
			user, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{server.Addr()}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
			})
			require.NoError(t, err)
			t.Cleanup(user.Close)
			r := reliableBy(t, admin, engineOn(t, user, func(c *core.Config) { c.WatchdogTimeout = 12 * time.Second }), "orders:1")
			s, other := r.listening(), reliableOn(t, admin, "orders:1")
			second := other.listening()
			r.adds(numbers(0, 2*window)...)
			s.hears(t, numbers(0, 10)...)
			redistest.Eventually(t, func() bool { return r.inHand() >= window/2 }, soon, time.Millisecond)
			of.refuse(t, admin)
			s.hears(t, numbers(10, window/2)...)
			_, err = r.Publish(t.Context(), "a")
			require.ErrorContains(t, err, says)
			second.Close()
			of.allow(t, admin)
			s.hears(t, numbers(window/2, 2*window)...)
			r.publishes(1, "b")
			s.hears(t, "b")
			r.awaitLen(0)
		})
	}
}

// TestTenThousandPublishAtOnce and each message is there once.
func TestTenThousandPublishAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	r := reliableBy(t, raw, engineOn(t, raw), "orders")
	s, n := r.listening(), redistest.Count(t, 2_000, 10_000)
	before := server.Connections(t)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			got, err := r.Publish(ctx, strconv.Itoa(i))
			assert.NoError(t, err)
			assert.EqualValues(t, 1, got)
		})
	}
	seen := map[string]bool{}
	for _, h := range s.next(t, n) {
		require.NoError(t, h.err)
		require.False(t, seen[h.text], h.text)
		seen[h.text] = true
	}
	all.Wait()
	r.awaitLen(0)
	require.Less(t, server.Connections(t), before+8) // those that rueidis spreads commands over
	t.Logf("%d messages by %d script calls", n, server.ScriptCalls(t))
}

// subscriber is what one was given: at least each message, and the first time in the
// order in which each publisher published.
type subscriber struct {
	mu    sync.Mutex
	heard map[string]int
	last  map[string]int
	wrong []string
}

func newSubscriber() *subscriber { return &subscriber{heard: map[string]int{}, last: map[string]int{}} }

func (s *subscriber) note(v string, ordered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard[v]++; s.heard[v] > 1 {
		return
	}
	by, number, _ := strings.Cut(v, ":")
	i, _ := strconv.Atoi(number)
	if ordered && i != s.last[by] {
		s.wrong = append(s.wrong, v)
	}
	s.last[by] = i + 1
}

func (s *subscriber) has() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.heard)
}

// TestEverySubscriberIsGivenEverything at least once, and in order, while
// connections break: two processes that listen, and two that share a name.
func TestEverySubscriberIsGivenEverything(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	each, publishers := redistest.Count(t, 200, 5_000), 4
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var proxies []*redistest.Proxy
	process := func() *reliableRig {
		client, proxy := through(t, server)
		proxies = append(proxies, proxy)
		e := engineOn(t, client, func(c *core.Config) { c.WatchdogTimeout = 6 * time.Second })
		return reliableBy(t, raw, e, name, WithMaxLength(1_000_000))
	}
	listen := func(s reliably, to *subscriber, ordered bool) {
		all.Go(func() {
			for v, err := range s.Messages(ctx) {
				if err == nil {
					to.note(v, ordered)
				}
			}
		})
	}
	one, two, shared := newSubscriber(), newSubscriber(), newSubscriber()
	listen(process().listening(), one, true)
	listen(process().listening(), two, true)
	for range 2 {
		listen(process().durable("billing"), shared, false)
	}
	r := process()
	// Publish bears for two seconds that no connection opens. What is published once more comes twice, perhaps.
	repeats := func(err error) bool {
		return (send.Unreached(err) || errors.Is(err, ErrOutcomeUnknown)) && t.Context().Err() == nil
	}
	for p := range publishers {
		all.Go(func() {
			for i := range each {
				_, err := r.Publish(t.Context(), strconv.Itoa(p)+":"+strconv.Itoa(i))
				for repeats(err) {
					_, err = r.Publish(t.Context(), strconv.Itoa(p)+":"+strconv.Itoa(i))
				}
				assert.NoError(t, err)
			}
		})
	}
	cuts := 0
	redistest.Eventually(t, func() bool {
		if cuts < 30 {
			proxies[cuts%len(proxies)].CutAll()
			cuts++
		}
		want := each * publishers
		return one.has() == want && two.has() == want && shared.has() == want
	}, 2*soon, 20*time.Millisecond)
	r.awaitLen(0)
	stop()
	all.Wait()
	require.Empty(t, append(one.wrong, two.wrong...), "out of order")
}

// blockedOf is how many connections of a server block.
func blockedOf(t testing.TB, node rueidis.Client) (n int) {
	t.Helper()
	info := redistest.Do(t, node, "INFO", "clients")
	text, err := info.ToString()
	require.NoError(t, err)
	_, rest, _ := strings.Cut(text, "blocked_clients:")
	n, err = strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	require.NoError(t, err)
	return n
}

// shareConnections has many listen, more than there are connections, and all hear.
func shareConnections(t *testing.T, all []reliably, publish func(i int, v string), nodes ...rueidis.Client) {
	t.Helper()
	for _, v := range []string{"a", "b"} {
		for i := range all {
			publish(i, v)
		}
		for _, s := range all {
			s.hears(t, v)
			for _, node := range nodes {
				require.LessOrEqual(t, blockedOf(t, node), 2)
			}
		}
	}
}

func twoBlock(c *core.Config) { c.BlockedConnections = 2 }

// TestNamesNeedFewConnections, however many they are.
func TestNamesNeedFewConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	r := reliableBy(t, raw, engineOn(t, raw, twoBlock), "orders", WithMaxLength(100))
	var all []reliably
	for i := range 7 {
		all = append(all, r.durable("name"+strconv.Itoa(i)))
	}
	shareConnections(t, all, func(i int, v string) {
		if i == 0 {
			r.publishes(7, v)
		}
	}, raw)
	for _, s := range all[:3] {
		s.Close()
	}
	require.NoError(t, locking.Close(t.Context(), r.e)) // while the others wait in line
	redistest.Eventually(t, func() bool { return blockedOf(t, raw) == 0 }, soon, 5*time.Millisecond)
}
