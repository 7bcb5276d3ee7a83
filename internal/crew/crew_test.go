package crew

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// crew counts its tasks itself.
type crew struct {
	Crew
	tasks sync.WaitGroup
}

func newCrew() *crew { return new(crew) }

func (c *crew) Go(f func()) {
	c.tasks.Add(1)
	c.Crew.Go(&c.tasks, f)
}

// resting is how many wait for work.
func (c *crew) resting() int {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.idle)
}

// together makes n tasks at once.
func (c *crew) together(n int) {
	release := make(chan struct{})
	for range n {
		c.Go(func() { <-release })
	}
	close(release)
	synctest.Wait()
}

func TestTasksBehindEachOtherRunOnOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		defer c.End()
		for range 100 {
			ran := false
			c.Go(func() { ran = true })
			synctest.Wait()
			assert.True(t, ran)
		}
		assert.Equal(t, 1, c.resting())
	})
}

func TestTasksThatWaitForEachOtherAllRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
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
			assert.Equal(t, most, c.resting(), "the others have gone")
		}
	})
}

func TestATaskIsCountedOutWhicheverWayItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		defer c.End()
		c.Go(func() {})
		c.Go(runtime.Goexit)
		c.tasks.Wait()
	})
}

func TestWhoeverHasNothingToDoGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		c.together(5)
		for range 4 { // the first look may be too early to know
			assert.GreaterOrEqual(t, c.resting(), 2)
			time.Sleep(idleFor / 2)
			c.together(2)
		}
		assert.Equal(t, 2, c.resting(), "as many as there was work for")
		time.Sleep(3 * idleFor)
		assert.Zero(t, c.resting())
		c.together(1)
		assert.Equal(t, 1, c.resting(), "and there is more work")
		time.Sleep(2 * idleFor) // or the bubble would not end
	})
}

func TestEndWaitsForWhoeverWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
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
	c := newCrew()
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
