package multilock_test

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

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// bench is one group on a server, to which the scripts are sent by hand.
type bench struct {
	t    *testing.T
	raw  rueidis.Client
	name string
	now  int64 // the time of the clients, ms
}

const leaseMs = 30_000

func newBench(t *testing.T) *bench {
	return &bench{t, redistest.Shared(t).Client(t), redistest.Name(t), time.Now().UnixMilli()}
}

// The scripts as the library calls them. Owners and values are short names, and
// so are the fields.
func (b *bench) acquire(owner string, values ...string) string {
	args := append([]string{strconv.Itoa(leaseMs), owner, b.time()}, values...)
	return b.run("group_acquire", []string{b.name, keys.Tombstones(b.name)}, args...)
}

func (b *bench) release(owner string, values ...string) string {
	return b.run("group_release", []string{b.name}, append([]string{owner, keys.LockChannel(b.name), "publish", keys.GroupChannel(b.name)}, values...)...)
}

func (b *bench) giveBack(owner string, values ...string) string {
	b.bury(owner)
	return b.release(owner, values...)
}

func (b *bench) bury(owner string) string {
	return b.run("bury", []string{keys.Tombstones(b.name)}, owner, "45000")
}

func (b *bench) renew(owner string, ms int, values ...string) string {
	args := append([]string{owner, strconv.Itoa(ms), b.time(), strconv.Itoa(len(values))}, values...)
	return b.run("group_renew", []string{b.name}, args...)
}

// passes is what the clocks of the clients go on by.
func (b *bench) passes(ms int64) { b.now += ms }

func (b *bench) time() string { return strconv.FormatInt(b.now, 10) }

func (b *bench) run(script string, on []string, args ...string) string {
	b.t.Helper()
	body, err := os.ReadFile("lua/" + script + ".lua")
	require.NoError(b.t, err)
	answer := redistest.Eval(b.t, b.raw, string(body), on, args...)
	require.NotContains(b.t, answer, ",")
	return answer
}

// state is the group, and which owners have a tombstone.
func (b *bench) state() string {
	b.t.Helper()
	buried, err := b.raw.Do(context.Background(), b.raw.B().Zrange().Key(keys.Tombstones(b.name)).Min("0").Max("-1").Build()).AsStrSlice()
	require.NoError(b.t, err)
	slices.Sort(buried)
	return strings.Join(redistest.Fields(b.t, b.raw, b.name), " ") + " | " + strings.Join(buried, " ")
}

// left is the time to live of the group.
func (b *bench) left() time.Duration { return redistest.Left(b.t, b.raw, b.name) }

