package fairlock

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var (
	a, b2, c3 = own(here, 1), own(here, 2), own(here, 3)
	x         = own(there, 1)
)

// TestALateSecondRunChangesNothing runs each script, lets something happen, and
// runs the script again as a send that arrives late would.
func TestALateSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.LateRuns(t, newBench, func(t *testing.T, b *bench) func() {
		state, left := b.state(), b.left()
		return func() {
			require.Equal(t, state, b.state())
			if left > 0 {
				require.Greater(t, b.left(), left-5*time.Second, "the late run shortened a lease")
				require.LessOrEqual(t, b.left(), leaseMs*time.Millisecond, "the late run lengthened a lease that is not its own")
			}
		}
	}, map[string][2]func(b *bench){
		"acquire, at once": {
			func(b *bench) { require.Equal(b.t, "0", b.acquire(a, once)) },
			func(b *bench) { require.Equal(b.t, "0", b.acquire(a, once)) },
		},
		"acquire, with another queued behind": {
			func(b *bench) { b.acquire(a, queue); b.acquire(x, queue) },
			func(b *bench) { require.Equal(b.t, "0", b.acquire(a, queue)) },
		},
		"acquire, after it was given back before it came": {
			func(b *bench) { b.leave(a, buried) },
			func(b *bench) { require.Equal(b.t, "-2,0", b.acquire(a, queue)) },
		},
		"acquire, after it was given back, with another in its place": {
			func(b *bench) { b.acquire(a, queue); b.leave(a, buried); b.acquire(x, queue) },
			func(b *bench) { b.acquire(a, queue) },
		},
		"queue, at once": {
			func(b *bench) { b.acquire(x, once); b.acquire(a, queue); b.acquire(b2, queue) },
			func(b *bench) { b.acquire(a, queue) },
		},
		"queue, after it left": {
			func(b *bench) { b.acquire(x, once); b.acquire(a, queue); b.leave(a, buried) },
			func(b *bench) { b.acquire(a, queue) },
		},
		"queue, after it left before it came": {
			func(b *bench) { b.acquire(x, once); b.leave(a, buried) },
			func(b *bench) { b.acquire(a, again) },
		},
		"queue, after it was granted": {
			func(b *bench) { b.acquire(x, once); b.acquire(a, queue); b.release(x); b.acquire(a, again) },
			func(b *bench) { b.acquire(a, queue) },
		},
		"queue, after it was granted and given back": {
			func(b *bench) {
				b.acquire(x, once)
				b.acquire(a, queue)
				b.release(x)
				b.acquire(a, again)
				b.leave(a, buried)
			},
			func(b *bench) { b.acquire(a, again) },
		},
		"queue, back at the front": {
			func(b *bench) { b.acquire(x, once); b.acquire(b2, queue); b.acquire(a, again) },
			func(b *bench) { b.acquire(a, again) },
		},
		"release, at once": {
			func(b *bench) { b.acquire(a, once); require.Equal(b.t, "0", b.release(a)) },
			func(b *bench) { require.Equal(b.t, "-1", b.release(a)) },
		},
		"release, after another's acquire": {
			func(b *bench) { b.acquire(a, once); b.release(a); b.acquire(x, once) },
			func(b *bench) { require.Equal(b.t, "-1", b.release(a)) },
		},
		"release to a waiter, at once": {
			func(b *bench) { b.acquire(a, once); b.acquire(b2, queue); b.release(a, c3, b2) },
			func(b *bench) { require.Equal(b.t, b2+",0,0", b.release(a, c3, b2)) },
		},
		"release to a waiter, after that was released": {
			func(b *bench) {
				b.acquire(a, once)
				b.acquire(b2, queue)
				b.acquire(c3, queue)
				b.release(a, b2)
				b.release(b2, c3)
			},
			func(b *bench) { require.Equal(b.t, "-1", b.release(a, b2)) },
		},
		"release to a waiter, after that has left": {
			func(b *bench) { b.acquire(a, once); b.acquire(b2, queue); b.release(a, b2); b.leave(b2, quit) },
			func(b *bench) { require.Equal(b.t, "-1", b.release(a, b2)) },
		},
		"leave, at once": {
			func(b *bench) {
				b.acquire(x, once)
				b.acquire(a, queue)
				b.acquire(b2, queue)
				require.Equal(b.t, "1", b.leave(a, quit))
			},
			func(b *bench) { require.Equal(b.t, "0", b.leave(a, quit)) },
		},
		"leave of a hold, after another's acquire": {
			func(b *bench) { b.acquire(a, once); require.Equal(b.t, "2", b.leave(a, quit)); b.acquire(x, once) },
			func(b *bench) { require.Equal(b.t, "0", b.leave(a, buried)) },
		},
		"keep, at once": {
			func(b *bench) { b.acquire(x, once); b.acquire(a, queue); b.keep(here, "1") },
			func(b *bench) { b.keep(here, "1") },
		},
		"keep, after its waiter was granted": {
			func(b *bench) {
				b.acquire(x, once)
				b.acquire(a, queue)
				b.keep(here, "2")
				b.release(x)
				b.acquire(a, again)
			},
			func(b *bench) { b.keep(here, "2") },
		},
		"keep of the lost, at once": {
			func(b *bench) { b.acquire(x, once); b.acquire(own(there, 2), queue); b.keep(here, "1", a, b2) },
			func(b *bench) { b.keep(here, "1", a, b2) },
		},
		"keep of the lost, after one was granted": {
			func(b *bench) { b.keep(here, "1", a, b2); b.acquire(a, again) },
			func(b *bench) { b.keep(here, "1", a, b2) },
		},
		"keep of the lost, after they were given back": {
			func(b *bench) { b.acquire(x, once); b.keep(here, "1", a); b.leave(a, buried) },
			func(b *bench) { b.keep(here, "1", a) },
		},
		"keep of the lost, long after one of them was released": {
			func(b *bench) { b.keep(here, "1", a); b.acquire(a, again); b.release(a) },
			func(b *bench) { b.keepAfter(time.Second, here, "1", a) },
		},
		"keep of the lost, long after one of them left": {
			func(b *bench) { b.acquire(x, once); b.keep(here, "1", a, b2); b.leave(a, quit) },
			func(b *bench) { b.keepAfter(time.Second, here, "1", a, b2) },
		},
	})
}

