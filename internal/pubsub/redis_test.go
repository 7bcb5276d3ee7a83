//go:build unix

package pubsub

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

var patience = redistest.Soon

// server is a real redis-server of one's own.
type server struct {
	testing.TB
	*redistest.Server
	addr string
	rdb  rueidis.Client
}

func startServer(tb testing.TB, opts ...redistest.Option) *server {
	tb.Helper()
	s := redistest.Start(tb, opts...)
	return &server{tb, s, s.Addr(), s.Client(tb)}
}

func (s *server) eventually(what func() bool) {
	s.Helper()
	require.Eventually(s, what, patience, 5*time.Millisecond)
}

func (s *server) do(args ...string) rueidis.RedisResult {
	return s.rdb.Do(context.Background(), s.rdb.B().Arbitrary(args...).Build())
}

func (s *server) subscribers(count, channel string) int64 {
	answer, err := s.do("PUBSUB", count, channel).ToArray()
	require.NoError(s, err)
	n, err := answer[1].AsInt64()
	require.NoError(s, err)
	return n
}

func dial(tb testing.TB, opt rueidis.ClientOption) rueidis.Client {
	c, err := rueidis.NewClient(opt)
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	return c
}

// onlyNode locates every channel on the one node that the client has.
func onlyNode(c rueidis.Client) func(context.Context) (Where, error) {
	return func(context.Context) (Where, error) {
		for addr := range c.Nodes() {
			return allAt(addr), nil
		}
		return nil, ErrUnknownNode
	}
}

func allAt(addr string) Where { return func(Channel) (string, error) { return addr, nil } }

func newRedisHub(tb testing.TB, c rueidis.Client) *Hub {
	h := New(NewRedis(c, onlyNode(c)), Options{Linger: 100 * time.Millisecond})
	tb.Cleanup(h.Close)
	return h
}

// listening subscribes and returns what is heard.
func listening(tb testing.TB, h *Hub, channel Channel) (<-chan Event, *Subscription) {
	tb.Helper()
	events := make(chan Event, 1000)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := h.Subscribe(ctx, channel, func(ev Event) { events <- ev })
	require.NoError(tb, err)
	return events, s
}

func next(tb testing.TB, events <-chan Event) Event {
	tb.Helper()
	select {
	case ev := <-events:
		return ev
	case <-time.After(patience):
		require.Fail(tb, "nothing heard")
		return Event{}
	}
}

// flavour is a way to connect: both protocols, plain and sharded.
type flavour struct {
	resp2, sharded bool
}

// of is a channel of the flavour.
func (f flavour) of(name string) Channel {
	if f.sharded {
		return Channel{Sharded, name}
	}
	return plain(name)
}

var flavours = map[string]flavour{
	"plain, RESP3":   {},
	"plain, RESP2":   {resp2: true},
	"sharded, RESP3": {sharded: true},
	"sharded, RESP2": {resp2: true, sharded: true},
}

func (f flavour) start(t *testing.T, opts ...redistest.Option) (*server, rueidis.Client) {
	if f.sharded {
		opts = append(opts, redistest.Config("cluster-enabled", "yes"))
	}
	s := startServer(t, opts...)
	if f.sharded {
		require.NoError(t, s.do("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Error())
		s.eventually(func() bool { return s.do("SET", "k", "v").Error() == nil })
	}
	return s, dial(t, rueidis.ClientOption{
		InitAddress: []string{s.addr}, AlwaysRESP2: f.resp2, DisableCache: f.resp2,
	})
}

func (f flavour) verbs() (publish, numsub string) {
	if f.sharded {
		return "SPUBLISH", "SHARDNUMSUB"
	}
	return "PUBLISH", "NUMSUB"
}

func eachFlavour(t *testing.T, test func(t *testing.T, f flavour, s *server, c rueidis.Client)) {
	t.Parallel()
	for name, f := range flavours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := f.start(t)
			test(t, f, s, c)
		})
	}
}

