package fairlock

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func (b *bench) counter() string { return keys.LockToken(b.name) }

// refused is why a fenced acquire was.
func (b *bench) refused(owner, mode string) error {
	args := []string{strconv.Itoa(leaseMs), owner, mode, strconv.Itoa(aliveMs), strconv.Itoa(slackMs), "0"}
	return acquireScript.Exec(context.Background(), b.raw, append(b.keys(5), b.counter()), args).Error()
}

// whole is all that the scripts write, but for who is alive, which is forgotten
// soon.
func (b *bench) whole() (dumps []string) {
	for _, key := range append(b.keys(3), b.keys(5)[4], b.counter()) {
		dump, err := b.do("DUMP", key).ToString()
		if !rueidis.IsRedisNil(err) {
			require.NoError(b.t, err)
		}
		dumps = append(dumps, dump)
	}
	return dumps
}

// A counter that is none is met before anything is written: else the hold that
// was written would stand for a lease, and nobody would know of it.
func TestACounterThatIsNoneLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for title, set := range map[string][]string{
		"another type": {"RPUSH", "", "x"}, "no number": {"SET", "", "seven"}, "a fraction": {"SET", "", "7.5"},
		"beyond counting": {"SET", "", "9223372036854775807"}, "empty": {"SET", "", ""},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			spoilt := func(before func(b *bench)) *bench {
				b := newBench(t)
				before(b)
				b.do("DEL", b.counter())
				require.NoError(t, b.do(append([]string{set[0], b.counter()}, set[2:]...)...).Error())
				return b
			}
			for what, c := range map[string]struct {
				before func(b *bench)
				mode   string
			}{
				"a free lock":          {func(*bench) {}, once},
				"a free lock, queuing": {func(*bench) {}, queue},
				"a held lock":          {func(b *bench) { b.acquireFenced(x, once) }, queue},
				"its own turn": {func(b *bench) {
					b.acquireFenced(x, once)
					b.acquireFenced(a, queue)
					b.releaseFenced(x)
				}, again},
				"behind the dead": {func(b *bench) {
					b.acquireFenced(x, once)
					b.acquireFenced(own(there, 2), queue)
					b.releaseFenced(x)
					b.do("ZREM", b.keys(4)[3], there)
				}, queue},
				"its own hold": {func(b *bench) { b.acquireFenced(a, once) }, once},
			} {
				b := spoilt(c.before)
				state := b.whole()
				err := b.refused(a, c.mode)
				require.ErrorContains(t, err, b.counter(), what)
				require.Equal(t, state, b.whole(), what)
			}

			b := spoilt(func(b *bench) { b.acquireFenced(a, once); b.acquireFenced(b2, queue) })
			require.Equal(t, "0", b.releaseFenced(a, b2), "a release does not depend on it, but grants nothing")
			require.Empty(t, b.holder())
			require.Equal(t, []string{b2}, b.queue(), "whose own acquire says why")

			b = spoilt(func(b *bench) { b.acquireFenced(a, once); b.acquireFenced(b2, queue); b.releaseFenced(a, b2) })
			require.Equal(t, "-1", b.releaseFenced(a, b2), "what was granted has no number that anybody knows")
			require.Equal(t, b2, b.holder())
		})
	}
}

// The last number that a counter gives, and what comes behind it.
func TestTheCounterEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("SET", b.counter(), "8999999999999999")
	require.Equal(t, "9000000000000000", b.acquireFenced(a, once))
	b.acquireFenced(b2, queue)
	require.Equal(t, b2+",9000000000000001,1", b.releaseFenced(a, b2))
	require.Error(t, b.refused(c3, queue), "beyond, numbers could not be told apart")
	b.acquire(c3, queue)
	require.Equal(t, "0", b.releaseFenced(b2, c3))
	require.Empty(t, b.holder())
}

// A hold whose counter was evicted, and that asks again as the answer was lost,
// has a number all the same.
func TestAReplayWithoutItsCounterHasAToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := strconv.ParseInt(b.acquireFenced(a, once), 10, 64)
	require.NoError(t, err)
	b.do("DEL", b.counter())
	second, err := strconv.ParseInt(b.acquireFenced(a, once), 10, 64)
	require.NoError(t, err)
	require.Greater(t, second, first)
	b.acquireFenced(b2, queue)
	b.releaseFenced(a, b2)
	b.do("DEL", b.counter())
	require.Regexp(t, `^`+b2+`,\d{16},0$`, b.releaseFenced(a, b2))
}

// A full server refuses the first write of a script and no other: what it has
// begun it ends.
func TestAFullServerRefusesAFencedAcquireAsAWhole(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("maxmemory-policy", "noeviction"))
	b := &bench{t: t, raw: server.Client(t), name: redistest.Name(t), counts: "0"}
	full := func(bytes string) { require.NoError(t, b.do("CONFIG", "SET", "maxmemory", bytes).Error()) }
	full("1")
	require.ErrorContains(t, b.refused(a, queue), "OOM")
	full("0")
	for i, dump := range b.whole() {
		require.Empty(t, dump, "key %d", i)
	}
	b.acquireFenced(a, once)
	b.acquireFenced(b2, queue)
	full("1")
	require.Regexp(t, `^`+b2+`,\d{16},1$`, b.releaseFenced(a, b2), "a hand-over needs nothing more")
	require.Equal(t, b2, b.holder())
	require.Equal(t, "0", b.releaseFenced(b2))
	require.ErrorContains(t, b.refused(a, once), "OOM")
	require.Empty(t, b.holder())
}
