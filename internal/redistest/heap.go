package redistest

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// HeapInUse returns the heap that is reachable.
func HeapInUse() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// NothingStays uses 1,000 names, so that caches and tables have their size, and then a tenth of 100,000, or all of them
// in a soak: the heap must be what it was, within a tenth. Once uses the name of that number, on one of 64 goroutines.
// A test of it is not parallel: what others hold would be counted.
//
// What lasts is the room of tables for as many as there were at a time, which on a busy machine may be more in one round
// than ever before. What stays of each name stays in every round, so a round that is too large is followed by another.
func NothingStays(t *testing.T, once func(i int) error) {
	t.Helper()
	used, names := 1_000, Count(t, 10_000, 100_000)
	use(t, 0, used, once)
	for range 3 {
		was := HeapInUse()
		use(t, used, used+names, once)
		used += names
		if InTime(func() bool { return HeapInUse() < was+was/10 }, 5*time.Second, 100*time.Millisecond) {
			return
		}
	}
	t.Fatal("the heap grows with the names")
}

func use(t *testing.T, from, to int, once func(i int) error) {
	var all sync.WaitGroup
	for worker := range 64 {
		all.Go(func() {
			for i := from + worker; i < to; i += 64 {
				if err := once(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