// TestALateKeepThatRunsTwiceKeepsNobodyAlive lets a process be silent after a census,
// until it counts as gone, with a waiter behind a living one. A keep that was late
// runs once, or several times as its replies are lost.
func TestALateKeepThatRunsTwiceKeepsNobodyAlive(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	for copies := 1; copies <= 3; copies++ {
		b := &bench{t: t, raw: server.Client(t), name: redistest.Name(t), counts: "0"}
		clock.Set(0)
		b.acquire(c3, once)
		b.acquire(a, queue)
		b.acquire(x, queue)
		b.keepAfter(time.Second, here, "0") // a census
		clock.Set(3 * time.Second)          // so long is nobody alive who says nothing, and so short is it remembered who was
		for range copies {
			b.keepAfter(time.Second, here, "1")
		}
		require.Equal(t, []string{a, x}, b.queue(), copies)
		b.acquire(b2, queue)
		b.leave(a, place)
		b.release(c3)
		require.Equal(t, []string{b2}, b.queue(), "with %d copies of a keep", copies)
	}
}

// TestAKeepForgetsProcessesThatHaveGone: the table of the living does not grow with
// those that come and go on a name that is always waited for.
func TestAKeepForgetsProcessesThatHaveGone(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	b := &bench{t: t, raw: server.Client(t), name: redistest.Name(t), counts: "0"}
	b.acquire(c3, once)
	b.acquire(a, queue)
	for n := range 20 {
		other := fmt.Sprintf("22222222-2222-4222-8222-%012d", n)
		b.acquire(own(other, 1), queue)
		b.leave(own(other, 1), place)
	}
	require.Len(t, b.list("ZRANGE", keys.FairAlive(b.name), "0", "-1"), 21)
	clock.Set(3 * time.Second)
	b.keep(here, "1")
	require.Equal(t, []string{here}, b.list("ZRANGE", keys.FairAlive(b.name), "0", "-1"))
}

// A late copy of what was not known to be late when its waiter left queues a
// waiter that is not there: who is told of it takes it out, and nothing else.
func TestAWaiterThatIsNotThereIsSkippedAndItsNamesakeKeepsTheLock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire(x, once)
	b.acquire(a, queue)
	require.Equal(t, "1", b.leave(a, place))
	require.Empty(t, b.queue())
	b.release(x)
	b.acquire(a, once)
	require.Equal(t, "0", b.leave(a, place))
	require.Equal(t, a, b.holder(), "a skip gives back nothing")
}

