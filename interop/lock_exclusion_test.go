//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
)

const (
	contenders = 8 // threads or goroutines of each process
	lastTurn   = 30 * time.Second
	inside     = ":inside" // behind the counter's key: how many are inside the lock
)

// contest is what a process takes part in: its goroutines read the counter under the lock, add one and
// write it back until the time is over.
type contest struct {
	Addrs         []string
	Sharded       rueidisson.Sharding
	Lock, Counter string
	For           time.Duration
	Watchdog      time.Duration
	Alone         bool // every unlock is a release on the server, as it is in Java
}

// party is a process that contends. It returns the count of each thread.
type party struct {
	name string
	run  func(ctx context.Context) ([]int64, error)
}

// exclusion lets two JVMs and two Go processes contend. A moment with two holders loses an update, and
// the counter is less than the sum. In the world of an older Redisson the second JVM runs the current one.
func exclusion(t *testing.T, w *world) {
	c := w.contest(t, redistest.Span(t, 2*time.Second, 20*time.Second))
	jvms := []*peer.Peer{w.java, w.second}
	ctx := within(t)
	w.warmUp(ctx, t, jvms)
	total := compete(ctx, t, parties(t, c, jvms)...)
	w.requireNoneLost(ctx, t, c, total)
}

func (w *world) contest(t *testing.T, d time.Duration) contest {
	return contest{Addrs: w.addrs, Sharded: w.sharded, Lock: redistest.Name(t), Counter: redistest.Name(t), For: d, Watchdog: longLease}
}

// parties are two JVMs and two Go processes. Who has a short watchdog takes the lock for a long lease.
func parties(t *testing.T, c contest, jvms []*peer.Peer) []party {
	alone := c
	alone.Alone = true
	return []party{javaParty(jvms[0], c, longLease), javaParty(jvms[1], c, 0), goParty(t, c), goParty(t, alone)}
}

// requireNoneLost looks at what a contest has left, and takes it away.
func (w *world) requireNoneLost(ctx context.Context, t *testing.T, c contest, total int64) {
	t.Helper()
	counted, err := count(ctx, w.redis, c.Counter)
	require.NoError(t, err)
	require.Equal(t, total, counted, "updates were lost")
	require.False(t, w.exists(ctx, t, c.Lock))
	w.del(ctx, t, c.Counter)
	w.del(ctx, t, c.Counter+inside)
}

// warmUp has the JVMs contend with each other, so that they do not spend the contest loading classes.
func (w *world) warmUp(ctx context.Context, t *testing.T, jvms []*peer.Peer) {
	t.Helper()
	c := contest{Lock: redistest.Name(t), Counter: redistest.Name(t), For: 500 * time.Millisecond}
	require.NoError(t, together(len(jvms), func(i int) error {
		_, err := javaParty(jvms[i], c, longLease).run(ctx)
		return err
	}))
	w.del(ctx, t, c.Counter)
	w.del(ctx, t, c.Counter+inside)
}

// compete runs all at once and returns what they added. Nobody may go away empty-handed.
func compete(ctx context.Context, t *testing.T, parties ...party) (total int64) {
	t.Helper()
	counts := make([][]int64, len(parties))
	require.NoError(t, together(len(parties), func(i int) (err error) {
		counts[i], err = parties[i].run(ctx)
		return err
	}))
	for i, p := range parties {
		share := sum(counts[i])
		t.Logf("%s: %d %v", p.name, share, counts[i])
		require.Positive(t, share, p.name)
		total += share
	}
	return total
}

// together runs do for 0 to n-1 at once.
func together(n int, do func(i int) error) error {
	var group sync.WaitGroup
	failed := make([]error, n)
	for i := range n {
		group.Go(func() { failed[i] = do(i) })
	}
	group.Wait()
	return errors.Join(failed...)
}

