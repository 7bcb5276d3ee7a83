package fairlock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

const javaThread = "99999999-9999-4999-8999-999999999999:1"

// java is a thread of Redisson's that asks for l, by a clock that is ahead of
// the server's.
func java(t testing.TB, server *redistest.Server, l *fairlock.Lock, thread string, ahead, wait time.Duration) string {
	t.Helper()
	c, ms := server.Client(t), strconv.FormatInt(time.Now().Add(ahead).UnixMilli(), 10)
	cmd := c.B().Eval().Script(fairlock.JavaAcquire).Numkeys(3).
		Key(l.Name(), "redisson_lock_queue:{"+l.Name()+"}", "redisson_lock_timeout:{"+l.Name()+"}").
		Arg(ms, thread, "60000", strconv.FormatInt(wait.Milliseconds(), 10)).Build()
	reply, err := c.Do(t.Context(), cmd).ToString()
	require.NoError(t, err)
	return reply
}

// While nothing changes, a process sends two scripts a second about a name that
// any number of its goroutines wait for.
func TestWaitersSayLittleWhileNothingChanges(t *testing.T) {
	t.Parallel()
	const waiters = 20
	for name, ahead := range map[string]func(t *testing.T, s *redistest.Server, l, other *fairlock.Lock) (queued int){
		"behind a holder of ours": func(t *testing.T, _ *redistest.Server, _, other *fairlock.Lock) int {
			locktest.Take(t, other)
			return 0
		},
		"behind one of its own": func(t *testing.T, _ *redistest.Server, l, _ *fairlock.Lock) int {
			locktest.Take(t, l)
			return 0
		},
		"behind others": func(t *testing.T, _ *redistest.Server, _, other *fairlock.Lock) int {
			locktest.Take(t, other)
			lockLater(t.Context(), other)
			awaitQueue(t, other, 1)
			return 1
		},
		"behind a holder of Redisson's": func(t *testing.T, s *redistest.Server, l, _ *fairlock.Lock) int {
			require.Equal(t, "taken", java(t, s, l, javaThread, 0, time.Minute))
			return 0
		},
		"behind a waiter of Redisson's": func(t *testing.T, s *redistest.Server, l, other *fairlock.Lock) int {
			locktest.Take(t, other)
			require.Equal(t, "queued", java(t, s, l, javaThread, 0, time.Minute))
			return 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, name := redistest.Shared(t), redistest.Name(t)
			proxy := redistest.NewProxy(t, server.Addr())
			long := rueidisson.WithWatchdogTimeout(time.Hour) // no renewal among the calls
			l, other := locktest.Open(t, proxy.Addr(), long).FairLock(name), locktest.Open(t, server.Addr(), long).FairLock(name)
			queued := ahead(t, server, l, other)
			for i := range waiters {
				lockLater(t.Context(), l)
				awaitQueue(t, other, queued+i+1)
			}
			time.Sleep(500 * time.Millisecond) // until those have asked again that Redisson is ahead of
			proxy.ResetLog()
			began := time.Now()
			time.Sleep(4 * time.Second) // what is tested is that little happens
			calls := proxy.Count(redistest.AnyScript())
			require.LessOrEqual(t, calls, 1+int(time.Since(began)/(500*time.Millisecond)))
			require.Positive(t, calls, "or the process is not heard of")
			awaitQueue(t, other, queued+waiters)
		})
	}
}

// Whoever loses its place by the clock of one of Redisson's processes that is
// ahead comes back, and gets deadlines that this clock does not reach.
func TestAClockThatIsAheadCostsAPlaceOnce(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	holder, l := locktest.Open(t, server.Addr()).FairLock(name), locktest.Open(t, server.Addr()).FairLock(name)
	held := locktest.Take(t, holder)
	waited := lockLater(t.Context(), l)
	awaitQueue(t, holder, 1)
	behind := lockLater(t.Context(), holder)
	awaitQueue(t, holder, 2)
	foreign := func() { require.Equal(t, "busy", java(t, server, l, javaThread, 12*time.Second, 0)) }
	foreign()
	awaitQueue(t, holder, 0)
	raw := server.Client(t)
	left := func() []time.Duration { // until each may be dropped, the first one first
		pairs, err := raw.Do(t.Context(), raw.B().Zrange().Key("redisson_lock_timeout:{"+name+"}").Min("0").Max("-1").Withscores().Build()).AsZScores()
		require.NoError(t, err)
		var all []time.Duration
		for _, p := range pairs {
			all = append(all, time.Until(time.UnixMilli(int64(p.Score))))
		}
		return all
	}
	redistest.Eventually(t, func() bool { // a process that had no time may lose it twice, and it was silent then
		foreign()
		all := left()
		return len(all) == 2 && all[0] > 13*time.Second
	}, soon, 100*time.Millisecond)
	for range 80 { // for longer than until they are written anew
		foreign()
		for _, d := range left() {
			require.Greater(t, d, 12*time.Second, "that clock reaches it")
		}
		time.Sleep(100 * time.Millisecond)
	}
	awaitQueue(t, holder, 2)
	locktest.Unlock(t, held)
	for _, w := range []<-chan result{waited, behind} { // both were dropped: which is first is the first to come back
		go func() { // ends with the test's context
			if r := <-w; r.err == nil {
				_ = r.hold.Unlock(t.Context())
			}
		}()
	}
	mustBeFree(t, holder)
}

// Places that are lost again and again, by an eviction say, are missed as soon
// each time, though their deadlines get more slack.
func TestPlacesThatAreLostOftenComeBackAsSoon(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	holder, l := locktest.Open(t, server.Addr()).FairLock(name), locktest.Open(t, server.Addr()).FairLock(name)
	held := locktest.Take(t, holder)
	waited := lockLater(t.Context(), l)
	awaitQueue(t, holder, 1)
	raw := server.Client(t)
	for range 5 {
		queue, deadlines := "redisson_lock_queue:{"+name+"}", "redisson_lock_timeout:{"+name+"}"
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(queue, deadlines).Build()).Error())
		awaitQueue(t, holder, 1)
	}
	locktest.Unlock(t, held)
	locktest.Unlock(t, got(t, waited))
	mustBeFree(t, holder)
}
