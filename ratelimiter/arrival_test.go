package ratelimiter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

var arrivalChildren = redistest.Children{"limiter-waiter": waiter}

// waiter is one process: it begins each wait that it is told of, beside those
// that it has begun, and says at what time of the server it ended.
func waiter(p *redistest.Parent) {
	option := rueidis.ClientOption{InitAddress: []string{os.Getenv("REDIS")}, ForceSingleClient: true, DisableCache: true}
	raw, err1 := rueidis.NewClient(option)
	c, err2 := rueidisson.New(option)
	if err := errors.Join(err1, err2); err != nil {
		p.Say("failed: %v", err)
		return
	}
	defer raw.Close()
	defer c.Close(context.Background())
	l := c.RateLimiter(os.Getenv("NAME"))
	if _, err := l.Rate(context.Background()); err != nil {
		p.Say("failed: %v", err)
		return
	}
	p.Say("ready")
	for {
		line, ok := p.Hear()
		if !ok {
			return
		}
		go waitAndTell(p, raw, l, line) // ends with its tokens, or with the process
	}
}

func waitAndTell(p *redistest.Parent, raw rueidis.Client, l *ratelimiter.Limiter, line string) {
	var place int
	var tokens int64
	_, err := fmt.Sscanf(line, "wait %d for %d", &place, &tokens)
	if err == nil {
		err = l.WaitN(context.Background(), tokens)
	}
	ended, err2 := serverTime(raw)
	if err := errors.Join(err, err2); err != nil {
		p.Say("failed: %v", err)
		return
	}
	p.Say("ended %d at %d", place, ended)
}

// queued is a wait of one of the processes.
type queued struct {
	process int
	tokens  int64
}

// Who asks often, who asks for much and who comes back must not overtake.
var arrivals = []queued{{2, 1}, {0, 2}, {1, 1}, {3, 1}, {3, 2}, {0, 1}, {1, 3}, {2, 1}}

const arrivalPer, arrivalBurst = 150 * time.Millisecond, 3

// Waits of four processes end in the order in which the server heard of them.
// Who overtakes ends before his time, as the tokens of all who came before come
// first: that is seen on a machine of any speed. That somebody ends after the
// next one's time the machine may bring about, so that the order of the ends is
// asked for in one of several rounds.
func TestWaitersOfManyProcessesAreServedInTheOrderOfTheirArrival(t *testing.T) {
	t.Parallel()
	fleet := startWaiters(t, 4)
	for range 10 {
		due := fleet.queueUp(t)
		ends := fleet.ends(t, due, -1)
		if slices.IsSorted(ends) {
			return
		}
		t.Logf("the machine was late: %d", ends)
	}
	require.Fail(t, "the waits never ended in the order of their arrival")
}

// What a process had reserved that dies is forfeited: those behind it are not
// held up, and do not move up.
func TestAWaiterThatDiesChangesNothingForThoseBehindIt(t *testing.T) {
	t.Parallel()
	fleet := startWaiters(t, 4)
	due := fleet.queueUp(t)
	const dead = 3
	fleet.processes[dead].Kill()
	fleet.ends(t, due, dead)
}

// waiters are processes that wait on one limiter.
type waiters struct {
	limiter   *ratelimiter.Limiter
	raw       rueidis.Client
	processes []*redistest.Child
}

func startWaiters(t *testing.T, n int) *waiters {
	t.Helper()
	s := redistest.Shared(t)
	w := &waiters{limiter: limited(t, open(t, s.Addr()), ratelimiter.Every(1, arrivalPer).WithBurst(arrivalBurst)), raw: s.Client(t)}
	for range n {
		w.processes = append(w.processes, redistest.StartChild(t, "limiter-waiter", "REDIS="+s.Addr(), "NAME="+w.limiter.Name()))
	}
	for _, p := range w.processes {
		require.Equal(t, "ready", p.Next())
	}
	return w
}

// queueUp empties the bucket and lets all arrivals queue up behind that, each
// once the one before is known to the server. It returns the time of the server
// before which each must not end.
func (w *waiters) queueUp(t *testing.T) (due []int64) {
	t.Helper()
	require.NoError(t, w.limiter.Reset(t.Context()))
	began, err := serverTime(w.raw)
	require.NoError(t, err)
	gets(t, &w.limiter.Bucket, arrivalBurst)
	state := stored(t, w.raw, unkeyed(w.limiter))
	tokens := int64(0)
	for i, a := range arrivals {
		w.processes[a.process].Send("wait %d for %d", i, a.tokens)
		state = changesFrom(t, w.raw, unkeyed(w.limiter), state)
		tokens += a.tokens
		due = append(due, began+tokens*arrivalPer.Microseconds())
	}
	return due
}

// ends are the times at which the waits ended, but for those of one process, in
// the order of their arrival.
func (w *waiters) ends(t *testing.T, due []int64, without int) []int64 {
	t.Helper()
	at := make([]int64, len(arrivals))
	for _, a := range arrivals {
		if a.process == without {
			continue
		}
		var place int
		var ended int64
		line := w.processes[a.process].Next()
		_, err := fmt.Sscanf(line, "ended %d at %d", &place, &ended)
		require.NoError(t, err, line)
		assert.GreaterOrEqual(t, ended, due[place], "wait %d ended before its time", place)
		at[place] = ended
	}
	return slices.DeleteFunc(at, func(ended int64) bool { return ended == 0 })
}
