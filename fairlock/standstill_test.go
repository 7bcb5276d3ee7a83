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
	for _, every := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 20 * time.Second} {
		t.Run(every.String(), func(t *testing.T) {
			t.Parallel()
			b := newFaked(t)
			b.name = "tried"
			b.acquire(own(there, 9), once)
			b.acquire(x, queue)
			b.do("DEL", b.name)
			b.server.Forward(time.Minute)
			for took := time.Duration(0); b.acquire(a, once) != "0"; took += every {
				require.Less(t, took, 90*time.Second)
				b.server.Forward(every)
			}
		})
	}
}
