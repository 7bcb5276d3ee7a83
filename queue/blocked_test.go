package queue

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// everyKind is somebody who waits for each kind of what can be waited for, and what
// has each of them go on.
func everyKind(t *testing.T, e *locking.Engine, direct *locking.Engine) (waiting []func(context.Context) error, wake []func()) {
	t.Helper()
	for range 3 {
		q, source := New[string](e, redistest.Name(t), WithCodec(codec.Text)), (*Queue[string])(nil)
		source = New[string](direct, q.Name(), WithCodec(codec.Text))
		p := NewPriority[string](e, redistest.Name(t), WithCodec(codec.Text))
		ranks := NewPriority[string](direct, p.Name(), WithCodec(codec.Text))
		s := NewStream[string, string](direct, redistest.Name(t), WithCodec(codec.Text))
		g := made(t, s)
		_ = g
		mine := NewStream[string, string](e, s.Name(), WithCodec(codec.Text)).Group("g")
		waiting = append(waiting,
			func(ctx context.Context) error { _, err := q.Take(ctx); return err },
			func(ctx context.Context) error { _, err := q.TakeLast(ctx); return err },
			func(ctx context.Context) error { _, err := p.Take(ctx); return err },
			func(ctx context.Context) error { _, err := p.TakeLast(ctx); return err },
			func(ctx context.Context) error { return consumed(mine.Consume(ctx, "c")) },
		)
		wake = append(wake,
			func() { offered(t, source, "a", "b") },
			func() { ranked(t, ranks, "a", 1); ranked(t, ranks, "b", 2) },
			func() { add(t, s, "a") },
		)
	}
	return waiting, wake
}

// allGoOn has everybody wait, and then go on.
func allGoOn(t *testing.T, e, direct *locking.Engine) {
	t.Helper()
	waiting, wake := everyKind(t, e, direct)
	var all sync.WaitGroup
	for _, w := range waiting {
		all.Go(func() { assert.NoError(t, w(within(t))) })
	}
	time.Sleep(100 * time.Millisecond) // they block by then, as a rule
	for _, w := range wake {
		w()
	}
	all.Wait()
}

// TestAUserWhoMayNotUnblock waits all the same.
func TestAUserWhoMayNotUnblock(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		for _, denied := range []string{"-client|unblock", "-client|id", "-client"} {
			require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary("ACL", "SETUSER", "narrow", "reset", "on", ">pw", "~*", "&*", "+@all", denied).Build()).Error())
			user, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{server.Addr()}, Username: "narrow", Password: "pw", DisableCache: true, ForceSingleClient: true,
			})
			require.NoError(t, err)
			e := engineOn(t, user)
			allGoOn(t, e, engineOn(t, admin))
			require.NoError(t, e.Close(t.Context()))
			user.Close()
		}
	})
}

// TestOneBlockedConnectionServesAllKinds, in turns.
func TestOneBlockedConnectionServesAllKinds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	direct := engineOn(t, server.Client(t, onePipeline))
	e := engineOn(t, server.Client(t, onePipeline), func(c *core.Config) { c.BlockedConnections = 1 })
	before := server.Connections(t)
	over := make(chan struct{})
	most := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-over:
				most <- n
				return
			case <-time.After(5 * time.Millisecond):
				n = max(n, server.Connections(t))
			}
		}
	}()
	allGoOn(t, e, direct)
	close(over)
	require.LessOrEqual(t, <-most, before+1+1) // direct waits for nothing; the test asks by one
}

// wrapped is a client with a hook, as those that trace are: also of its nodes and of
// connections of its own.
type wrapped struct {
	rueidis.Client
	asked *atomic.Int64
}

func (w wrapped) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.asked.Add(1)
	return w.Client.Do(ctx, cmd)
}

func (w wrapped) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	w.asked.Add(1)
	return w.Client.DoMulti(ctx, cmds...)
}

func (w wrapped) Dedicate() (rueidis.DedicatedClient, func()) {
	c, release := w.Client.Dedicate()
	return wrappedDedicated{c, w.asked}, release
}

