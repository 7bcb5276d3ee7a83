package due_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/due"
)

func TestWorkers(t *testing.T) {
	t.Parallel()
	var spawned, all sync.WaitGroup
	var working, most, done atomic.Int64
	go1 := func(f func()) bool { spawned.Go(f); return true }
	open := atomic.Bool{}
	open.Store(true)
	hold := make(chan struct{})
	w := due.NewWorkers(3, go1, open.Load, func(int) {
		n := working.Add(1)
		if n > most.Load() {
			most.Store(n)
		}
		<-hold
		working.Add(-1)
		done.Add(1)
	})
	for i := range 100 {
		all.Go(func() { w.Give("", i) })
	}
	all.Wait()
	close(hold)
	spawned.Wait()
	require.EqualValues(t, 100, done.Load())
	require.LessOrEqual(t, most.Load(), int64(3))

	open.Store(false)
	w.Give("", 1)
	spawned.Wait()
	require.EqualValues(t, 100, done.Load(), "what comes when the owner is closed is dropped")
}

func TestWorkersWithoutGoroutines(t *testing.T) {
	t.Parallel()
	w := due.NewWorkers(1, func(func()) bool { return false }, func() bool { return true }, func(int) { t.Error("it ran") })
	w.Give("", 1)
	w.Give("", 2)
}

func TestWorkersOfANodeHoldUpNoOther(t *testing.T) {
	t.Parallel()
	var spawned sync.WaitGroup
	go1 := func(f func()) bool { spawned.Go(f); return true }
	silent, done := make(chan struct{}), make(chan string)
	w := due.NewWorkers(2, go1, func() bool { return true }, func(node string) {
		if node == "silent" {
			<-silent
			return
		}
		done <- node
	})
	for range 10 {
		w.Give("silent", "silent")
	}
	for _, node := range []string{"a", "b", "a"} {
		w.Give(node, node)
		require.Equal(t, node, <-done)
	}
	close(silent)
	spawned.Wait()
}
