package rwlock_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// body is the text of a script of this package, or of those that it shares.
func body(t testing.TB, name string) string {
	t.Helper()
	file := "lua/" + name + ".lua"
	switch name {
	case "bury":
		file = "../lock/lua/bury.lua"
	case "renew_write":
		file = "../internal/lease/lua/renew.lua"
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// bench is one lock name on a server, to which the scripts are sent by hand. Two
// clients take part, c and d; owners are short names.
type bench struct {
	t    testing.TB
	raw  rueidis.Client
	name string
}

func newBench(t testing.TB) *bench {
	return &bench{t, redistest.Shared(t).Client(t), redistest.Name(t)}
}

const leaseMs = 30_000

func (b *bench) read(owner string) string { return b.readOf("c", owner, "0", leaseMs) }

func (b *bench) readOf(client, owner, waits string, ms int) string {
	return b.run("read_acquire", []string{b.name, b.gone(), b.claims(), b.mark(owner, 1), b.waiting(), b.turn()},
		strconv.Itoa(ms), owner, client, waits)
}

func (b *bench) leave(owner string) string {
	return b.run("read_release", []string{b.name, b.mark(owner, 1)}, owner, b.channel(), "publish")
}

func (b *bench) write(owner string) string { return b.writeOf("c", owner, "0") }

func (b *bench) writeOf(client, owner, claim string) string {
	return b.writeFor(client, owner, claim, "0")
}

// writeFor is that of a client whose readers wait behind the writer, or do not.
func (b *bench) writeFor(client, owner, claim, readers string) string {
	return b.run("write_acquire", []string{b.name, b.gone(), b.claims(), b.turn(), b.waiting()},
		strconv.Itoa(leaseMs), owner+":write", client, claim, readers)
}

func (b *bench) done(owner string) string { return b.doneFor(owner, "20") }

// doneFor leaves the readers that waited a turn of ms.
func (b *bench) doneFor(owner, ms string) string {
	return b.run("write_release", []string{b.name, b.waiting(), b.turn()}, owner+":write", b.channel(), "publish", ms)
}

func (b *bench) downgrade(owner, to string) string {
	return b.run("downgrade", []string{b.name, b.mark(to, 1), b.waiting(), b.turn()},
		owner+":write", to, strconv.Itoa(leaseMs), b.channel(), "publish", "20")
}

func (b *bench) bury(owner string) string {
	return b.run("bury", []string{b.gone()}, owner, "45000")
}

func (b *bench) renew(owner string, ms int) string {
	return b.run("renew", []string{b.name, b.mark(owner, 1)}, owner, strconv.Itoa(ms))
}

func (b *bench) renewMark(owner string, ms int) string {
	return b.run("mark", []string{b.mark(owner, 1)}, strconv.Itoa(ms))
}

func (b *bench) force(side, message string) string {
	return b.run("force", []string{b.name}, side, b.channel(), "publish", message)
}

func (b *bench) clear(owner string, levels int) string {
	on := []string{b.name}
	for level := range levels {
		on = append(on, b.mark(owner, level+1))
	}
	return b.run("clear", on, b.channel(), "publish", owner, strconv.Itoa(levels))
}

func (b *bench) withdraw(client string) string {
	return b.run("withdraw", []string{b.claims()}, client, b.channel(), "publish")
}

func (b *bench) mark(owner string, level int) string {
	return "{" + b.name + "}:" + owner + ":rwlock_timeout:" + strconv.Itoa(level)
}
func (b *bench) gone() string    { return "rueidisson_gone:{" + b.name + "}" }
func (b *bench) claims() string  { return "rueidisson_rw_writers:{" + b.name + "}" }
func (b *bench) waiting() string { return "rueidisson_rw_readers:{" + b.name + "}" }
func (b *bench) turn() string    { return "rueidisson_rw_turn:{" + b.name + "}" }
func (b *bench) channel() string { return "redisson_rwlock:{" + b.name + "}" }

func (b *bench) run(script string, keys []string, args ...string) string {
	b.t.Helper()
	return b.do(b.raw.B().Eval().Script(body(b.t, script)).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
}

// cmd is a command as another program would send it.
func (b *bench) cmd(words ...string) string {
	b.t.Helper()
	return b.do(b.raw.B().Arbitrary(words...).Build())
}

func (b *bench) do(cmd rueidis.Completed) string {
	b.t.Helper()
	res := b.raw.Do(context.Background(), cmd)
	if err, is := rueidis.IsRedisErr(res.Error()); is && !err.IsNil() {
		return err.Error()
	}
	return redistest.Show(b.t, res)
}

// state is who holds the lock how, and whose own keys stand.
func (b *bench) state() string {
	b.t.Helper()
	parts := redistest.Fields(b.t, b.raw, b.name)
	marks, err := b.raw.Do(context.Background(), b.raw.B().Keys().Pattern("{"+b.name+"}:*").Build()).AsStrSlice()
	require.NoError(b.t, err)
	for _, mark := range marks {
		parts = append(parts, strings.TrimPrefix(mark, "{"+b.name+"}:"))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func (b *bench) left(key string) time.Duration { return redistest.Left(b.t, b.raw, key) }

// TestALateSecondRunChangesNothing runs each script, lets something happen, and
// runs the script again as a send that arrives late would: the lock must stay as
// it is.
func TestALateSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *bench { return newBench(t) }
	redistest.LateRuns(t, start, func(t *testing.T, b *bench) func() {
		return redistest.SameLock(t, leaseMs*time.Millisecond, b.state, func() time.Duration { return b.left(b.name) })
	}, map[string][2]func(b *bench){
		"read acquire, at once": {
			func(b *bench) { require.Equal(b.t, "nil", b.read("a")) },
			func(b *bench) { require.Equal(b.t, "nil", b.read("a")) },
		},
		"read acquire, beside others": {
			func(b *bench) { b.read("a"); b.read("b") },
			func(b *bench) { require.Equal(b.t, "nil", b.read("a")) },
		},
		"read acquire, after a renewal": {
			func(b *bench) { b.read("a"); b.renew("a", 10*leaseMs) },
			func(b *bench) { require.Equal(b.t, "nil", b.read("a")) },
		},
		"read acquire, after it was given back": {
			func(b *bench) { b.read("a"); b.bury("a"); b.leave("a") },
			func(b *bench) { require.Equal(b.t, "-2", b.read("a")) },
		},
		"read acquire, after it was given back beside others": {
			func(b *bench) { b.read("b"); b.read("a"); b.bury("a"); b.leave("a") },
			func(b *bench) { require.Equal(b.t, "-2", b.read("a")) },
		},
		"read acquire, after it was given back before it came": {
			func(b *bench) { b.bury("a"); b.leave("a") },
			func(b *bench) { require.Equal(b.t, "-2", b.read("a")) },
		},
		"read acquire, after a writer's": {
			func(b *bench) { b.read("a"); b.leave("a"); b.write("w") },
			func(b *bench) { b.read("a") },
		},
		"read release, at once": {
			func(b *bench) { b.read("a"); require.Equal(b.t, "0", b.leave("a")) },
			func(b *bench) { require.Equal(b.t, "-1", b.leave("a")) },
		},
		"read release, beside others": {
			func(b *bench) { b.read("a"); b.read("b"); require.Equal(b.t, "0", b.leave("a")) },
			func(b *bench) { require.Equal(b.t, "-1", b.leave("a")) },
		},
		"read release, after a writer's acquire": {
			func(b *bench) { b.read("a"); b.leave("a"); b.write("w") },
			func(b *bench) { require.Equal(b.t, "-1", b.leave("a")) },
		},
		"write acquire, at once": {
			func(b *bench) { require.Equal(b.t, "nil", b.write("w")) },
			func(b *bench) { require.Equal(b.t, "nil", b.write("w")) },
		},
		"write acquire, after it was given back": {
			func(b *bench) { b.write("w"); b.bury("w:write"); b.done("w") },
			func(b *bench) { require.Equal(b.t, "-2", b.write("w")) },
		},
		"write acquire, after it was given back before it came": {
			func(b *bench) { b.bury("w:write"); b.done("w") },
			func(b *bench) { require.Equal(b.t, "-2", b.write("w")) },
		},
		"write acquire, after a reader's": {
			func(b *bench) { b.write("w"); b.done("w"); b.read("a") },
			func(b *bench) { b.write("w") },
		},
		"write release, at once": {
			func(b *bench) { b.write("w"); require.Equal(b.t, "0", b.done("w")) },
			func(b *bench) { require.Equal(b.t, "-1", b.done("w")) },
		},
		"write release, after another's acquire": {
			func(b *bench) { b.write("w"); b.done("w"); b.write("v") },
			func(b *bench) { require.Equal(b.t, "-1", b.done("w")) },
		},
		"write release, after a downgrade": {
			func(b *bench) { b.write("w"); b.downgrade("w", "a") },
			func(b *bench) { require.Equal(b.t, "-1", b.done("w")) },
		},
		"downgrade, at once": {
			func(b *bench) { b.write("w"); require.Equal(b.t, "0", b.downgrade("w", "a")) },
			func(b *bench) { require.Equal(b.t, "0", b.downgrade("w", "a")) },
		},
		"downgrade, after the reader has gone": {
			func(b *bench) { b.write("w"); b.downgrade("w", "a"); b.leave("a") },
			func(b *bench) { require.Equal(b.t, "-1", b.downgrade("w", "a")) },
		},
		"downgrade, after the reader has gone and others read": {
			func(b *bench) { b.write("w"); b.downgrade("w", "a"); b.read("b"); b.leave("a") },
			func(b *bench) { require.Equal(b.t, "-1", b.downgrade("w", "a")) },
		},
		"downgrade, after another's acquire": {
			func(b *bench) { b.write("w"); b.downgrade("w", "a"); b.leave("a"); b.write("v") },
			func(b *bench) { require.Equal(b.t, "-1", b.downgrade("w", "a")) },
		},
		"downgrade, after the release of the write hold": {
			func(b *bench) { b.write("w"); b.done("w") },
			func(b *bench) { require.Equal(b.t, "-1", b.downgrade("w", "a")) },
		},
		"renew, after a longer one": {
			func(b *bench) { b.read("a"); b.renew("a", 10*leaseMs) },
			func(b *bench) { require.Equal(b.t, "1", b.renew("a", leaseMs)) },
		},
		"renew, after the release": {
			func(b *bench) { b.read("a"); b.leave("a") },
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", leaseMs)) },
		},
		"renew, after the release, beside others": {
			func(b *bench) { b.read("b"); b.read("a"); b.leave("a") },
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", 10*leaseMs)) },
		},
		"mark, after a longer one": {
			func(b *bench) { b.read("a"); b.renew("a", 10*leaseMs) },
			func(b *bench) { require.Equal(b.t, "1", b.renewMark("a", leaseMs)) },
		},
		"clear, after the reader is gone": {
			func(b *bench) { b.read("a"); b.leave("a"); b.read("b") },
			func(b *bench) { require.Equal(b.t, "0", b.clear("a", 1)) },
		},
		"clear, of a reader that has another level now": {
			func(b *bench) { b.read("a"); b.cmd("HINCRBY", b.name, "a", "1"); b.cmd("DEL", b.mark("a", 1)) },
			func(b *bench) { require.Equal(b.t, "0", b.clear("a", 1)) },
		},
		"clear, while somebody writes": {
			func(b *bench) { b.write("w") },
			func(b *bench) { require.Equal(b.t, "0", b.clear("w:write", 1)) },
		},
		"withdraw, at once": {
			func(b *bench) { b.write("v"); b.writeOf("c", "w", "1000"); require.Equal(b.t, "1", b.withdraw("c")) },
			func(b *bench) { require.Equal(b.t, "0", b.withdraw("c")) },
		},
	})
}

func TestLeasesOfReadersOnlyGrow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.readOf("c", "a", "0", 10*leaseMs)
	b.read("b")
	require.Greater(t, b.left(b.name), 5*leaseMs*time.Millisecond)
	b.leave("b")
	b.renew("a", leaseMs)
	require.Greater(t, b.left(b.name), 5*leaseMs*time.Millisecond)
	require.Greater(t, b.left(b.mark("a", 1)), 5*leaseMs*time.Millisecond)
	require.Equal(t, "a:rwlock_timeout:1 a=1 mode=read", b.state())
}

// Another library's renewal sets the name's time to live, also if that shortens
// it, and a server that evicts may drop a reader's own key.
func TestARenewalPutsBackWhatOthersTook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.read("a")
	b.cmd("PEXPIRE", b.name, "1000")
	b.cmd("DEL", b.mark("a", 1))
	require.Equal(t, "1", b.renew("a", leaseMs))
	require.Greater(t, b.left(b.name), leaseMs/2*time.Millisecond)
	require.Greater(t, b.left(b.mark("a", 1)), leaseMs/2*time.Millisecond)
	require.LessOrEqual(t, b.left(b.name), leaseMs*time.Millisecond)
}

func TestAReaderWhoseOwnKeysAreGoneIsDropped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.read("a")
	b.read("b")
	b.cmd("DEL", b.mark("a", 1))
	require.Equal(t, "0", b.clear("b", 1))
	require.Equal(t, "1", b.clear("a", 1))
	require.Equal(t, "b:rwlock_timeout:1 b=1 mode=read", b.state())
	b.cmd("DEL", b.mark("b", 1))
	require.Equal(t, "1", b.clear("b", 1))
	require.Empty(t, b.state())
	require.Equal(t, "nil", b.write("w"))
}

func TestAClaimHoldsReadersBackUntilItEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.read("a")
	require.NotEqual(t, "nil", b.writeOf("d", "w", "300"))
	left, err := strconv.Atoi(b.readOf("c", "b", "1", leaseMs))
	require.NoError(t, err)
	require.Positive(t, left)
	require.LessOrEqual(t, left, 300)
	require.Eventually(t, func() bool { return b.readOf("c", "b", "1", leaseMs) == "nil" }, redistest.Soon, 10*time.Millisecond)
}

