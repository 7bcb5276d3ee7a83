package crew

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestTasksBehindEachOtherRunOnOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Crew
		defer c.End()
		before := runtime.NumGoroutine()
		for range 100 {
			ran := false
			c.Go(func() { ran = true })
			synctest.Wait()
			assert.True(t, ran)
		}
		assert.Equal(t, 1, runtime.NumGoroutine()-before)
	})
}

func TestTasksThatWaitForEachOtherAllRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Crew
		defer c.End()
		for range 3 { // new goroutines first, then those that are there
			var running atomic.Int64
			release := make(chan struct{})
			for range 5 * most {
				c.Go(func() {
					running.Add(1)
					<-release
				})
			}
			synctest.Wait()
			assert.EqualValues(t, 5*most, running.Load())
			close(release)
			synctest.Wait()
			assert.Len(t, c.idle, most, "the others have gone")
		}
	})
}

func TestAfterIsCalledWhicheverWayATaskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var after atomic.Int64
		c := Crew{After: func() { after.Add(1) }}
		defer c.End()
		c.Go(func() {})
		c.Go(runtime.Goexit)
		synctest.Wait()
		assert.EqualValues(t, 2, after.Load())
	})
}

func TestEndWaitsForWhoeverWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Crew
		release, ended := make(chan struct{}), make(chan struct{})
		c.Go(func() { <-release })
		go func() { c.End(); close(ended) }()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("a task is under way")
		default:
		}
		close(release)
		<-ended // and nobody is left, or the bubble would not end
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var c Crew
	var ran atomic.Int64
	var givers sync.WaitGroup
	for range 8 {
		givers.Go(func() {
			for range 2000 {
				done := make(chan struct{})
				c.Go(func() { ran.Add(1); close(done) })
				<-done
			}
		})
	}
	givers.Wait()
	c.End()
	assert.EqualValues(t, 16000, ran.Load())
}
