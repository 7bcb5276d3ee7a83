package lock_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// Not parallel: the allocations of other tests would be counted.
func TestAPairLeavesLittleOnTheHeap(t *testing.T) {
	ending, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t))
	for name, c := range map[string]struct {
		ctx  context.Context
		most float64 // under the race detector, which makes pools forget, rueidis' too; without it 3 and 6
	}{
		"that does not end": {context.Background(), 6},
		"that can end":      {ending, 10},
	} {
		t.Run("under a context "+name, func(t *testing.T) {
			failed := error(nil)
			allocs := testing.AllocsPerRun(redistest.Count(t, 2500, 10_000), func() {
				hold, err := l.Lock(c.ctx)
				if err == nil {
					err = hold.Unlock(c.ctx)
				}
				if err != nil {
					failed = err
				}
			})
			require.NoError(t, failed)
			assert.LessOrEqual(t, allocs, c.most)
		})
	}
}

// Not parallel: the heap of other tests would be counted.
func TestAHeldLockTakesLittleOfTheHeap(t *testing.T) {
	const many = 5000
	c := locktest.Open(t, redistest.Start(t).Addr())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	holds := make([]*lock.Hold, many)
	hold := func(of []*lock.Hold) {
		for i := range of {
			var err error
			of[i], err = c.Lock("held-" + strconv.Itoa(i)).Lock(ctx)
			require.NoError(t, err)
		}
	}
	hold(holds[:10])
	for _, h := range holds[:10] {
		require.NoError(t, h.Unlock(ctx))
	}
	before := heap()
	hold(holds)
	each := float64(heap()-before) / many
	runtime.KeepAlive(holds)
	assert.Less(t, each, 870.0, "it was 1,054; the tables grow in steps")
}

// heap is how many bytes of the heap are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools still had
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
