package lock_test

import (
	"context"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// body is the text of a script of this package, or of the engine's renewal.
func body(t testing.TB, name string) string {
	t.Helper()
	file := "lua/" + name + ".lua"
	if name == "renew" {
		file = "../internal/lease/lua/renew.lua"
	}
	text, err := scripts.Read(os.DirFS(".."), path.Join("lock", file))
	require.NoError(t, err)
	return text
}

// bench is one lock name on a server, to which the scripts are sent by hand.
type bench struct {
	t    *testing.T
	raw  rueidis.Client
	name string
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, raw: redistest.Shared(t).Client(t), name: redistest.Name(t)}
}

const leaseMs = 30_000

// The scripts as the library calls them. Owners and requests are short names.
func (b *bench) acquire(owner string) string {
	return b.run("acquire", []string{b.name, b.gone(), b.queue()}, strconv.Itoa(leaseMs), owner)
}

func (b *bench) release(owner string) string {
	return b.run("release", []string{b.name}, owner, b.channel())
}

func (b *bench) giveBack(owner string) string {
	b.run("bury", []string{b.gone()}, owner, "45000")
	return b.release(owner)
}

func (b *bench) unlock(owner, request string) string {
	return b.run("unlock", []string{b.name, b.key("redisson_unlock_latch", request)}, owner, b.channel(), "publish", strconv.Itoa(leaseMs), "45000")
}

func (b *bench) export(private, exported string) string {
	return b.run("export", []string{b.name}, private, exported)
}

func (b *bench) join(owner, request string) string {
	return b.run("join", []string{b.name, b.key("rueidisson_join_latch", request)}, owner, strconv.Itoa(leaseMs), "45000")
}

// enqueue lets another wait for a fair lock of that name.
func (b *bench) enqueue(owner string) {
	b.t.Helper()
	require.NoError(b.t, b.raw.Do(context.Background(), b.raw.B().Rpush().Key(b.queue()).Element(owner).Build()).Error())
}

func (b *bench) leave(owner, request string) string {
	return b.run("leave", []string{b.name, b.key("rueidisson_join_latch", request)}, owner, b.channel(), "publish", "45000")
}

func (b *bench) renew(owner string, ms int) string {
	return b.run("renew", []string{b.name}, owner, strconv.Itoa(ms))
}

func (b *bench) key(prefix, tail string) string { return prefix + ":{" + b.name + "}:" + tail }
func (b *bench) gone() string                   { return "rueidisson_gone:{" + b.name + "}" }
func (b *bench) queue() string                  { return "redisson_lock_queue:{" + b.name + "}" }
func (b *bench) channel() string                { return "redisson_lock__channel:{" + b.name + "}" }

func (b *bench) run(script string, keys []string, args ...string) string {
	b.t.Helper()
	return redistest.Eval(b.t, b.raw, body(b.t, script), keys, args...)
}

// state is who holds the lock how often; left is its lease.
func (b *bench) state() string { return strings.Join(redistest.Fields(b.t, b.raw, b.name), " ") }

func (b *bench) left() time.Duration { return redistest.Left(b.t, b.raw, b.name) }