func TestARefusedAcquireThatDoesNotQueueLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire(x, once)
	require.True(t, strings.HasSuffix(b.acquire(a, once), ",0"))
	require.Empty(t, b.queue())
	b.acquire(own(there, 2), queue)
	b.release(x)
	require.Equal(t, "-2,0", b.acquire(a, once), "it does not overtake who is queued")
	require.Equal(t, []string{own(there, 2)}, b.queue())
}

func TestAReadWriteLockOfTheNameIsSeen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("HSET", b.name, "mode", "read", thread(1), "1")
	res := acquireScript.Exec(t.Context(), b.raw, b.keys(5), []string{"1000", a, queue, "1400", "10000"})
	require.ErrorContains(t, res.Error(), "FAMILY rwlock")
	require.Empty(t, b.queue())
}

func TestARefusalSaysWhetherRedissonIsAhead(t *testing.T) {
	t.Parallel()
	hint := func(reply string) string { return reply[strings.LastIndex(reply, ",")+1:] }
	b := newBench(t)
	b.javaAcquire(thread(1), 300_000)
	require.Equal(t, "1", hint(b.acquire(a, queue)), "the holder is Redisson's")
	b = newBench(t)
	b.acquire(x, once)
	require.Equal(t, "0", hint(b.acquire(a, queue)))
	b.javaAcquire(thread(1), 300_000)
	require.Equal(t, "1", hint(b.acquire(b2, queue)), "it is the last")
	require.Equal(t, "1", hint(b.acquire(c3, queue)), "it is ahead of the last")
	require.Equal(t, "0", hint(b.acquire(a, again)), "it is behind")
	require.Equal(t, "1", hint(b.acquire(c3, again)))
}

// Dead, silent and unheard waiters.

func TestADeadFrontIsPassedOver(t *testing.T) {
	t.Parallel()
	gone := func(b *bench) { b.do("DEL", b.keys(4)[3]); b.keep(here, "0") } // there has said nothing since
	for name, c := range map[string]func(b *bench) string{
		"release": func(b *bench) string { return b.release(own(here, 9), a) },
		"acquire": func(b *bench) string { b.do("DEL", b.name); return b.acquire(a, again) },
		"force":   func(b *bench) string { return b.force(here) },
		"keep":    func(b *bench) string { b.do("DEL", b.name); return b.keep(here, "0") },
		"leave":   func(b *bench) string { return b.leave(own(here, 9), quit) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.acquire(own(here, 9), once)
			b.acquire(x, queue)
			b.do("RPUSH", b.keys(2)[1], thread(1)) // one of Redisson's without a deadline
			b.acquire(a, queue)
			gone(b)
			// The census of keep has given the silent one its time.
			b.do("ZREM", b.keys(4)[3], there)
			c(b)
			if name == "release" || name == "acquire" {
				require.Equal(t, a, b.holder())
				require.Empty(t, b.queue())
				return
			}
			require.Equal(t, []string{a}, b.queue())
		})
	}
}

// When nobody has said for a while that it is alive, the server itself was away.
func TestAfterASilenceOfAllNobodyIsPassedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire(own(here, 9), once)
	b.acquire(x, queue)
	b.acquire(a, queue)
	b.do("DEL", b.keys(4)[3])
	b.release(own(here, 9), a)
	require.Empty(t, b.holder())
	require.Equal(t, []string{x, a}, b.queue())
	b.do("ZREM", b.keys(4)[3], there)
	reply := b.keep(here, "0")
	require.Contains(t, reply, ","+a+",", "it still says nothing: it is the other's turn")
	require.Equal(t, []string{a}, b.queue())
}

func TestAFrontThatNobodyHearsIsPassedOverWhereCountsCanBeTrusted(t *testing.T) {
	t.Parallel()
	for _, counts := range []string{"0", "1", "2"} { // 2: its slot may have moved a moment ago
		b := newBench(t)
		b.counts = counts
		b.acquire(own(here, 9), once)
		b.acquire(x, queue)
		b.release(own(here, 9))
		require.Equal(t, counts == "1", len(b.queue()) == 0)
	}
}

