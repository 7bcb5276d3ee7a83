package send

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

func TestRunTakesAPlainCommand(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	e := at(t, proxy.Addr())
	key := redistest.Name(t)
	set, push, get := scripts.NewCommand("SET", scripts.Safe), scripts.NewCommand("RPUSH", scripts.Unsafe), scripts.NewCommand("GET", scripts.Reads)

	answer, err := e.Run(t.Context(), get, []string{key}, nil)
	require.NoError(t, err)
	require.True(t, answer.Nil)

	lost := proxy.DropReply(redistest.All(redistest.Command("SET"), redistest.Arg(key)), 1)
	answer, err = e.Run(t.Context(), set, []string{key}, []string{"value", "PX", "60000"})
	require.NoError(t, err, "it was sent again")
	lost.Await(t)
	require.True(t, answer.Replayed)
	answer, err = e.Run(t.Context(), get, []string{key}, nil)
	require.NoError(t, err)
	text, err := answer.ToString()
	require.NoError(t, err)
	require.Equal(t, "value", text)

	list := redistest.Name(t)
	lost = proxy.DropReply(redistest.All(redistest.Command("RPUSH"), redistest.Arg(list)), 1)
	_, err = e.Run(t.Context(), push, []string{list}, []string{"a", "b"})
	require.ErrorIs(t, err, core.ErrOutcomeUnknown, "its own word says that it must not be sent again")
	require.ErrorContains(t, err, "outcome unknown: the reply was lost: ")
	lost.Await(t)
	length, err := e.Redis.Do(t.Context(), e.Redis.B().Llen().Key(list).Build()).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 2, length)
	_, err = e.Run(t.Context(), push, []string{key}, []string{"a"})
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
}

// TestRunIsSentAgainBehindASilentConnection, which costs the time of a send, at any watchdog timeout: with the default the
// time of a send is as long as refusals are borne.
func TestRunIsSentAgainBehindASilentConnection(t *testing.T) {
	t.Parallel()
	for _, watchdog := range []time.Duration{9 * time.Second, 18 * time.Second, 30 * time.Second, time.Hour} {
		t.Run(watchdog.String(), func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
			e := at(t, proxy.Addr(), func(c *core.Config) { c.WatchdogTimeout = watchdog })
			key := redistest.Name(t)
			lost := proxy.DropReply(redistest.All(redistest.Command("SET"), redistest.Arg(key)), 1, redistest.Silent())
			answer, err := e.Run(t.Context(), scripts.NewCommand("SET", scripts.Safe), []string{key}, []string{"value", "PX", "60000"})
			lost.Await(t)
			require.NoError(t, err)
			require.True(t, answer.Replayed)
		})
	}
}

// TestRunIsSentAgainAfterThisProcessStoodStill: a loss that is noticed late says nothing of the server.
func TestRunIsSentAgainAfterThisProcessStoodStill(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	var stood atomic.Int64
	var now watchdog.Clock
	e := onLater(t, client, func(s *Sender) {
		now = s.Now
		s.Now = func() watchdog.Instant {
			at := now()
			at.Mono += time.Duration(stood.Load())
			return at
		}
	})
	key := redistest.Name(t)
	held := proxy.HoldRequest(redistest.All(redistest.Command("SET"), redistest.Arg(key)))
	defer held.Release()
	done := make(chan error, 1)
	go func() { // ends with the second send
		answer, err := e.Run(t.Context(), scripts.NewCommand("SET", scripts.Safe), []string{key}, []string{"value", "PX", "60000"})
		assert.True(t, answer.Replayed)
		done <- err
	}()
	held.Await(t)
	stood.Store(int64(20 * time.Second))
	proxy.CutAll()
	require.NoError(t, redistest.Done(t, done))
}

// TestRunIsSentAgainWhenSilenceFollowsRefusals: they take nothing of the time for a silent server.
func TestRunIsSentAgainWhenSilenceFollowsRefusals(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	e := at(t, proxy.Addr(), func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
	memory := func(bytes string) {
		raw := server.Client(t)
		require.NoError(t, raw.Do(t.Context(), raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", bytes).Build()).Error())
	}
	memory("1")
	lost := make(chan *redistest.Drop, 1)
	time.AfterFunc(refusedFor*2/3, func() {
		lost <- proxy.DropReply(redistest.All(redistest.Command("SET")), 1, redistest.Silent())
		memory("0")
	})
	answer, err := e.Run(t.Context(), scripts.NewCommand("SET", scripts.Safe), []string{redistest.Name(t)}, []string{"value", "PX", "60000"})
	(<-lost).Await(t)
	require.NoError(t, err)
	require.True(t, answer.Replayed)
}

// TestRunGivesUpWhenNothingListensBehindALostReply, also of a read that would have been given
// more time if the server had only been slow.
func TestRunGivesUpWhenNothingListensBehindALostReply(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	e := at(t, proxy.Addr())
	key := redistest.Name(t)
	get := Sized(scripts.NewCommand("GET", scripts.Reads), Sizing{})
	_, err := e.Run(t.Context(), get, []string{key}, nil)
	require.NoError(t, err)
	proxy.Refuse()
	lost := proxy.DropReply(redistest.All(redistest.Command("GET"), redistest.Arg(key)), 1)
	ended := make(chan error, 1)
	go func() { // ends with the engine at the latest
		_, err := e.Run(context.Background(), get, []string{key}, nil)
		ended <- err
	}()
	lost.Await(t)
	select {
	case err := <-ended:
		require.Error(t, err)
		require.NotErrorIs(t, err, core.ErrOutcomeUnknown, "it only reads")
	case <-time.After(redistest.Soon):
		t.Fatal("it is sent again without end")
	}
}

// The errors are those of a real server, or of its protocol.
func TestWhatAnErrorSaysOfTheRequest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]class{
		"OOM command not allowed when used memory > 'maxmemory'. script: 6c, on @user_script:16.": refused,
		"MISCONF Redis is configured to save RDB snapshots":                                       refused,
		"TRYAGAIN Multiple keys request during rehashing of slot":                                 refused,
		"ERR max number of clients reached":                                                       refused,
		"NOPERM User orders has no permissions to run the 'evalsha' command":                      final,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                       final,
		"ERR Script attempted to access a non local key in a cluster node script: 6c":             lost,
		"ERR unknown command": final,
	} {
		require.Equal(t, want, classifyReply(text), text)
	}
}