// Those who waited during a write go first after it, once, also before claims;
// their writers wait meanwhile.
func TestReadersThatWaitedGoFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("v")
	require.Positive(t, len(b.readOf("c", "a", "1", leaseMs)))
	b.writeOf("d", "w", "1000")
	require.Equal(t, "0", b.doneFor("v", "1000")) // the longest turn that counts
	require.NotEqual(t, "nil", b.writeOf("d", "w", "1000"), "readers have their turn")
	require.NotEqual(t, "nil", b.readOf("e", "x", "1", leaseMs), "one that has not waited has none")
	require.Equal(t, "-3", b.readOf("c", "a", "1", leaseMs), "and a writer waits")
	require.NotEqual(t, "nil", b.readOf("c", "b", "1", leaseMs), "once")
	require.Equal(t, "0", b.leave("a"))
	require.Equal(t, "nil", b.writeOf("d", "w", "1000"))
	require.Equal(t, "0", b.cmd("EXISTS", b.claims()), "with the lock the claim is gone")
}

// A writer speaks for the readers of its process that are behind it, and lets
// them go first if the turn is theirs. If they have gone, the turn is over.
func TestAWriterSpeaksForReadersBehindIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("v")
	require.NotEqual(t, "nil", b.writeFor("d", "w", "0", "1"))
	require.Equal(t, "d", b.cmd("ZRANGE", b.waiting(), "0", "-1"))
	require.Equal(t, "0", b.doneFor("v", "1000")) // the longest turn that counts
	for range 2 {
		require.NotEqual(t, "nil", b.writeFor("d", "w", "0", "1"), "its readers have their turn")
	}
	require.Equal(t, "0", b.cmd("EXISTS", b.name))
	require.Equal(t, "0", b.cmd("EXISTS", b.waiting()), "they are told so, and need not say it again")
	require.NotEqual(t, "nil", b.writeFor("e", "x", "0", "1"), "another's writer waits, and speaks for its own")
	require.Equal(t, "e", b.cmd("ZRANGE", b.waiting(), "0", "-1"))
	require.Equal(t, "nil", b.readOf("d", "a", "1", leaseMs))
	require.Equal(t, "0", b.cmd("EXISTS", b.turn()))
	b.leave("a")

	b.cmd("ZADD", b.turn(), "0", "d")
	require.Equal(t, "nil", b.writeFor("d", "w", "0", "0"), "they have gone")
	require.Equal(t, "0", b.cmd("EXISTS", b.turn()))
}

func TestEveryKeyThatScriptsLeaveBehindEndsWithinAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("v")
	b.writeOf("d", "w", "1000")
	b.readOf("c", "a", "1", leaseMs)
	b.done("v")
	b.write("v")
	b.readOf("c", "a", "1", leaseMs)
	b.bury("v:write")
	b.done("v")
	b.read("x")
	b.force("read", "0")
	found, err := b.raw.Do(context.Background(), b.raw.B().Keys().Pattern("*"+b.name+"*").Build()).AsStrSlice()
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for _, key := range found {
		ms, err := b.raw.Do(context.Background(), b.raw.B().Pttl().Key(key).Build()).AsInt64()
		require.NoError(t, err)
		require.True(t, ms == -2 || ms > 0 && ms <= 60_000, "%s: %d", key, ms)
	}
}

func TestALockOfAnotherFamilyIsLeftAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cmd("HSET", b.name, "another", "1")
	for _, said := range []string{b.read("a"), b.write("w"), b.force("read", "0"), b.force("write", "1")} {
		require.Contains(t, said, "FAMILY lock")
	}
	require.Equal(t, "another=1", b.state())
}
