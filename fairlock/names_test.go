package fairlock_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

const manyNames = 500

var namesChildren = redistest.Children{"names": names}

func nameOf(base string, i int) string { return base + "-" + strconv.Itoa(i) }

// names is a process that waits for very many locks at once, and says "waits" when
// it begins to. When it hears "leave" it gives up, and does the same for others, twice;
// then it says how many bytes are left of each of these.
func names(p *redistest.Parent) {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{os.Getenv("FAIR_ADDR")}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		p.Say("failed: %v", err)
		os.Exit(1)
	}
	waitsForAll(p, c, os.Getenv("FAIR_NAME")+"0")
	before := leastInUse(2*time.Second, 0)
	for i := 1; i < rounds; i++ {
		waitsForAll(p, c, os.Getenv("FAIR_NAME")+strconv.Itoa(i))
	}
	const of = manyNames * (rounds - 1)
	p.Say("left %d", (leastInUse(4*soon, before+of*leastLeft)-before)/of)
	p.Hear()
}

const (
	rounds    = 3
	leastLeft = 200 // bytes of a name that are nothing: what is in use goes up and down by as much
)

func waitsForAll(p *redistest.Parent, c *rueidisson.Client, base string) {
	ctx, leave := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range manyNames {
		all.Go(func() { _, _ = c.FairLock(nameOf(base, i)).Lock(ctx) }) // ends with ctx
	}
	p.Say("waits")
	p.Hear()
	leave()
	all.Wait()
}

// leastInUse looks for so long, or until it is no more than enough: subscriptions
// linger for a second, and what was left behind takes a busy machine much longer.
func leastInUse(d time.Duration, enough int) int {
	least := int(inUse())
	for until := time.Now().Add(d); least > enough && time.Now().Before(until); {
		time.Sleep(200 * time.Millisecond)
		least = min(least, int(inUse()))
	}
	return least
}

// holdAll lets another library's thread hold all names for a minute.
func holdAll(t testing.TB, raw rueidis.Client, base string) {
	t.Helper()
	var cmds rueidis.Commands
	for i := range manyNames {
		cmds = append(cmds,
			raw.B().Hset().Key(nameOf(base, i)).FieldValue().FieldValue("99999999-9999-4999-8999-999999999999:1", "1").Build(),
			raw.B().Pexpire().Key(nameOf(base, i)).Milliseconds(60_000).Build())
	}
	for _, res := range raw.DoMulti(context.Background(), cmds...) {
		require.NoError(t, res.Error())
	}
}

func keysLike(t testing.TB, raw rueidis.Client, pattern string) []string {
	t.Helper()
	found, err := raw.Do(context.Background(), raw.B().Keys().Pattern(pattern).Build()).AsStrSlice()
	require.NoError(t, err)
	return found
}

func awaitQueues(t testing.TB, raw rueidis.Client, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		found, err := raw.Do(context.Background(), raw.B().Keys().Pattern("redisson_lock_queue:*").Build()).AsStrSlice()
		return err == nil && len(found) == n
	}, soon, 20*time.Millisecond)
}

// Whoever has waited for very many names and does no more keeps nothing of them,
// and neither does the server.
func TestNamesThatNobodyWaitsForAnyMoreTakeNothing(t *testing.T) {
	t.Parallel()
	server, base := redistest.Start(t), redistest.Name(t)
	raw := server.Client(t)
	for i := range rounds {
		holdAll(t, raw, base+strconv.Itoa(i))
	}
	child := redistest.StartChild(t, "names", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+base)
	for range rounds {
		child.Await("waits")
		awaitQueues(t, raw, manyNames)
		child.Send("leave")
	}
	line, _ := child.AwaitFor("left", 5*soon) // longer than the child looks, so that it says what is left
	left, err := strconv.Atoi(strings.TrimPrefix(line, "left "))
	require.NoError(t, err)
	require.LessOrEqual(t, left, leastLeft, "bytes of each name")
	child.CloseInput()
	awaitQueues(t, raw, 0)
	require.Eventually(t, func() bool {
		found, err := raw.Do(context.Background(), raw.B().Keys().Pattern("r*_[lf]*:*").Build()).AsStrSlice()
		return err == nil && len(found) == 0 // but for tombstones of those who left while something was on its way
	}, soon, 50*time.Millisecond)
}

// The queues of a process that was killed stay, at some hundred bytes each, until
// somebody asks for the lock: who does has it soon.
func TestDeadQueuesAreSmallAndKeepNobody(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 10*time.Second, func() time.Duration { // 1.4 s, in which the dead might have said something
		server, base := redistest.Start(t), redistest.Name(t)+"0" // in the child's first round
		raw := server.Client(t)
		holdAll(t, raw, base)
		child := redistest.StartChild(t, "names", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+strings.TrimSuffix(base, "0"))
		child.Await("waits")
		awaitQueues(t, raw, manyNames)
		child.Kill()
		for i := range manyNames {
			raw.Do(t.Context(), raw.B().Del().Key(nameOf(base, i)).Build())
		}
		require.Eventually(t, func() bool { // the living are forgotten after a moment
			found, err := raw.Do(context.Background(), raw.B().Keys().Pattern("rueidisson_*").Build()).AsStrSlice()
			return err == nil && len(found) == 0
		}, soon, 50*time.Millisecond)
		bytes := int64(0)
		for _, key := range keysLike(t, raw, "redisson_lock_*:{"+nameOf(base, 7)+"}") {
			n, err := raw.Do(t.Context(), raw.B().MemoryUsage().Key(key).Build()).AsInt64()
			require.NoError(t, err)
			bytes += n
		}
		require.Positive(t, bytes)
		require.Less(t, bytes, int64(700))

		l := locktest.Open(t, server.Addr()).FairLock(nameOf(base, 7))
		began := time.Now()
		locktest.Unlock(t, locktest.Take(t, l))
		took := time.Since(began)
		require.Empty(t, keysLike(t, raw, "redisson_lock_*:{"+nameOf(base, 7)+"}"))
		return took
	})
}
