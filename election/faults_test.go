package election_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/lock"
)

// faulty is a client behind a proxy that loses replies, and one beside it, on
// the same election.
type faulty struct {
	t         *testing.T
	server    *redistest.Server
	proxy     *redistest.Proxy
	el, other *election.Election
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy := redistest.NewProxy(t, server.Addr())
	return &faulty{
		t: t, server: server, proxy: proxy,
		el:    locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).Election(name),
		other: locktest.Open(t, server.Addr()).Election(name),
	}
}

// script matches the election's own scripts.
func (f *faulty) script(name string) redistest.Match {
	f.t.Helper()
	text, err := scripts.Read(os.DirFS("lua"), name+".lua")
	require.NoError(f.t, err)
	return redistest.All(redistest.MatchScript(text), redistest.Arg("rueidisson_term:{"+f.el.Name()+"}"))
}

// mustBeFree expects that nobody leads, and nobody is elected.
func (f *faulty) mustBeFree() {
	f.t.Helper()
	fair := locktest.Open(f.t, f.server.Addr()).FairLock(f.el.Name())
	require.Eventually(f.t, func() bool {
		held, err := fair.Locked(context.Background())
		return err == nil && !held
	}, soon, 5*time.Millisecond)
	require.True(f.t, observe(f.t, f.other).next().None())
}

func TestALostReplyChangesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(f *faulty, w *watcher, drop func(script string) *redistest.Drop){
		"the first announce": func(f *faulty, w *watcher, drop func(string) *redistest.Drop) {
			lost := drop("announce")
			term := campaign(f.t, f.el, "a")
			lost.Await(f.t)
			require.Equal(f.t, election.Leader{Value: "a", Fence: term.Fence()}, w.next())
			resign(f.t, term)
		},
		"another value": func(f *faulty, w *watcher, drop func(string) *redistest.Drop) {
			term := campaign(f.t, f.el, "a")
			w.value("a")
			lost := drop("announce")
			require.NoError(f.t, term.SetValue(f.t.Context(), "b"))
			lost.Await(f.t)
			require.Equal(f.t, election.Leader{Value: "b", Fence: term.Fence()}, w.next())
			resign(f.t, term)
		},
		"the last word": func(f *faulty, w *watcher, drop func(string) *redistest.Drop) {
			term := campaign(f.t, f.el, "a")
			w.value("a")
			lost := drop("depart")
			resign(f.t, term)
			lost.Await(f.t)
		},
		"an observer's": func(f *faulty, w *watcher, drop func(string) *redistest.Drop) {
			term := campaign(f.t, f.other, "a")
			w.value("a")
			lost := drop("leader")
			require.Equal(f.t, election.Leader{Value: "a", Fence: term.Fence()}, observe(f.t, f.el).next())
			lost.Await(f.t)
			resign(f.t, term)
		},
	} {
		for how, opts := range map[string][]redistest.DropOption{"cut": nil, "silent": {redistest.Silent()}} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				f := newFaulty(t)
				w := observe(t, locktest.Open(t, f.server.Addr()).Election(f.el.Name()))
				w.none()
				test(f, w, func(script string) *redistest.Drop { return f.proxy.DropReply(f.script(script), 1, opts...) })
				w.none()
				f.mustBeFree()
			})
		}
	}
}

// A value that arrives late replaces no later one, and nobody else's.
func TestALateSendSaysNothing(t *testing.T) {
	t.Parallel()
	t.Run("of an earlier value", func(t *testing.T) {
		t.Parallel()
		f := newFaulty(t)
		w := observe(t, f.other)
		term := campaign(t, f.el, "a")
		late := f.proxy.HoldRequest(f.script("announce"))
		require.NoError(t, term.SetValue(t.Context(), "b")) // by its second send
		late.Await(t)
		require.NoError(t, term.SetValue(t.Context(), "c"))
		w.value("c")
		late.Release()
		require.Equal(t, "c", observe(t, f.other).next().Value)
		resign(t, term)
		f.mustBeFree()
	})
	t.Run("of who has resigned", func(t *testing.T) {
		t.Parallel()
		f := newFaulty(t)
		late := f.proxy.HoldRequest(f.script("announce"))
		term := campaign(t, f.el, "a")
		late.Await(t)
		resign(t, term)
		next := campaign(t, f.other, "b")
		late.Release()
		require.Equal(t, next.Fence(), observe(t, f.other).next().Fence)
		resign(t, next)
		f.mustBeFree()
	})
	t.Run("of a last word", func(t *testing.T) {
		t.Parallel()
		f := newFaulty(t)
		term := campaign(t, f.el, "a")
		late := f.proxy.HoldRequest(f.script("depart"))
		resign(t, term)
		late.Await(t)
		next := campaign(t, f.other, "b")
		late.Release()
		require.Equal(t, "b", observe(t, f.other).next().Value)
		resign(t, next)
		f.mustBeFree()
	})
}

// A candidate that goes while it is being elected is not kept, and leaves
// nothing behind.
func TestACandidateThatGoesAtTheLastMomentLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	ctx, cancel := context.WithCancel(t.Context())
	late := f.proxy.HoldRequest(f.script("announce"))
	later := campaignLater(ctx, f.el, "a")
	late.Await(t)
	cancel()
	r := <-later
	require.ErrorIs(t, r.err, context.Canceled)
	require.Nil(t, r.term)
	next := campaign(t, f.other, "b")
	late.Release()
	require.Equal(t, "b", observe(t, f.other).next().Value)
	resign(t, next)
	f.mustBeFree()
}

