package redistest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// quiet is how long a test listens for what must not come.
const quiet = 60 * time.Millisecond

// talker is a client without any cleverness: one connection, no retries.
type talker struct {
	t    *testing.T
	conn net.Conn
	in   *decoder
}

func dial(t *testing.T, addr string) *talker {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(Soon)))
	return &talker{t: t, conn: conn, in: newDecoder(conn)}
}

func (c *talker) send(args ...string) {
	c.t.Helper()
	_, err := c.conn.Write(encode(args...))
	require.NoError(c.t, err)
}

func (c *talker) read() any {
	c.t.Helper()
	value, _, err := c.in.frame()
	require.NoError(c.t, err)
	return value
}

func (c *talker) do(args ...string) any {
	c.t.Helper()
	c.send(args...)
	return c.read()
}

func (c *talker) hearsNothing() {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(quiet)))
	_, err := c.in.r.Peek(1)
	require.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(Soon)))
}

func (c *talker) isCut() {
	c.t.Helper()
	_, err := c.in.r.Peek(1)
	require.Error(c.t, err)
	require.False(c.t, errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
}

// setup is a shared server, a proxy before it, and a key.
func setup(t *testing.T) (*Server, *Proxy, string) {
	t.Helper()
	t.Parallel()
	s := Shared(t)
	return s, NewProxy(t, s.Addr()), Name(t)
}

func get(t *testing.T, s *Server, key string) any {
	t.Helper()
	value, err := s.ask("GET", key)
	require.NoError(t, err)
	return value
}

func TestAProxyIsRedirected(t *testing.T) {
	_, p, key := setup(t)
	other := Start(t)
	first := dial(t, p.Addr())
	require.Equal(t, "OK", first.do("SET", key, "here"))
	p.Redirect(other.Addr())
	first.isCut()
	second := dial(t, p.Addr())
	require.Equal(t, "OK", second.do("SET", key, "there"))
	require.Equal(t, "there", get(t, other, key))
	require.Equal(t, p.Target(), Shared(t).Addr(), "clients that are led through it still dial the target")
	p.Redirect("")
	second.isCut()
	require.Equal(t, "here", dial(t, p.Addr()).do("GET", key))
}

func TestProxyPassesEverythingThrough(t *testing.T) {
	_, p, key := setup(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, ForceSingleClient: true})
	require.NoError(t, err)
	defer client.Close()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 100 {
				client.Do(t.Context(), client.B().Incr().Key(key).Build())
			}
		})
	}
	wg.Wait()
	n, err := client.DoCache(t.Context(), client.B().Get().Key(key).Cache(), time.Minute).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 1600, n)
	require.Equal(t, 1600, p.Count(All(Command("incr"), Arg(key))))
	p.ResetLog()
	require.Empty(t, p.Log())
}

func TestProxyDeliversMessagesAmongReplies(t *testing.T) {
	_, p, key := setup(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, ForceSingleClient: true, DisableCache: true})
	require.NoError(t, err)
	defer client.Close()
	for _, subscribe := range []rueidis.Completed{client.B().Subscribe().Channel(key).Build(), client.B().Ssubscribe().Channel(key).Build()} {
		dedicated, release := client.Dedicate()
		heard, confirmed := make(chan string, 1), make(chan struct{}, 1)
		dedicated.SetPubSubHooks(rueidis.PubSubHooks{
			OnMessage:      func(m rueidis.PubSubMessage) { heard <- m.Message },
			OnSubscription: func(rueidis.PubSubSubscription) { confirmed <- struct{}{} },
		})
		require.NoError(t, dedicated.Do(t.Context(), subscribe).Error())
		<-confirmed
		for range 10 {
			for _, publish := range []string{"PUBLISH", "SPUBLISH"} {
				require.NoError(t, dedicated.Do(t.Context(), client.B().Arbitrary(publish, key, "hi").Build()).Error())
			}
			require.Equal(t, "hi", <-heard)
		}
		release()
	}
}

func TestProxySpeaksToOldClients(t *testing.T) {
	_, p, key := setup(t)
	c := dial(t, p.Addr())
	_, err := io.WriteString(c.conn, "\r\nPING\r\n")
	require.NoError(t, err)
	require.Equal(t, "PONG", c.read())
	require.Equal(t, []any{"subscribe", key, int64(1)}, c.do("SUBSCRIBE", key))
	d := p.DropReply(Command("PING"), 1)
	require.Equal(t, int64(1), dial(t, p.Addr()).do("PUBLISH", key, "m"))
	require.Equal(t, []any{"message", key, "m"}, c.read())
	c.send("PING")
	d.Await(t)
	c.isCut()
}

