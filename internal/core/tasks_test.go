package core

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTasksEndBeforeTheWaitForThem: those that began are waited for, and none begins
// any more, also while others try.
func TestTasksEndBeforeTheWaitForThem(t *testing.T) {
	t.Parallel()
	for range 2000 {
		var of Tasks
		var working, late atomic.Int64
		var callers sync.WaitGroup
		var over atomic.Bool
		for range 4 {
			callers.Go(func() {
				for of.Begin() {
					if over.Load() {
						late.Add(1)
					}
					working.Add(1)
					of.Join()
					of.Done()
					working.Add(-1)
					of.Done()
				}
			})
		}
		of.stop()
		of.wait()
		over.Store(true)
		require.Zero(t, working.Load())
		callers.Wait()
		require.Zero(t, late.Load())
	}
}

func TestTasksThatNeverBeganAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	var of Tasks
	of.stop()
	of.wait()
	require.False(t, of.Begin())
	of.Join() // of a task's own
	of.Done()
	of.wait()
}