func TestRealServerMessagesAndLinger(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f flavour, s *server, c rueidis.Client) {
		publish, numsub := f.verbs()
		h := newRedisHub(t, c)
		for range 3 { // the connection is given back and taken again
			x, sx := listening(t, h, f.of("x"))
			y, sy := listening(t, h, f.of("{other}y"))
			require.EqualValues(t, 1, s.subscribers(numsub, "x"))
			require.NoError(t, s.do(publish, "x", "1").Error())
			require.NoError(t, s.do(publish, "{other}y", "2").Error())
			require.Equal(t, Event{Kind: Message, Payload: "1", Name: "x"}, next(t, x))
			require.Equal(t, Event{Kind: Message, Payload: "2", Name: "{other}y"}, next(t, y))
			sx.Close()
			sy.Close()
			s.eventually(func() bool { return s.subscribers(numsub, "x") == 0 && s.subscribers(numsub, "{other}y") == 0 })
			require.False(t, h.Subscribed(f.of("x")))
			require.Empty(t, x)
			require.Empty(t, y)
		}
		h.Close()
	})
}

func TestRealServerKillsTheConnection(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f flavour, s *server, c rueidis.Client) {
		publish, _ := f.verbs()
		h := newRedisHub(t, c)
		x, _ := listening(t, h, f.of("x"))
		for range 3 {
			killed, err := s.do("CLIENT", "KILL", "TYPE", "pubsub").AsInt64()
			require.NoError(t, err)
			require.EqualValues(t, 1, killed)
			require.Equal(t, Resumed, next(t, x).Kind)
			require.NoError(t, s.do(publish, "x", "0").Error())
			require.Equal(t, Event{Kind: Message, Payload: "0", Name: "x"}, next(t, x))
		}
		require.Empty(t, x)
	})
}

// TestEachKindHearsItsOwn has channels of one name and all kinds in one hub.
func TestEachKindHearsItsOwn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sharded, RESP3", "sharded, RESP2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := flavours[name].start(t)
			h := newRedisHub(t, c)
			word, _ := listening(t, h, plain("x"))
			shard, shards := listening(t, h, Channel{Sharded, "x"})
			match, matches := listening(t, h, Channel{Pattern, "x*"})
			say := func(verb, channel, payload string) { require.NoError(t, s.do(verb, channel, payload).Error()) }
			silence := func() {
				for _, events := range []<-chan Event{word, shard, match} {
					require.Empty(t, events)
				}
			}

			say("SPUBLISH", "x", "to the shard")
			require.Equal(t, Event{Kind: Message, Payload: "to the shard", Name: "x"}, next(t, shard))
			say("PUBLISH", "x", "to all")
			require.Equal(t, Event{Kind: Message, Payload: "to all", Name: "x"}, next(t, word))
			require.Equal(t, Event{Kind: Message, Payload: "to all", Name: "x"}, next(t, match))
			say("PUBLISH", "xy", "to the pattern")
			require.Equal(t, Event{Kind: Message, Payload: "to the pattern", Name: "xy"}, next(t, match))
			silence()

			killed, err := s.do("CLIENT", "KILL", "TYPE", "pubsub").AsInt64()
			require.NoError(t, err)
			require.EqualValues(t, 2, killed, "a connection for the sharded channels, and one for the others")
			for _, events := range []<-chan Event{word, shard, match} {
				require.Equal(t, Resumed, next(t, events).Kind)
			}

			shards.Close()
			matches.Close()
			s.eventually(func() bool {
				n, err := s.do("PUBSUB", "NUMPAT").AsInt64()
				return err == nil && n == 0 && s.subscribers("SHARDNUMSUB", "x") == 0
			})
			require.EqualValues(t, 1, s.subscribers("NUMSUB", "x"))
			say("PUBLISH", "x", "still")
			require.Equal(t, Event{Kind: Message, Payload: "still", Name: "x"}, next(t, word))
			silence()
		})
	}
}

func TestRealServerCrashesAndComesBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain, RESP3", "plain, RESP2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := flavours[name].start(t)
			h := newRedisHub(t, c)
			x, _ := listening(t, h, plain("x"))
			y, _ := listening(t, h, plain("y"))
			s.Kill()
			s.eventually(func() bool { return !h.Subscribed(plain("x")) })
			_, err := h.Subscribe(t.Context(), plain("z"), func(Event) {})
			require.Error(t, err)
			s.Restart()
			require.Equal(t, Resumed, next(t, x).Kind)
			require.Equal(t, Resumed, next(t, y).Kind)
			s.eventually(func() bool { return s.do("PUBLISH", "x", "0").Error() == nil })
			require.Equal(t, Event{Kind: Message, Payload: "0", Name: "x"}, next(t, x))
		})
	}
}

func TestRealServerThatStopsIsGivenUp(t *testing.T) {
	t.Parallel()
	s, c := flavour{}.start(t)
	h := New(NewRedis(c, onlyNode(c)), Options{Check: 50 * time.Millisecond, Timeout: 2 * time.Second})
	defer h.Close()
	x, _ := listening(t, h, plain("x"))
	s.Pause()
	s.eventually(func() bool { return !h.Subscribed(plain("x")) })
	s.Resume()
	require.Equal(t, Resumed, next(t, x).Kind)
}

func TestClosingOnASilentServerEnds(t *testing.T) {
	t.Parallel()
	s, c := flavour{}.start(t)
	h := newRedisHub(t, c)
	listening(t, h, plain("x"))
	s.Pause()
	closed := make(chan struct{})
	go func() {
		h.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		require.Fail(t, "Close hangs")
	}
	s.Resume()
}

func TestRealServerMigratesTheSlot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sharded, RESP3", "sharded, RESP2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := flavours[name]
			s, c := f.start(t)
			h := newRedisHub(t, c)
			x, _ := listening(t, h, f.of("x"))
			y, _ := listening(t, h, f.of("y"))
			slot, err := s.do("CLUSTER", "KEYSLOT", "x").AsInt64()
			require.NoError(t, err)
			// The server ends its subscriptions of a slot that it no longer serves, and takes them again
			// once it does.
			require.NoError(t, s.do("CLUSTER", "DELSLOTS", fmt.Sprint(slot)).Error())
			s.eventually(func() bool { return !h.Subscribed(f.of("x")) })
			require.NoError(t, s.do("CLUSTER", "ADDSLOTS", fmt.Sprint(slot)).Error())
			require.Equal(t, Resumed, next(t, x).Kind)
			s.eventually(func() bool { return s.do("SPUBLISH", "x", "0").Error() == nil })
			require.Equal(t, Event{Kind: Message, Payload: "0", Name: "x"}, next(t, x))
			require.True(t, h.Subscribed(f.of("y")))
			require.Empty(t, y)
		})
	}
}

func TestRealServerSendsTheChannelElsewhere(t *testing.T) {
	t.Parallel()
	f := flavours["sharded, RESP3"]
	a, ca := f.start(t)
	b, cb := f.start(t)
	h := New(&twoNodes{ca: ca, cb: cb, a: a.addr, b: b.addr}, Options{})
	t.Cleanup(h.Close)
	x, _ := listening(t, h, f.of("x"))
	slot, err := a.do("CLUSTER", "KEYSLOT", "x").AsInt64()
	require.NoError(t, err)
	idB, err := b.do("CLUSTER", "MYID").ToString()
	require.NoError(t, err)
	host, port, _ := net.SplitHostPort(b.addr)
	require.NoError(t, a.do("CLUSTER", "MEET", host, port).Error())
	a.eventually(func() bool { return a.do("CLUSTER", "SETSLOT", fmt.Sprint(slot), "NODE", idB).Error() == nil })
	require.Equal(t, Resumed, next(t, x).Kind)
	require.EqualValues(t, 1, b.subscribers("SHARDNUMSUB", "x"))
	require.EqualValues(t, 0, a.subscribers("SHARDNUMSUB", "x"))
}