func TestDropReplyExecutesAndCuts(t *testing.T) {
	s, p, key := setup(t)
	d := p.DropReply(All(Command("INCR"), Arg(key)), 2)
	for i := range 2 {
		c := dial(t, p.Addr())
		c.send("PING")
		c.send("INCR", key)
		require.Equal(t, "PONG", c.read())
		c.isCut()
		require.Equal(t, i+1, d.Dropped())
	}
	d.Await(t)
	require.Equal(t, "2", get(t, s, key))
	require.Equal(t, int64(3), dial(t, p.Addr()).do("INCR", key))
}

func TestDropReplyIgnoresOtherCommandsInThePipeline(t *testing.T) {
	_, p, key := setup(t)
	d := p.DropReply(Arg("third"+key), 1)
	c := dial(t, p.Addr())
	for _, k := range []string{"first", "second", "third", "fourth"} {
		c.send("INCR", k+key)
	}
	require.Equal(t, int64(1), c.read())
	require.Equal(t, int64(1), c.read())
	d.Await(t)
	c.isCut()
}

func TestDropReplySilentlyWithholdsWhatFollows(t *testing.T) {
	s, p, key := setup(t)
	d := p.DropReply(Arg(key), 1, Silent())
	c := dial(t, p.Addr())
	c.send("INCR", key)
	d.Await(t)
	c.send("INCR", key)
	p.AwaitCount(t, Arg(key), 2)
	c.hearsNothing()
	await(t, "the second command", func() error {
		if got := get(t, s, key); got != "2" {
			return errors.New("not yet")
		}
		return nil
	})
	require.Equal(t, int64(3), dial(t, p.Addr()).do("INCR", key))
	p.Restore()
	c.isCut()
}

func TestDropReplyAnswersNoScript(t *testing.T) {
	_, p, key := setup(t)
	body := "return redis.call('INCR', KEYS[1]) -- " + key // a script that the server has never seen
	d := p.DropReply(MatchScript(body), 1)
	c := dial(t, p.Addr())
	require.ErrorContains(t, c.do("EVALSHA", scriptSum(body), "1", key).(error), "NOSCRIPT")
	require.Zero(t, d.Dropped())
	c.send("EVAL", body, "1", key)
	d.Await(t)
	c.isCut()
	require.Equal(t, int64(2), dial(t, p.Addr()).do("EVALSHA", scriptSum(body), "1", key))
}

func TestDropReplyOfASubscription(t *testing.T) {
	for _, hello := range []string{"2", "3"} {
		t.Run("RESP"+hello, func(t *testing.T) {
			_, p, key := setup(t)
			d := p.DropReply(Command("SSUBSCRIBE"), 1)
			c := dial(t, p.Addr())
			c.do("HELLO", hello)
			c.send("SSUBSCRIBE", key)
			d.Await(t)
			c.isCut()
		})
	}
}

func TestCancelledDropDropsNothing(t *testing.T) {
	_, p, key := setup(t)
	d := p.DropReply(Arg(key), 1)
	d.Cancel()
	require.Equal(t, int64(1), dial(t, p.Addr()).do("INCR", key))
}

func TestScriptsAreRecognised(t *testing.T) {
	_, p, key := setup(t)
	const body = "return 'recognise me'"
	c := dial(t, p.Addr())
	c.do("SCRIPT", "LOAD", body)
	c.do("EVALSHA", scriptSum(body), "1", key)
	c.do("EVAL", body, "1", key)
	c.do("EVAL", "return 2", "1", key)
	require.Equal(t, 2, p.Count(MatchScript(body)))
	require.Equal(t, 2, p.Count(p.ScriptContaining("recognise")))
	require.Equal(t, 3, p.Count(AnyScript()))
}

func TestBlackHoleSwallowsOnPresentAndNewConnections(t *testing.T) {
	s, p, key := setup(t)
	present, idle := dial(t, p.Addr()), dial(t, p.Addr())
	present.do("PING")
	idle.do("PING")
	p.BlackHole()
	fresh := dial(t, p.Addr())
	present.send("INCR", key)
	fresh.send("INCR", key)
	p.AwaitCount(t, Arg(key), 2)
	present.hearsNothing()
	fresh.hearsNothing()
	require.Nil(t, get(t, s, key))

	p.Restore()
	present.isCut()
	fresh.isCut()
	require.Equal(t, int64(1), idle.do("INCR", key))
}

