package fairlock_test

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
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

var crowdChildren = redistest.Children{"crowd": crowd}

// crowd is a process with very many waiters, and nothing else. It says how many
// bytes each takes.
func crowd(p *redistest.Parent) {
	must := func(err error) {
		if err != nil {
			p.Say("failed: %v", err)
			os.Exit(1)
		}
	}
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{os.Getenv("FAIR_ADDR")}, DisableCache: true, ForceSingleClient: true})
	must(err)
	n, err := strconv.Atoi(os.Getenv("FAIR_CROWD"))
	must(err)
	l := c.FairLock(os.Getenv("FAIR_NAME"))
	ctx, leave := context.WithCancel(context.Background())
	before := inUse()
	var all sync.WaitGroup
	for range n {
		all.Go(func() { _, _ = l.Lock(ctx) }) // ends with ctx
	}
	for queued := 0; queued < n; time.Sleep(10 * time.Millisecond) {
		queue, err := l.Queue(ctx)
		must(err)
		queued = len(queue)
	}
	p.Say("each %d", (inUse()-before)/uint64(n))
	leave()
	all.Wait()
	p.Say("left")
	p.Hear()
}

// inUse is what the heap and the stacks take, after the goroutines that have sent
// something have gone.
func inUse() uint64 {
	for range 3 { // a stack shrinks by half each time
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// Very many who wait in one process take little of it: they ask for their places
// a few at a time, and what asks is not what waits.
func TestVeryManyWaitersOfAProcessAreSmall(t *testing.T) {
	t.Parallel()
	waiters := redistest.Count(t, 2000, 10_000)
	server, name := redistest.Start(t), redistest.Name(t) // which stands still for others while all leave
	l := locktest.Open(t, server.Addr()).FairLock(name)
	hold, err := l.Lock(t.Context())
	require.NoError(t, err)
	child := redistest.StartChild(t, "crowd", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+name, "FAIR_CROWD="+strconv.Itoa(waiters))
	line, _ := child.AwaitFor("each ", 2*time.Minute) // some seconds, if nobody else is at work
	each, err := strconv.Atoi(strings.TrimPrefix(line, "each "))
	require.NoError(t, err)
	t.Logf("%d bytes each", each)
	require.Less(t, each, 12<<10, "5.9 KB without the race detector, which makes all stacks larger")
	_, left := child.AwaitFor("left", 2*time.Minute)
	require.True(t, left)
	require.NoError(t, hold.Unlock(t.Context()))
	require.Eventually(t, func() bool { // whoever leaves does not wait for it
		queue, err := l.Queue(t.Context())
		return err == nil && len(queue) == 0
	}, soon, 10*time.Millisecond)
}
