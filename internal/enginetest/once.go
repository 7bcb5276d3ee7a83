package enginetest

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// UsedOnce makes an object of a name, uses it, and drops it. What expires in it does so within a second.
type UsedOnce func(ctx context.Context, e *locking.Engine, raw rueidis.Client, name string) error

// LeavesNothing checks that many names that are used once leave nothing: neither heap nor goroutines, nothing that the
// client is subscribed to or has watched, no connection, and no key. unswept counts the names that wait for a sweep. The test must not be parallel: it looks at the heap.
func LeavesNothing(t *testing.T, once UsedOnce, unswept func(e *locking.Engine) int) {
	t.Helper()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30)) // what is dropped would else be collected late
	server, at := redistest.Start(t, redistest.Version("8.0")), NewClock()
	raw := server.Client(t)
	r := onceRig{t, On(t, raw, at.To), raw, at, server, unswept}
	use := func(i int) error { return once(t.Context(), r.e, raw, strconv.Itoa(i)) }
	names := redistest.Count(t, 1000, 1_000_000)
	warm := max(1000, names/10) // tables have the size of as many as there are at a time
	r.uses(0, warm, use)
	r.settles("the first", func() bool { return true })
	heap, goroutines, connections := redistest.HeapInUse(), runtime.NumGoroutine(), server.Connections(t)
	began := time.Now()
	r.uses(warm, warm+names, use)
	t.Logf("%d in %v", names, time.Since(began))
	r.settles("all", func() bool {
		return redistest.HeapInUse() < heap+uint64(1<<20+4*names) &&
			runtime.NumGoroutine() < goroutines+20 && server.Connections(t) <= connections
	})
}

type onceRig struct {
	*testing.T
	e       *locking.Engine
	raw     rueidis.Client
	clock   *Clock
	server  *redistest.Server
	unswept func(e *locking.Engine) int
}

// portion is how many names there are at most whose entries have not ended.
const portion = 100_000

func (r onceRig) uses(from, to int, use func(i int) error) {
	for ; from < to; from += portion {
		var next atomic.Int64
		next.Store(int64(from))
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for i := int(next.Add(1)) - 1; i < min(to, from+portion) && !r.Failed(); i = int(next.Add(1)) - 1 {
					if err := use(i); err != nil {
						r.Error(err)
					}
				}
			})
		}
		all.Wait()
		r.clock.Forward(time.Second)
		redistest.Eventually(r, func() bool { return r.unswept(r.e) == 0 }, 4*redistest.Soon, 10*time.Millisecond, "names that are to be swept")
	}
}

// gone returns the keys that remember owners of locks which were given up.
func (r onceRig) gone() []string {
	all, err := r.raw.Do(r.Context(), r.raw.B().Keys().Pattern(keys.Tombstones("{*}:*")).Build()).AsStrSlice()
	require.NoError(r, err)
	return all
}

// settles waits until nothing is left but what else says.
func (r onceRig) settles(what string, fine func() bool) {
	r.Helper()
	count := func(cmd ...string) int {
		all, err := r.raw.Do(r.Context(), r.raw.B().Arbitrary(cmd...).Build()).ToAny()
		if n, is := all.(int64); is && err == nil {
			return int(n)
		}
		list, _ := all.([]any)
		return len(list)
	}
	var left string
	if !redistest.InTime(func() bool {
		runtime.GC()
		watches, channels, there := r.e.Tracked(), count("PUBSUB", "CHANNELS"), count("DBSIZE")
		if there > 0 && there < 1000 { // a lock whose holder was given up by then is remembered for a while
			for _, key := range r.gone() {
				if count("PTTL", key) > 0 {
					there--
				}
			}
		}
		left = fmt.Sprintf("%d watches, %d channels, %d keys, %d goroutines", watches, channels, there, runtime.NumGoroutine())
		return watches == 0 && channels == 0 && there == 0 && fine()
	}, 2*redistest.Soon, 50*time.Millisecond) {
		r.Fatalf("after %s there are left: %s; the heap has %d", what, left, redistest.HeapInUse())
	}
}