// TestALateSecondRunChangesNothing runs each script, lets something happen, and
// runs the script again as a send that arrives late would: the lock must stay
// as it is.
func TestALateSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.LateRuns(t, newBench, func(t *testing.T, b *bench) func() {
		return redistest.SameLock(t, leaseMs*time.Millisecond, b.state, b.left)
	}, map[string][2]func(b *bench){
		"acquire, at once": {
			func(b *bench) { b.acquire("a") },
			func(b *bench) { require.Equal(b.t, "nil", b.acquire("a")) },
		},
		"acquire, after an extend": {
			func(b *bench) { b.acquire("a"); b.renew("a", 10*leaseMs) },
			func(b *bench) { require.Equal(b.t, "nil", b.acquire("a")) },
		},
		"acquire, after an export": {
			func(b *bench) { b.acquire("a"); b.export("a", "A") },
			func(b *bench) { b.acquire("a") },
		},
		"acquire, after a join": {
			func(b *bench) { b.acquire("a"); b.export("a", "A"); b.join("A", "r") },
			func(b *bench) { b.acquire("a") },
		},
		"acquire, after it was given back": {
			func(b *bench) { b.acquire("a"); b.giveBack("a") },
			func(b *bench) { require.Equal(b.t, "-2", b.acquire("a")) },
		},
		"acquire, after it was given back before it came": {
			func(b *bench) { b.giveBack("a") },
			func(b *bench) { require.Equal(b.t, "-2", b.acquire("a")) },
		},
		"acquire, after another's acquire": {
			func(b *bench) { b.acquire("a"); b.giveBack("a"); b.acquire("b") },
			func(b *bench) { b.acquire("a") },
		},
		"acquire, after somebody queued for a fair lock": {
			func(b *bench) { b.acquire("a"); b.enqueue("c") },
			func(b *bench) { require.Equal(b.t, "nil", b.acquire("a")) },
		},
		"acquire, after it was given back and somebody queued for a fair lock": {
			func(b *bench) { b.acquire("a"); b.giveBack("a"); b.enqueue("c") },
			func(b *bench) { require.Equal(b.t, "-2", b.acquire("a")) },
		},
		"release, at once": {
			func(b *bench) { b.acquire("a"); require.Equal(b.t, "0", b.release("a")) },
			func(b *bench) { require.Equal(b.t, "-1", b.release("a")) },
		},
		"release, after another's acquire": {
			func(b *bench) { b.acquire("a"); b.release("a"); b.acquire("b") },
			func(b *bench) { require.Equal(b.t, "-1", b.release("a")) },
		},
		"give back, at once": {
			func(b *bench) { b.acquire("a"); require.Equal(b.t, "0", b.giveBack("a")) },
			func(b *bench) { require.Equal(b.t, "-1", b.giveBack("a")) },
		},
		"give back, after another's acquire": {
			func(b *bench) { b.acquire("a"); b.giveBack("a"); b.acquire("b") },
			func(b *bench) { require.Equal(b.t, "-1", b.giveBack("a")) },
		},
		"unlock, at once": {
			func(b *bench) { b.acquire("A"); b.join("A", "r"); require.Equal(b.t, "0,0", b.unlock("A", "u")) },
			func(b *bench) { require.Equal(b.t, "0,0", b.unlock("A", "u")) },
		},
		"unlock, after another join": {
			func(b *bench) { b.acquire("A"); b.join("A", "r"); b.unlock("A", "u"); b.join("A", "s") },
			func(b *bench) { b.unlock("A", "u") },
		},
		"unlock, after the last level": {
			func(b *bench) { b.acquire("A"); require.Equal(b.t, "1,0", b.unlock("A", "u")) },
			func(b *bench) { require.Equal(b.t, "1,0", b.unlock("A", "u")) },
		},
		"unlock, after another's acquire": {
			func(b *bench) { b.acquire("A"); b.unlock("A", "u"); b.acquire("b") },
			func(b *bench) { b.unlock("A", "u") },
		},
		"unlock of nothing": {
			func(b *bench) { require.Equal(b.t, "nil", b.unlock("A", "u")); b.acquire("b") },
			func(b *bench) { require.Equal(b.t, "nil", b.unlock("A", "u")) },
		},
		"export, at once": {
			func(b *bench) { b.acquire("a"); require.Equal(b.t, "1", b.export("a", "A")) },
			func(b *bench) { require.Equal(b.t, "1", b.export("a", "A")) },
		},
		"export, after an extend": {
			func(b *bench) { b.acquire("a"); b.export("a", "A"); b.renew("A", 10*leaseMs) },
			func(b *bench) { b.export("a", "A") },
		},
		"export, after a join": {
			func(b *bench) { b.acquire("a"); b.export("a", "A"); b.join("A", "r") },
			func(b *bench) { require.Equal(b.t, "1", b.export("a", "A")) },
		},
		"export, after the unlock": {
			func(b *bench) { b.acquire("a"); b.export("a", "A"); b.unlock("A", "u") },
			func(b *bench) { require.Equal(b.t, "0", b.export("a", "A")) },
		},
		"export, after another's acquire": {
			func(b *bench) { b.acquire("a"); b.export("a", "A"); b.unlock("A", "u"); b.acquire("b") },
			func(b *bench) { require.Equal(b.t, "0", b.export("a", "A")) },
		},
		"join, at once": {
			func(b *bench) { b.acquire("A"); require.Equal(b.t, "1", b.join("A", "r")) },
			func(b *bench) { require.Equal(b.t, "1", b.join("A", "r")) },
		},
		"join, after the unlock of its level": {
			func(b *bench) { b.acquire("A"); b.join("A", "r"); b.unlock("A", "u") },
			func(b *bench) { b.join("A", "r") },
		},
		"join, after it was taken back": {
			func(b *bench) { b.acquire("A"); b.join("A", "r"); require.Equal(b.t, "1", b.leave("A", "r")) },
			func(b *bench) { require.Equal(b.t, "0", b.join("A", "r")) },
		},
		"join, after it was taken back before it came": {
			func(b *bench) { b.acquire("A"); require.Equal(b.t, "0", b.leave("A", "r")) },
			func(b *bench) { require.Equal(b.t, "0", b.join("A", "r")) },
		},
		"join, after another's acquire": {
			func(b *bench) {
				b.acquire("A")
				b.join("A", "r")
				b.unlock("A", "u")
				b.unlock("A", "v")
				b.acquire("b")
			},
			func(b *bench) { b.join("A", "r") },
		},
		"leave, at once": {
			func(b *bench) { b.acquire("A"); b.join("A", "r"); b.leave("A", "r") },
			func(b *bench) { require.Equal(b.t, "0", b.leave("A", "r")) },
		},
		"leave, after another's acquire": {
			func(b *bench) {
				b.acquire("A")
				b.join("A", "r")
				b.leave("A", "r")
				b.unlock("A", "u")
				b.acquire("b")
			},
			func(b *bench) { b.leave("A", "r") },
		},
		"renew, after a longer extend": {
			func(b *bench) { b.acquire("a"); b.renew("a", leaseMs); b.renew("a", 10*leaseMs) },
			func(b *bench) { require.Equal(b.t, "1", b.renew("a", leaseMs)) },
		},
		"renew, after the release": {
			func(b *bench) { b.acquire("a"); b.renew("a", leaseMs); b.release("a") },
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", leaseMs)) },
		},
		"renew, after an export": {
			func(b *bench) { b.acquire("a"); b.renew("a", leaseMs); b.export("a", "A") },
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", 10*leaseMs)) },
		},
		"renew, after another's acquire": {
			func(b *bench) { b.acquire("a"); b.renew("a", leaseMs); b.release("a"); b.acquire("b") },
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", 10*leaseMs)) },
		},
	})
}

