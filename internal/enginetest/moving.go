package enginetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// turns is how many uses of an object there are at least before its slot moves, at each step of that, and after it.
const turns = 20

// WhileASlotMoves has four goroutines use an object again and again while its keys move to another server together, and returns how
// many uses succeeded. use gets the number of its goroutine, and how often that has called it. It reports whether it succeeded.
func WhileASlotMoves(t *testing.T, cluster *redistest.Cluster, keys []string, use func(ctx context.Context, g, i int) bool) (succeeded int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait() // a use may fail the test, so none outlives it
	defer stop()
	var done atomic.Int64
	for g := range 4 {
		all.Go(func() { // ends with ctx, or when the test has failed
			for i := 0; ctx.Err() == nil && !t.Failed(); i++ {
				if use(context.WithoutCancel(ctx), g, i) {
					done.Add(1)
				}
			}
		})
	}
	more := func() {
		t.Helper()
		want := done.Load() + turns
		redistest.Eventually(t, func() bool { return done.Load() >= want || t.Failed() }, redistest.Soon, time.Millisecond)
		if t.Failed() {
			t.FailNow()
		}
	}
	more()
	migration := cluster.StartMigration(t, keys[0])
	more()
	migration.Move(t, keys...)
	more()
	migration.Finish(t)
	more()
	stop()
	all.Wait()
	return done.Load()
}
