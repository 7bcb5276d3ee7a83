package fairlock

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a server is asked while it stands still it does when it goes on, all at
// once and in any order. Those who ask first then say of the others that they
// have been silent for as long.

// standing is a bench whose lock is free, with one waiter of there, and one of
// here behind it, on a server that has stood still for a while.
func standing(t *testing.T, still time.Duration) *bench {
	t.Helper()
	b := newBench(t)
	b.counts = "1"
	b.acquire(own(here, 9), once)
	b.acquire(x, queue)
	b.acquire(a, queue)
	b.keep(here, "0")
	b.keep(there, "0")
	b.age(there, still+400*time.Millisecond)
	b.age(here, still)
	return b
}

// age lets so much time pass for what a process has said.
func (b *bench) age(client string, d time.Duration) {
	alive := b.keys(4)[3]
	b.do("ZINCRBY", alive, strconv.FormatInt(-d.Milliseconds(), 10), client)
	left := max(1, (aliveMs*time.Millisecond - d).Milliseconds())
	b.do("PEXPIRE", alive, strconv.FormatInt(left, 10))
	if left == 1 {
		b.do("DEL", alive)
	}
}

func TestAServerThatStoodStillPassesNobodyOver(t *testing.T) {
	t.Parallel()
	for _, still := range []time.Duration{300 * time.Millisecond, 950 * time.Millisecond, 1200 * time.Millisecond, 2 * time.Second} {
		free := func(b *bench) { b.do("DEL", b.name) }
		late := func(b *bench, client string) { b.keepAfter(still, client, "0") }
		asked := map[string]func(b *bench){
			"a keep":               func(b *bench) { free(b); late(b, here) },
			"a keep of each":       func(b *bench) { free(b); late(b, there); late(b, here) },
			"a keep twice":         func(b *bench) { free(b); late(b, there); late(b, there); late(b, here) },
			"keeps, and a release": func(b *bench) { late(b, here); late(b, there); b.release(own(here, 9), a) },
		}
		if still > 900*time.Millisecond { // else their subscriptions stand, too
			asked["a release"] = func(b *bench) { b.release(own(here, 9), a) }
			asked["a try"] = func(b *bench) { free(b); b.acquire(own(here, 8), once) }
			asked["a force"] = func(b *bench) { b.force(here) }
			asked["one who leaves"] = func(b *bench) { free(b); b.leave(a, quit); late(b, here) }
		}
		for name, ask := range asked {
			t.Run(still.String()+", "+name, func(t *testing.T) {
				t.Parallel()
				b := standing(t, still)
				ask(b)
				require.Equal(t, x, append(b.queue(), "nobody")[0])
				require.NotEqual(t, a, b.holder())
			})
		}
	}
}

// However late everybody is, one that says nothing has its time once more, and
// then it is passed over.
func TestWhoIsAlwaysLatePassesOverTheDeadOnes(t *testing.T) {
	t.Parallel()
	b := newFaked(t)
	b.name = "late"
	b.acquire(own(here, 9), once)
	b.acquire(x, queue)
	b.acquire(a, queue)
	b.do("DEL", b.name)
	for range 3 {
		b.server.Forward(time.Second)
		b.keepAfter(400*time.Millisecond, here, "0")
	}
	require.Equal(t, []string{a}, b.queue())
}

// A lock that only those try who do not wait is not kept for a queue of which
// every process has died.
func TestTriesPassOverAQueueThatHasDied(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 20 * time.Second, 25 * time.Hour} {
		t.Run(every.String(), func(t *testing.T) {
			t.Parallel()
			b := newFaked(t)
			b.name = "tried"
			b.acquire(own(there, 9), once)
			b.acquire(x, queue)
			b.do("DEL", b.name)
			b.server.Forward(time.Minute)
			tries := 1
			for ; b.acquire(a, once) != "0"; tries++ {
				require.Less(t, tries, 100)
				b.server.Forward(every)
			}
			require.LessOrEqual(t, tries, 2+int(1400*time.Millisecond/every))
			require.Empty(t, b.queue())
			require.Empty(t, b.list("KEYS", "rueidisson_*{tried}"), "no key stays for it")
		})
	}
}

// A clock that is set forward ends the leases, and makes every deadline and every
// word old. A try that comes before those who wait have said anything is still
// behind them.
func TestATryIsBehindALiveQueueThoughTheClockWasSetForward(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{5 * time.Second, 2 * time.Minute, time.Hour, 24 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			b := newFaked(t)
			b.name = "forward"
			b.acquire(own(here, 9), once)
			b.acquire(x, queue)
			b.keep(there, "1")
			b.do("DEL", b.name)
			b.server.Forward(step)
			require.NotEqual(t, "0", b.acquire(a, once))
			b.keepAfter(step, there, "1")
			b.server.Forward(300 * time.Millisecond)
			require.NotEqual(t, "0", b.acquire(a, once))
			require.Equal(t, []string{x}, b.queue())
			left, err := b.do("PTTL", b.keys(4)[3]).AsInt64()
			require.NoError(t, err)
			require.LessOrEqual(t, left, int64(memoryMs), "who waits has its own memory back")
			require.Equal(t, "0", b.acquire(x, queue))
		})
	}
}

// A process that has gone may have said until when it is alive by a clock that was
// set back since. That is no word of anybody now.
func TestAWordOfAnotherClockIsNoWord(t *testing.T) {
	t.Parallel()
	const still = 2 * time.Second
	for name, ask := range map[string]func(b *bench){
		"a release": func(b *bench) { b.release(own(here, 9), a) },
		"a try":     func(b *bench) { b.do("DEL", b.name); b.acquire(own(here, 8), once) },
		"a force":   func(b *bench) { b.force(here) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := standing(t, still)
			b.do("ZADD", b.keys(4)[3], strconv.FormatInt(b.now()+3600_000, 10), "gone")
			for client, ago := range map[string]time.Duration{there: still + 400*time.Millisecond, here: still} {
				b.do("ZADD", b.keys(4)[3], strconv.FormatInt(b.now()+aliveMs-ago.Milliseconds(), 10), client)
			}
			ask(b)
			require.Equal(t, x, append(b.queue(), "nobody")[0])
			require.NotEqual(t, a, b.holder())
		})
	}
}

// Who queues first after the server stood still has said something, and that is no
// reason to take those who could not for dead: not for the next who queues, and
// not for a copy of the same request.
func TestWhoQueuesAfterAStandstillPassesNobodyOver(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"another": own(there, 3), "a copy": own(there, 2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFaked(t)
			b.name = "queued"
			b.acquire(own(here, 9), once)
			b.acquire(a, queue)
			b.server.Forward(400 * time.Millisecond)
			b.acquire(x, queue)
			b.server.Forward(time.Second)
			b.acquire(own(there, 2), queue)
			b.acquire(next, queue)
			require.Equal(t, a, b.queue()[0])
		})
	}
}
