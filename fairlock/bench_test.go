package fairlock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

const (
	leaseMs = 30_000
	slackMs = 10_000
	aliveMs = 1_400

	here  = "11111111-1111-4111-8111-111111111111" // clients of ours
	there = "22222222-2222-4222-8222-222222222222"
	java  = "99999999-9999-4999-8999-999999999999" // one of Redisson's
)

// own is the n-th owner of a client of ours.
func own(client string, n int) string { return fmt.Sprintf("%s:%d", client, int64(1)<<62+int64(n)) }

// thread is an owner of Redisson's.
func thread(n int) string { return fmt.Sprintf("%s:%d", java, n) }

// bench is one lock name on a server, to which the scripts are sent by hand.
type bench struct {
	t      require.TestingT
	raw    rueidis.Client
	name   string
	counts string // whether a message that nobody hears proves something
	deaf   bool   // whether those that say they are alive do not listen
	slots  bool   // whether it is a cluster
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{t: t, raw: redistest.Shared(t).Client(t), name: redistest.Name(t), counts: "0"}
}

// keys are the lock's first n.
func (b *bench) keys(n int) []string {
	return []string{b.name, keys.FairQueue(b.name), keys.FairDeadlines(b.name), keys.FairAlive(b.name), keys.Tombstones(b.name)}[:n]
}

func (b *bench) telling() []string {
	publish := "publish"
	if b.counts == "2" {
		publish = "spublish"
	}
	return []string{publish, b.counts, keys.LockChannel(b.name), keys.FairTurns(b.name)}
}

func (b *bench) acquire(owner, mode string) string {
	args := []string{strconv.Itoa(leaseMs), owner, mode, strconv.Itoa(aliveMs), strconv.Itoa(slackMs)}
	if b.slots {
		args = append(args, b.counts, keys.FairTurns(b.name)+":"+owner[:clientLength])
	}
	return unclocked(b.run(acquireScript, b.keys(5), args...), 2)
}

// unclocked is a reply without what it says of the server's clock.
func unclocked(reply string, at int) string {
	parts := strings.Split(reply, ",")
	if len(parts) <= at {
		return reply
	}
	return strings.Join(slices.Delete(parts, at, at+1), ",")
}

func (b *bench) acquireFenced(owner, mode string) string {
	return b.run(acquireScript, append(b.keys(5), keys.LockToken(b.name)), strconv.Itoa(leaseMs), owner, mode, strconv.Itoa(aliveMs), strconv.Itoa(slackMs), "0")
}

// release offers the lock to candidates.
func (b *bench) release(owner string, candidates ...string) string {
	return b.run(releaseScript, b.keys(4), b.releasing(owner, candidates)...)
}

func (b *bench) releaseFenced(owner string, candidates ...string) string {
	args := b.releasing(owner, candidates)
	return b.run(releaseScript, append(b.keys(4), keys.LockToken(b.name)), slices.Insert(args, len(args)-2*len(candidates), "0")...)
}

func (b *bench) releasing(owner string, candidates []string) []string {
	args := append(append([]string{owner}, b.telling()...), strconv.Itoa(aliveMs))
	for _, c := range candidates {
		args = append(args, c, strconv.Itoa(leaseMs))
	}
	return args
}

func (b *bench) leave(owner, way string) string {
	args := append(append([]string{owner, way}, b.telling()...), strconv.Itoa(aliveMs), "45000")
	return b.run(leaveScript, b.keys(5), args...)
}

func (b *bench) keep(client, walk string, lost ...string) string {
	return b.keepAfter(0, client, walk, lost...)
}

// keepAfter is a keep that was on its way for so long, or, if that is 0, for no
// time at all, however slow the machine is.
func (b *bench) keepAfter(on time.Duration, client, walk string, lost ...string) string {
	if on == 0 {
		on = -time.Minute
	}
	args := append(append([]string{client, strconv.Itoa(aliveMs), strconv.Itoa(slackMs)}, b.telling()...), flag(!b.deaf), walk)
	args = append(args, strconv.FormatInt(b.now()-on.Milliseconds(), 10))
	return unclocked(b.run(keepScript, append(b.keys(5), keys.FairIdle(b.name)), append(args, lost...)...), 4)
}

func (b *bench) force(client string) string {
	return b.run(forceScript, b.keys(4), append(append([]string{client}, b.telling()...), strconv.Itoa(aliveMs))...)
}

func (b *bench) run(s *scripts.Script, keys []string, args ...string) string {
	require.NoError(b.t, s.Header().Check(len(keys), len(args)), s.Name)
	return redistest.Show(b.t, s.Exec(context.Background(), b.raw, keys, args))
}

func (b *bench) do(args ...string) rueidis.RedisResult {
	return b.raw.Do(context.Background(), b.raw.B().Arbitrary(args[0]).Args(args[1:]...).Build())
}

func (b *bench) list(args ...string) []string {
	list, err := b.do(args...).AsStrSlice()
	require.NoError(b.t, err)
	return list
}

func (b *bench) queue() []string { return b.list("LRANGE", b.keys(2)[1], "0", "-1") }

func (b *bench) holder() string { return strings.Join(b.list("HKEYS", b.name), " and ") }

// state is who holds the lock how often, who is queued, and whose deadline is
// kept.
func (b *bench) state() string {
	fields, err := b.do("HGETALL", b.name).AsStrMap()
	require.NoError(b.t, err)
	deadlines := b.list("ZRANGE", b.keys(3)[2], "0", "-1")
	slices.Sort(deadlines)
	return fmt.Sprintf("held %v, queued %v, deadlines %v", fields, b.queue(), deadlines)
}

// deadline is when Redisson may drop a waiter, from now on; negative if it has
// none.
func (b *bench) deadline(owner string) time.Duration {
	score, err := b.do("ZSCORE", b.keys(3)[2], owner).AsFloat64()
	if rueidis.IsRedisNil(err) {
		return -1
	}
	require.NoError(b.t, err)
	return time.Duration(int64(score)-b.now()) * time.Millisecond
}

// now is the server's clock.
func (b *bench) now() int64 {
	t := b.list("TIME")
	sec, _ := strconv.ParseInt(t[0], 10, 64)
	micro, _ := strconv.ParseInt(t[1], 10, 64)
	return sec*1000 + micro/1000
}

func (b *bench) left() time.Duration { return redistest.Left(b.t, b.raw, b.name) }