func sum(counts []int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

func javaParty(java *peer.Peer, c contest, lease time.Duration) party {
	run := func(ctx context.Context) ([]int64, error) {
		done, err := java.Lock("contest", c.Lock).Contend(ctx, c.Counter, contenders, c.For, lease)
		return done.Threads, err
	}
	return party{"Redisson " + java.Version(), run}
}

// goParty starts the process, and has it contend when the others do.
func goParty(t *testing.T, c contest) party {
	child := startChild(t, "contender", c)
	run := func(context.Context) (counts []int64, err error) {
		child.Send("go")
		said, _ := child.AwaitFor("", c.For+lastTurn)
		if err := json.Unmarshal([]byte(said), &counts); err != nil {
			return nil, fmt.Errorf("the Go process says %q", said)
		}
		return counts, nil
	}
	return party{fmt.Sprintf("Go (alone: %t)", c.Alone), run}
}

// startChild tells a child what to do and returns when it is ready.
func startChild(t *testing.T, name string, c contest) *redistest.Child {
	t.Helper()
	line, err := json.Marshal(c)
	require.NoError(t, err)
	child := redistest.StartChild(t, name)
	child.Send("%s", line)
	require.Equal(t, "ready", child.Next())
	return child
}

// contender is the Go process of a contest. What it says last is its counts, or else its error.
func contender(p *redistest.Parent) {
	inContest(p, func(ctx context.Context, c contest, client *rueidisson.Client, redis rueidis.Client) error {
		p.Say("ready")
		p.Hear()
		counts, err := addTogether(ctx, client.Lock(c.Lock), redis, c)
		if err != nil {
			return err
		}
		said, err := json.Marshal(counts)
		p.Say("%s", said)
		return err
	})
}

// inContest connects a child process as the test says in its first line.
func inContest(p *redistest.Parent, do func(context.Context, contest, *rueidisson.Client, rueidis.Client) error) {
	err := func() error {
		line, _ := p.Hear()
		var c contest
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		redis, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: c.Addrs, DisableCache: true})
		if err != nil {
			return err
		}
		defer redis.Close()
		client, err := rueidisson.New(rueidis.ClientOption{InitAddress: c.Addrs}, c.options()...)
		if err != nil {
			return err
		}
		return errors.Join(do(ctx, c, client, redis), client.Close(ctx))
	}()
	if err != nil {
		p.Say("failed: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

func (c contest) options() []rueidisson.Option {
	opts := []rueidisson.Option{rueidisson.WithShardedPubSub(c.Sharded), rueidisson.WithWatchdogTimeout(c.Watchdog)}
	if c.Alone {
		opts = append(opts, rueidisson.WithHandover(0, 0))
	}
	return opts
}

func addTogether(ctx context.Context, l lock.Locker, redis rueidis.Client, c contest) ([]int64, error) {
	counts, end := make([]int64, contenders), time.Now().Add(c.For)
	ctx, cancel := context.WithDeadline(ctx, end.Add(lastTurn))
	defer cancel()
	err := together(contenders, func(i int) error {
		for time.Now().Before(end) {
			err := lock.Do(ctx, l, func(ctx context.Context) error { return addOne(ctx, redis, c.Counter) })
			if err != nil {
				return fmt.Errorf("turn %d: %w", counts[i], err)
			}
			counts[i]++
		}
		return nil
	})
	return counts, err
}

// addOne counts itself in and out as the Java side does: nobody else may be inside.
func addOne(ctx context.Context, redis rueidis.Client, key string) error {
	if now, err := redis.Do(ctx, redis.B().Incr().Key(key+inside).Build()).AsInt64(); err != nil || now != 1 {
		return errors.Join(err, fmt.Errorf("%d holders at once", now))
	}
	n, err := count(ctx, redis, key)
	if err != nil {
		return err
	}
	if err := redis.Do(ctx, redis.B().Set().Key(key).Value(strconv.FormatInt(n+1, 10)).Build()).Error(); err != nil {
		return err
	}
	return redis.Do(ctx, redis.B().Decr().Key(key+inside).Build()).Error()
}

// count is zero before the first turn.
func count(ctx context.Context, redis rueidis.Client, key string) (int64, error) {
	n, err := redis.Do(ctx, redis.B().Get().Key(key).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	return n, err
}