// A process that does not hear again yet, after a failover say, has the time to.
func TestAFrontThatMayNotListenYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, silence := range map[string]func(b *bench){
		"as it says itself":                                 func(b *bench) { b.keep(there, "0") },
		"for all that anybody said":                         func(b *bench) { b.do("DEL", keys.FairAlive(b.name)) },
		"as it says, with another waiter of its own behind": func(b *bench) { b.keep(there, "0"); b.acquire(own(there, 2), queue) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.counts, b.deaf = "1", true
			b.acquire(own(here, 9), once)
			b.acquire(x, queue)
			silence(b)
			require.Equal(t, "0", b.release(own(here, 9)))
			require.Equal(t, x, b.queue()[0])
			b.keep(here, "0")
			require.Equal(t, x, b.queue()[0])
			b.deaf = false
			b.keep(there, "0") // now it hears, or should
			b.keep(here, "0")
			require.Empty(t, b.queue())
		})
	}
}

func TestAFrontOfRedissonsThatNobodyHearsForAWhileIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, counts := range []string{"1", "2"} {
		b := newBench(t)
		b.counts = counts
		b.acquire(own(here, 9), once)
		b.javaAcquire(thread(1), 300_000)
		b.acquire(a, queue)
		b.release(own(here, 9))
		b.keep(here, "0")
		b.keep(here, "0")
		require.Equal(t, []string{thread(1), a}, b.queue(), "not at once: it may be about to listen")
		idle := keys.FairIdle(b.name)
		b.do("SET", idle, thread(1)+" "+strconv.FormatInt(b.now()-901, 10), "PX", "5000")
		reply := b.keep(here, "0")
		require.Contains(t, reply, ","+a+",")
		require.Equal(t, []string{a}, b.queue())
	}
}

func TestWithUntrustedCountsAFrontOfRedissonsStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire(own(here, 9), once)
	b.javaAcquire(thread(1), 300_000)
	b.acquire(a, queue)
	b.release(own(here, 9))
	b.do("SET", keys.FairIdle(b.name), thread(1)+" "+strconv.FormatInt(b.now()-901, 10), "PX", "5000")
	b.keep(here, "0")
	require.Equal(t, []string{thread(1), a}, b.queue())
}

func TestTheLostComeBackAtTheFrontInTheirOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire(own(here, 9), once)
	b.acquire(x, queue)
	b.acquire(b2, queue)
	reply := b.keep(here, "2", a, b2, c3)
	require.Equal(t, []string{a, c3, x, b2}, b.queue(), "the one that has its place keeps it")
	require.Contains(t, reply, ",1,"+b2)
	for _, owner := range b.queue() {
		require.Positive(t, b.deadline(owner), owner)
	}
}

func TestTokensRiseWithEachAcquisition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	last := int64(0)
	rises := func(token string) {
		n, err := strconv.ParseInt(token, 10, 64)
		require.NoError(t, err)
		require.Greater(t, n, last)
		require.InDelta(t, b.now()*1000, n, 5e6)
		last = n
	}
	first := b.acquireFenced(a, once)
	rises(first)
	require.Equal(t, first, b.acquireFenced(a, once), "a replay")
	b.acquireFenced(b2, queue)
	grant := b.releaseFenced(a, b2)
	require.True(t, strings.HasPrefix(grant, b2+","))
	require.True(t, strings.HasSuffix(grant, ",1"))
	rises(grant[len(b2)+1 : len(grant)-2])
	require.Equal(t, grant[:len(grant)-1]+"0", b.releaseFenced(a, b2), "a replay")
	b.releaseFenced(b2)
	b.do("DEL", keys.LockToken(b.name))
	rises(b.acquireFenced(c3, once))
	b.do("SET", keys.LockToken(b.name), strconv.FormatInt(last+1e15, 10))
	b.releaseFenced(c3)
	require.Equal(t, strconv.FormatInt(last+1e15+1, 10), b.acquireFenced(a, once), "a clock that went back")
}

func TestEveryKeyOfOursEndsWithinAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire(x, once)
	b.javaAcquire(thread(1), 300_000)
	b.acquire(a, queue)
	b.counts = "1"
	b.release(x)
	b.keep(here, "1")
	b.leave(a, buried)
	found := b.list("KEYS", "*rueidisson*"+b.name+"*")
	require.Len(t, found, 3, "%v", found)
	for _, key := range found {
		ms, err := b.do("PTTL", key).AsInt64()
		require.NoError(t, err)
		assert.Positive(t, ms, key)
		assert.LessOrEqual(t, ms, int64(60_000), key)
	}
}