// Each script runs, something happens, and the script runs again as a send that
// was under way for all the while would, with the time that it was sent with:
// the group must stay as it is.
func TestALateSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.LateRuns(t, newBench, func(t *testing.T, b *bench) func() {
		return redistest.SameLock(t, leaseMs*time.Millisecond, b.state, b.left)
	}, map[string][2]func(b *bench){
		"acquire, at once": {
			func(b *bench) { require.Equal(b.t, "nil", b.acquire("a", "x", "y")) },
			func(b *bench) { require.Equal(b.t, "nil", b.acquire("a", "x", "y")) },
		},
		"acquire, after a renewal": {
			func(b *bench) {
				b.acquire("a", "x", "y")
				b.passes(9_000)
				b.renew("a", 10*leaseMs, "x", "y")
				b.passes(-9_000)
			},
			func(b *bench) { require.Equal(b.t, "nil", b.acquire("a", "x", "y")) },
		},
		"acquire, after it was given back": {
			func(b *bench) { b.acquire("a", "x", "y"); b.giveBack("a", "x", "y") },
			func(b *bench) { require.Equal(b.t, "-2", b.acquire("a", "x", "y")) },
		},
		"acquire, after it was given back before it came": {
			func(b *bench) { b.giveBack("a", "x", "y") },
			func(b *bench) { require.Equal(b.t, "-2", b.acquire("a", "x", "y")) },
		},
		"acquire, after it was given back and another has some of the values": {
			func(b *bench) { b.acquire("a", "x", "y"); b.giveBack("a", "x", "y"); b.acquire("b", "y", "z") },
			func(b *bench) { require.Equal(b.t, "-2", b.acquire("a", "x", "y")) },
		},
		"acquire, after its process has gone and another took some of the values over": {
			func(b *bench) {
				b.acquire("a", "x", "y")
				b.passes(leaseMs + 1)
				b.acquire("b", "y")
				b.passes(-leaseMs - 1)
			},
			func(b *bench) { require.NotEqual(b.t, "nil", b.acquire("a", "x", "y")) },
		},
		"acquire that was refused, at once": {
			func(b *bench) { b.acquire("b", "y"); require.Equal(b.t, "30000", b.acquire("a", "x", "y")) },
			func(b *bench) { require.Equal(b.t, "30000", b.acquire("a", "x", "y")) },
		},
		"acquire that was refused, after its waiter has left and the values are free": {
			func(b *bench) {
				b.acquire("b", "y")
				b.acquire("a", "x", "y")
				require.Equal(b.t, "-1", b.giveBack("a", "x", "y"))
				b.release("b", "y")
			},
			func(b *bench) { require.Equal(b.t, "-2", b.acquire("a", "x", "y")) },
		},
		"release, at once": {
			func(b *bench) { b.acquire("a", "x", "y"); require.Equal(b.t, "0", b.release("a", "x", "y")) },
			func(b *bench) { require.Equal(b.t, "-1", b.release("a", "x", "y")) },
		},
		"release, after another's acquire of some of the values": {
			func(b *bench) { b.acquire("a", "x", "y"); b.release("a", "x", "y"); b.acquire("b", "y", "z") },
			func(b *bench) { require.Equal(b.t, "-1", b.release("a", "x", "y")) },
		},
		"release, after its process has gone and another took over": {
			func(b *bench) {
				b.acquire("a", "x", "y")
				b.passes(leaseMs + 1)
				b.acquire("b", "y")
				require.Equal(b.t, "-1", b.release("a", "x", "y"))
			},
			func(b *bench) { require.Equal(b.t, "-1", b.release("a", "x", "y")) },
		},
		"give back, at once": {
			func(b *bench) { b.acquire("a", "x", "y"); require.Equal(b.t, "0", b.giveBack("a", "x", "y")) },
			func(b *bench) { require.Equal(b.t, "-1", b.giveBack("a", "x", "y")) },
		},
		"give back, after another's acquire": {
			func(b *bench) { b.acquire("a", "x", "y"); b.giveBack("a", "x", "y"); b.acquire("b", "x") },
			func(b *bench) { require.Equal(b.t, "-1", b.giveBack("a", "x", "y")) },
		},
		"the tombstone of a give-back, beside those of others": {
			func(b *bench) { b.bury("a"); b.bury("c"); b.acquire("b", "x") },
			func(b *bench) { require.Equal(b.t, "1", b.bury("a")) },
		},
		"renew, at once": {
			func(b *bench) { b.acquire("a", "x", "y"); require.Equal(b.t, "1", b.renew("a", leaseMs, "x", "y")) },
			func(b *bench) { require.Equal(b.t, "1", b.renew("a", leaseMs, "x", "y")) },
		},
		"renew, after a longer extend": {
			func(b *bench) { b.acquire("a", "x"); b.renew("a", leaseMs, "x"); b.renew("a", 10*leaseMs, "x") },
			func(b *bench) { require.Equal(b.t, "1", b.renew("a", leaseMs, "x")) },
		},
		"renew, after a later one": {
			func(b *bench) { b.acquire("a", "x"); b.passes(9_000); b.renew("a", leaseMs, "x"); b.passes(-9_000) },
			func(b *bench) { require.Equal(b.t, "1", b.renew("a", leaseMs, "x")) },
		},
		"renew, after the release": {
			func(b *bench) { b.acquire("a", "x", "y"); b.renew("a", leaseMs, "x", "y"); b.release("a", "x", "y") },
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", leaseMs, "x", "y")) },
		},
		"renew, after another took one of the values over": {
			func(b *bench) { b.acquire("a", "x", "y"); b.passes(leaseMs + 1); b.acquire("b", "y") },
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", 10*leaseMs, "x", "y")) },
		},
		"renew, after another's acquire": {
			func(b *bench) {
				b.acquire("a", "x")
				b.renew("a", leaseMs, "x")
				b.release("a", "x")
				b.acquire("b", "x")
			},
			func(b *bench) { require.Equal(b.t, "0", b.renew("a", 10*leaseMs, "x")) },
		},
	})
}

// A group of more values than a script can pass on at once is one as any.
func TestALargeGroupIsGivenBackWhole(t *testing.T) {
	t.Parallel()
	const many = 9_000
	b := newBench(t)
	var values []string
	for i := range many {
		values = append(values, "v"+strconv.Itoa(i))
	}
	require.Equal(t, "nil", b.acquire("a", values...))
	require.Equal(t, "1", b.renew("a", leaseMs, values...))
	b.passes(leaseMs + 1)
	require.Equal(t, "nil", b.acquire("b", values...), "the holder's time is over")
	require.NotContains(t, b.state(), ":a:", "nothing of it is left")
	require.Equal(t, "0", b.release("b", values...))
	require.Equal(t, " | ", b.state())
}