// twoNodes is a cluster whose locating side has not heard of a migration yet.
type twoNodes struct {
	ca, cb rueidis.Client
	a, b   string
}

func (n *twoNodes) Locate(context.Context) (Where, error) { return allAt(n.a), nil }

func (n *twoNodes) Connect(ctx context.Context, line Line, handler Handler) (Conn, error) {
	client := n.ca
	if line.Node == n.b {
		client = n.cb
	}
	return NewRedis(client, nil).Connect(ctx, line, handler)
}

func TestRealServerRefusesTheChannel(t *testing.T) {
	t.Parallel()
	s, _ := flavour{}.start(t)
	require.NoError(t, s.do("ACL", "SETUSER", "limited", "on", ">pw", "+@all", "resetchannels", "&allowed").Error())
	c := dial(t, rueidis.ClientOption{InitAddress: []string{s.addr}, Username: "limited", Password: "pw"})
	h := newRedisHub(t, c)
	x, _ := listening(t, h, plain("allowed"))
	_, err := h.Subscribe(t.Context(), plain("denied"), func(Event) {})
	var refusal *rueidis.RedisError
	require.ErrorAs(t, err, &refusal)
	require.ErrorContains(t, err, "NOPERM")
	require.NoError(t, s.do("PUBLISH", "allowed", "0").Error())
	require.Equal(t, Event{Kind: Message, Payload: "0", Name: "allowed"}, next(t, x))
}

// A server that cannot save refuses a PING, too. rueidis sends one behind each command that unsubscribes, and ends the
// process if it gets an answer that it does not know.
func TestAServerThatCannotSaveIsNotUnsubscribedFrom(t *testing.T) {
	t.Parallel()
	for name, f := range flavours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := f.start(t, redistest.Config("enable-protected-configs", "yes"), redistest.Config("save", "3600", "1000000"))
			h := newRedisHub(t, c)
			_, left := listening(t, h, f.of("{x}left"))
			stays, _ := listening(t, h, f.of("{x}stays"))
			require.NoError(t, s.do("CONFIG", "SET", "dir", "/proc").Error())
			s.eventually(func() bool {
				_ = s.do("BGSAVE")
				err := s.do("PING").Error()
				return err != nil && strings.HasPrefix(err.Error(), "MISCONF")
			})
			left.Close()
			e := &ear{} // not before: a save that fails within one of its looks ends the process
			_, err := h.Vigil(t.Context(), f.of("{x}watched"), 20*time.Millisecond, e.listen)
			require.NoError(t, err)
			time.Sleep(500 * time.Millisecond) // it lingers, and is left
			n, resumed := e.alive()
			require.Zero(t, n, "nobody can know whether all is heard")
			require.False(t, resumed)
			publish, numsub := f.verbs()
			require.NoError(t, s.do(publish, "{x}stays", "0").Error())
			require.Equal(t, Event{Kind: Message, Payload: "0", Name: "{x}stays"}, next(t, stays))
			require.NoError(t, s.do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no").Error())
			s.eventually(func() bool { n, _ := e.alive(); return n > 0 })
			for range 3 {
				comes, again := listening(t, h, f.of("{x}comes"))
				require.NoError(t, s.do(publish, "{x}comes", "1").Error())
				require.Equal(t, Event{Kind: Message, Payload: "1", Name: "{x}comes"}, next(t, comes))
				again.Close()
				s.eventually(func() bool { return s.subscribers(numsub, "{x}comes") == 0 })
			}
			h.Close()
			s.eventually(func() bool { return s.subscribers(numsub, "{x}left")+s.subscribers(numsub, "{x}stays") == 0 })
		})
	}
}