func (w wrapped) Dedicated(f func(rueidis.DedicatedClient) error) error {
	return w.Client.Dedicated(func(c rueidis.DedicatedClient) error { return f(wrappedDedicated{c, w.asked}) })
}

func (w wrapped) Nodes() map[string]rueidis.Client {
	nodes := w.Client.Nodes()
	for addr, node := range nodes {
		nodes[addr] = wrapped{node, w.asked}
	}
	return nodes
}

type wrappedDedicated struct {
	rueidis.DedicatedClient
	asked *atomic.Int64
}

func (w wrappedDedicated) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.asked.Add(1)
	return w.DedicatedClient.Do(ctx, cmd)
}

// TestAWrappedClient waits by what the wrapper gives it, and leaves no connection.
func TestAWrappedClient(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		direct := engineOn(t, server.Client(t, onePipeline))
		client := wrapped{server.Client(t, onePipeline), new(atomic.Int64)}
		e := engineOn(t, client)
		before := server.Connections(t)
		allGoOn(t, e, direct)
		require.Positive(t, client.asked.Load())
		redistest.Eventually(t, func() bool { return server.Connections(t) <= before+1 }, soon, 10*time.Millisecond) // that of messages stays
	})
}

// TestATakeWhoseCallerHasGone says in the log that there may be a loss: the caller knows only that ctx has ended.
func TestATakeWhoseCallerHasGone(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(ctx context.Context, q *Queue[string]) error{
		"take": func(ctx context.Context, q *Queue[string]) error { _, err := q.Take(ctx); return err },
		"take any": func(ctx context.Context, q *Queue[string]) error {
			_, _, err := TakeAny(ctx, q, New[string](q.q.h.e, q.Name()+"-other", WithCodec(codec.Text)))
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			client, proxy := through(t, server)
			log := new(enginetest.Log)
			q := New[string](engineOn(t, client, shortSends, log.To), named(t, server.Client(t)), WithCodec(codec.Text))
			offered(t, New[string](engineOn(t, server.Client(t)), q.Name(), WithCodec(codec.Text)), "a")
			lost := proxy.DropReply(redistest.All(redistest.Command("LPOP", "LMPOP"), redistest.Arg(q.Name())), 1, redistest.Silent())
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, take(ctx, q), context.DeadlineExceeded)
			lost.Await(t)
			redistest.Eventually(t, func() bool { return strings.Contains(log.String(), "an element may be lost") }, soon, time.Millisecond)
			require.Contains(t, log.String(), q.Name())
		})
	}
}

// TestATakeWhoseAnswerIsLost waits on, and says that there may be a loss.
func TestATakeWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	log := new(enginetest.Log)
	q := New[string](engineOn(t, client, shortSends, log.To), named(t, server.Client(t)), WithCodec(codec.Text))
	offered(t, q, "a")
	lost := proxy.DropReply(redistest.All(redistest.Command("LPOP"), redistest.Arg(q.Name())), 1)
	result := make(chan string)
	go func() {
		v, err := q.Take(t.Context())
		assert.NoError(t, err)
		result <- v
	}()
	lost.Await(t)
	untilWaiting(t, q, head.kind)
	require.Contains(t, log.String(), "an element may be lost")
	require.Contains(t, log.String(), q.Name())
	offered(t, q, "b")
	require.Equal(t, "b", <-result)
}

// TestACloseTellsWhatItCouldNotPutBack.
func TestACloseTellsWhatItCouldNotPutBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	log := new(enginetest.Log)
	e := engineOn(t, client, shortSends, log.To)
	q := New[string](e, redistest.Name(t), WithCodec(codec.Text))
	offered(t, q, "a")
	proxy.Refuse()
	proxy.CutAll()
	e.During(func() { q.q.h.putBack(head, q.q.key, []poller.Item{{Text: "b"}}) })
	require.NoError(t, e.Close(t.Context()))
	require.Contains(t, log.String(), "giving back ends")
	require.Contains(t, log.String(), "the client was closed")
	require.Contains(t, log.String(), q.Name())
	proxy.Accept()
}