func TestScriptsNeitherShortenNorForgetALease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire("a")
	b.renew("a", 10*leaseMs)
	for _, step := range []func() string{
		func() string { return b.export("a", "A") },
		func() string { return b.join("A", "r") },
		func() string { return b.join("A", "s") },
		func() string { return b.leave("A", "s") },
		func() string { return b.unlock("A", "u") },
	} {
		step()
		require.Greater(t, b.left(), 5*leaseMs*time.Millisecond)
	}
	require.Equal(t, "A=1", b.state())
}

func TestEveryKeyThatScriptsLeaveBehindEndsWithinAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire("A")
	b.join("A", "r")
	b.unlock("A", "u")
	b.leave("A", "s")
	b.unlock("A", "v")
	b.giveBack("a")
	found, err := b.raw.Do(context.Background(), b.raw.B().Keys().Pattern("*"+b.name+"*").Build()).AsStrSlice()
	require.NoError(t, err)
	require.Len(t, found, 5, "latches of r, s, u, v, and a tombstone: %v", found)
	for _, key := range found {
		ms, err := b.raw.Do(context.Background(), b.raw.B().Pttl().Key(key).Build()).AsInt64()
		require.NoError(t, err)
		require.Positive(t, ms, key)
		require.LessOrEqual(t, ms, int64(60_000), key)
	}
}