func TestBlackHoleSwallowsMessagesAndHangUps(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	c.do("SUBSCRIBE", "c")
	p.BlackHole()
	_, err := s.ask("PUBLISH", "c", "m")
	require.NoError(t, err)
	c.hearsNothing()
	s.Kill()
	c.hearsNothing()
	fresh := dial(t, p.Addr()) // to a server that is gone
	fresh.send("PING")
	fresh.hearsNothing()
	p.Restore()
	c.isCut()
	fresh.isCut()
}

func TestBlackHoleOfOneConnection(t *testing.T) {
	_, p, key := setup(t)
	first, second := dial(t, p.Addr()), dial(t, p.Addr())
	first.do("SET", key, "1")
	second.do("GET", key)
	require.Len(t, p.Conns(), 2)
	require.Equal(t, 1, p.BlackHoleConns(p.LastCarrier(Command("SET"))))
	first.send("GET", key)
	require.Equal(t, "1", second.do("GET", key))
	require.Equal(t, "1", dial(t, p.Addr()).do("GET", key))
	first.hearsNothing()
	require.Zero(t, p.BlackHoleConns(func(Conn) bool { return false }))
}

func TestBlackHoleOfOneWay(t *testing.T) {
	s, p, key := setup(t)
	deaf, dumb := dial(t, p.Addr()), dial(t, p.Addr())
	deaf.do("SET", key, "1")
	dumb.do("SUBSCRIBE", key)
	require.Equal(t, 1, p.BlackHoleReplies(p.LastCarrier(Command("SET"))))
	require.Equal(t, 1, p.BlackHoleRequests(p.LastCarrier(Command("SUBSCRIBE"))))
	deaf.send("INCR", key)
	deaf.hearsNothing()
	require.Equal(t, "2", get(t, s, key), "it was heard")
	dumb.send("UNSUBSCRIBE", key)
	dumb.hearsNothing()
	n, err := s.ask("PUBLISH", key, "m")
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	dumb.read()
	p.Restore()
	deaf.isCut()
	dumb.isCut()
}

func TestLastCarrierNeedsOne(t *testing.T) {
	t.Parallel()
	spy := &errorFailSpy{TB: t}
	p := NewProxy(spy, "127.0.0.1:1")
	require.False(t, p.LastCarrier(Command("SET"))(Conn{}))
	require.True(t, spy.failed)
}

type errorFailSpy struct {
	testing.TB
	failed bool
}

func (s *errorFailSpy) Error(...any) { s.failed = true }

func TestDelayIsAddedInEachDirectionAndKeepsPipelines(t *testing.T) {
	_, p, key := setup(t)
	const d, commands = 80 * time.Millisecond, 200
	c, sum := dial(t, p.Addr()), int64(0)
	c.do("PING")
	Within(t, 2*commands*d, func() time.Duration { // a pipeline is not late by all their delays
		p.Delay(d, d)
		start := time.Now()
		for range commands {
			c.send("INCR", key)
		}
		for range commands {
			sum++
			require.Equal(t, sum, c.read())
		}
		took := time.Since(start)
		require.GreaterOrEqual(t, took, 2*d)
		p.Delay(0, 0)
		c.do("PING")
		return took
	})
}

func TestCutAllLeavesNewConnectionsAlone(t *testing.T) {
	_, p, _ := setup(t)
	c := dial(t, p.Addr())
	c.do("PING")
	p.CutAll()
	c.isCut()
	require.Equal(t, "PONG", dial(t, p.Addr()).do("PING"))
}

func TestRefuseAndAccept(t *testing.T) {
	_, p, _ := setup(t)
	c := dial(t, p.Addr())
	c.do("PING")
	p.Refuse()
	p.Refuse()
	_, err := net.Dial("tcp", p.Addr())
	require.Error(t, err)
	require.Equal(t, "PONG", c.do("PING"))
	p.Accept()
	p.Accept()
	require.Equal(t, "PONG", dial(t, p.Addr()).do("PING"))
}