// TestAnObserverIsToldOfNoLeaderWhoseCampaignHasFailed, if the caller goes when
// the leader is announced and the server answers.
func TestAnObserverIsToldOfNoLeaderWhoseCampaignHasFailed(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	w := observe(t, f.other)
	w.none()
	for range 5 { // on a machine that stalls, the answer may come too late
		ctx, cancel := context.WithCancel(t.Context())
		held := f.proxy.HoldRequest(f.script("announce"))
		later := campaignLater(ctx, f.el, "a")
		held.Await(t)
		cancel()
		time.Sleep(100 * time.Millisecond) // the caller has gone by then
		held.Release()
		if r := <-later; r.err == nil {
			w.value("a")
			require.NoError(t, r.term.Err())
			resign(t, r.term)
			f.mustBeFree()
			return
		}
	}
	t.Fatal("the server has answered, and the campaign failed")
}

// A server that is full elects nobody, but whoever is elected already can say so,
// and resign.
func TestATermOnAFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	f := &faulty{t: t, server: server, proxy: proxy, el: locktest.Open(t, proxy.Addr()).Election("x"), other: locktest.Open(t, server.Addr()).Election("x")}
	raw := server.Client(t)
	room := func(bytes string) {
		require.NoError(t, raw.Do(t.Context(), raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", bytes).Build()).Error())
	}
	begins := proxy.HoldRequest(f.script("announce"))
	later := campaignLater(t.Context(), f.el, "a")
	begins.Await(t)
	room("1")
	begins.Release()
	term := elected(t, later)
	require.NoError(t, term.SetValue(t.Context(), "b"))
	require.Equal(t, "b", observe(t, f.other).next().Value)
	next := campaignLater(t.Context(), f.other, "c")
	resign(t, term)
	room("0")
	resign(t, elected(t, next))
	f.mustBeFree()
}

// When the server falls silent, the term ends before its key does.
func TestATermEndsBeforeItsKey(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy := redistest.NewProxy(t, server.Addr())
	term := campaign(t, locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second)).Election(name), "a")
	work := term.Context(t.Context())
	w := observe(t, locktest.Open(t, server.Addr()).Election(name))
	w.value("a")
	direct := server.Client(t)
	proxy.BlackHole()
	at, err := direct.Do(t.Context(), direct.B().Pexpiretime().Key(name).Build()).AsInt64() // nothing moves it any more
	require.NoError(t, err)
	var stood time.Time
	for asked := time.Now(); term.Err() == nil || work.Err() == nil; asked = time.Now() {
		stood = asked
		time.Sleep(time.Millisecond)
	}
	require.True(t, stood.Before(time.UnixMilli(at)), "it was trusted when the server had given the lock away")
	w.none()
	proxy.Restore()
	require.ErrorIs(t, term.Resign(t.Context()), lock.ErrLost)
}

func TestATermLivesThroughAMoveOfItsSlot(t *testing.T) {
	t.Parallel()
	cluster, name := redistest.StartCluster(t), redistest.Name(t)
	open := func() *election.Election {
		return locktest.Connected(t, rueidis.ClientOption{InitAddress: cluster.Addrs()}, rueidisson.WithWatchdogTimeout(6*time.Second)).Election(name)
	}
	el, other := open(), open()
	w := observe(t, other)
	term := campaign(t, el, "a")
	w.value("a")
	moves := cluster.StartMigration(t, name)
	moves.Move(t, name)
	later := campaignLater(t.Context(), other, "b")
	<-time.After(8 * time.Second) // longer than the lease
	require.NoError(t, term.Err())
	moves.Finish(t)
	require.NoError(t, term.SetValue(t.Context(), "a, moved"))
	w.value("a, moved")
	resign(t, term)
	next := elected(t, later)
	require.Greater(t, next.Fence().Number(), term.Fence().Number())
	w.value("b")
	resign(t, next)
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs what a client does under the
// user that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	c := locktest.Connected(t, user.Option())
	leads(t, c)
	user.NothingDenied(t)
}

// TestTheACLOfTheDocsOnACluster is with what the page adds for one.
func TestTheACLOfTheDocsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	user := rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}
	redistest.ConfinedOn(t, cluster, "../docs/redis.md")(&user)
	leads(t, locktest.Connected(t, user))
}

func TestPlainChannelsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	leads(t, locktest.Connected(t, rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}, rueidisson.WithShardedPubSub(rueidisson.Off)))
	require.Zero(t, cluster.Master("orders:leader").CommandCalls(t, "spublish"))
}

// leads is what a client does for an election.
func leads(t *testing.T, c *rueidisson.Client) {
	t.Helper()
	el := c.Election("orders:leader")
	w := observe(t, el)
	w.none()
	term := campaign(t, el, "a")
	later := campaignLater(t.Context(), el, "b")
	w.value("a")
	require.NoError(t, term.SetValue(t.Context(), "a, changed"))
	w.value("a, changed")
	resign(t, term)
	w.value("b")
	resign(t, elected(t, later))
	w.none()
}