func TestUnknownNodeAndDeadServerAreErrors(t *testing.T) {
	t.Parallel()
	s, c := flavour{}.start(t)
	src := NewRedis(c, func(context.Context) (Where, error) { return allAt("127.0.0.1:1"), nil })
	h := New(src, Options{})
	defer h.Close()
	_, err := h.Subscribe(t.Context(), plain("x"), func(Event) {})
	require.ErrorIs(t, err, ErrUnknownNode)

	s.Kill()
	dead := newRedisHub(t, c)
	_, err = dead.Subscribe(t.Context(), plain("x"), func(Event) {})
	require.ErrorContains(t, err, s.addr)
}

func TestConnectionsThatDiedInThePoolAreSkipped(t *testing.T) {
	t.Parallel()
	s, c := flavour{}.start(t)
	var release []func()
	for range 5 {
		dc, cancel := c.Dedicate()
		require.NoError(t, dc.Do(t.Context(), dc.B().Ping().Build()).Error())
		release = append(release, cancel)
	}
	for _, cancel := range release {
		cancel()
	}
	require.NoError(t, s.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Error())
	h := newRedisHub(t, c)
	listening(t, h, plain("x"))
}

// TestAUsedUpPoolIsAnErrorThatSaysSo runs beside no other test, for the sake of the goroutines that it counts.
func TestAUsedUpPoolIsAnErrorThatSaysSo(t *testing.T) {
	s := startServer(t)
	c := dial(t, rueidis.ClientOption{InitAddress: []string{s.addr}, BlockingPoolSize: 2, DisableCache: true})
	taken, giveBack := c.Dedicate()
	_, giveBackToo := c.Dedicate()
	require.NoError(t, taken.Do(t.Context(), taken.B().Ping().Build()).Error())
	before := goleak.IgnoreCurrent()
	h := New(NewRedis(c, onlyNode(c)), Options{Timeout: 100 * time.Millisecond})
	_, err := h.Subscribe(t.Context(), plain("x"), func(Event) {})
	require.ErrorContains(t, err, "BlockingPoolSize")
	require.ErrorContains(t, err, s.addr)
	// rueidis takes a connection that it did not give for one that came back, so that the next attempt may well get one
	// beyond the limit.
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, _ = h.Subscribe(ctx, plain("x"), func(Event) {})
		cancel()
	}
	h.Close()
	require.NoError(t, goleak.Find(before))
	giveBack()
	giveBackToo()
	listening(t, newRedisHub(t, c), plain("x"))
}

func TestMiniredis(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	c := dial(t, rueidis.ClientOption{InitAddress: []string{m.Addr()}, AlwaysRESP2: true, DisableCache: true})
	h := newRedisHub(t, c)
	for range 2 {
		x, sx := listening(t, h, plain("x"))
		_, sy := listening(t, h, plain("y"))
		m.Publish("x", "0")
		require.Equal(t, Event{Kind: Message, Payload: "0", Name: "x"}, next(t, x))
		sx.Close()
		sy.Close()
		require.Eventually(t, func() bool {
			n := m.PubSubNumSub("x", "y")
			return n["x"]+n["y"] == 0
		}, patience, 5*time.Millisecond)
	}
	x, _ := listening(t, h, plain("x"))
	m.Close()
	// Meanwhile its port may be that of somebody's outgoing connection.
	require.Eventually(t, func() bool { return m.Restart() == nil }, patience, 5*time.Millisecond)
	require.Equal(t, Resumed, next(t, x).Kind)
	m.Publish("x", "1")
	require.Equal(t, Event{Kind: Message, Payload: "1", Name: "x"}, next(t, x))
}

func TestMovedWithoutAHostMeansTheHostThatWasAsked(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"10.0.0.1:7000": "10.0.0.1:7000",
		"[::1]:7000":    "[::1]:7000",
		":7000":         "10.9.9.9:7000",
		"?:7000":        "10.9.9.9:7000",
		"nonsense":      "nonsense",
	} {
		require.Equal(t, want, Absolute(addr, "10.9.9.9:6379"))
	}
	require.Equal(t, ":7000", Absolute(":7000", "socket"))
}