func TestHeldRequestArrivesAfterTheClientHungUp(t *testing.T) {
	s, p, key := setup(t)
	h := p.HoldRequest(All(Command("APPEND"), Arg(key)))
	c := dial(t, p.Addr())
	c.send("APPEND", key, "late")
	h.Await(t)
	<-h.Caught()
	c.send("APPEND", key, " later") // stays behind it
	c.hearsNothing()
	require.NoError(t, c.conn.Close())

	other := dial(t, p.Addr())
	require.Equal(t, int64(5), other.do("APPEND", key, "first"))
	require.Equal(t, "first", get(t, s, key))

	h.Release()
	h.Release()
	await(t, "what was behind the held request", func() error {
		if got := get(t, s, key); got != "firstlate later" {
			return errors.New("not yet")
		}
		return nil
	})
}

func TestReleaseReturnsWhenTheServerHasExecuted(t *testing.T) {
	s, p, key := setup(t)
	for range 50 {
		h := p.HoldRequest(Arg(key))
		c := dial(t, p.Addr())
		c.send("SET", key, "late")
		h.Await(t)
		require.NoError(t, c.conn.Close())
		_, err := s.ask("DEL", key)
		require.NoError(t, err)
		h.Release()
		require.Equal(t, "late", get(t, s, key))
	}
}

func TestHeldRequestReachesAClientThatStayed(t *testing.T) {
	_, p, key := setup(t)
	h := p.HoldRequest(Arg(key))
	c := dial(t, p.Addr())
	c.send("PING")
	c.send("INCR", key)
	c.send("PING")
	require.Equal(t, "PONG", c.read())
	h.Await(t)
	c.hearsNothing()
	h.Release()
	require.Equal(t, int64(1), c.read())
	require.Equal(t, "PONG", c.read())
}

func TestHeldRequestSurvivesCutAllAndBlackHole(t *testing.T) {
	s, p, key := setup(t)
	cut, swallowed := p.HoldRequest(Arg("cut"+key)), p.HoldRequest(Arg("hole"+key))
	a, b := dial(t, p.Addr()), dial(t, p.Addr())
	b.do("PING")
	a.send("INCR", "cut"+key)
	cut.Await(t)
	p.CutAll()
	a.isCut()
	cut.Release()
	require.Equal(t, "1", get(t, s, "cut"+key))
	b.isCut()

	c := dial(t, p.Addr())
	c.send("INCR", "hole"+key)
	swallowed.Await(t)
	p.BlackHole()
	swallowed.Release()
	require.Equal(t, "1", get(t, s, "hole"+key))
	c.hearsNothing()
}

func TestReleaseBeforeAnythingIsHeldWithdrawsTheRule(t *testing.T) {
	_, p, key := setup(t)
	h := p.HoldRequest(Arg(key))
	h.Release()
	require.Equal(t, int64(1), dial(t, p.Addr()).do("INCR", key))
}

func TestReleaseEndsWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	h := p.HoldRequest(Command("INCR"))
	c := dial(t, p.Addr())
	c.send("INCR", "k")
	h.Await(t)
	s.Kill()
	c.isCut()
	h.Release()
}

func TestProxyEndsWithAHeldRequest(t *testing.T) {
	s, _, key := setup(t)
	t.Run("a test of its own", func(t *testing.T) {
		p := NewProxy(t, s.Addr())
		h := p.HoldRequest(Arg(key))
		dial(t, p.Addr()).send("INCR", key)
		h.Await(t)
	})
	require.Nil(t, get(t, s, key))
}

func TestServerThatDiesAndComesBackBehindTheProxy(t *testing.T) {
	t.Parallel()
	s := Start(t)
	p := NewProxy(t, s.Addr())
	c := dial(t, p.Addr())
	c.do("PING")
	s.Kill()
	c.isCut()
	dial(t, p.Addr()).isCut()
	s.Restart()
	require.Equal(t, "PONG", dial(t, p.Addr()).do("PING"))
}

func TestRueidisRetriesOverACutConnection(t *testing.T) {
	s, p, key := setup(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, ForceSingleClient: true, DisableCache: true, DisableRetry: true})
	require.NoError(t, err)
	defer client.Close()
	d := p.DropReply(All(AnyScript(), Arg(key)), 1)
	script := rueidis.NewLuaScript("return redis.call('INCR', KEYS[1])")
	require.Error(t, script.Exec(t.Context(), client, []string{key}, nil).Error())
	d.Await(t)
	require.Equal(t, "1", get(t, s, key))
	ctx, cancel := context.WithTimeout(t.Context(), Soon)
	defer cancel()
	n, err := script.Exec(ctx, client, []string{key}, nil).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}
