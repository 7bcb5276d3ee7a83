package due

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// world is a loop, and what it ran, and when.
type world struct {
	*Loop[string]
	start   time.Time
	closing chan struct{}
	refuses bool
	tasks   sync.WaitGroup
	spawned int
	ran     []event
}

type event struct {
	name string
	at   time.Duration
}

// inWorld runs test with a clock that moves only when everybody sleeps. A loop
// that did not end by itself would keep it from ending.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{start: time.Now(), closing: make(chan struct{})}
		w.Loop = &Loop[string]{Closing: w.closing, Spawn: func(f func()) bool {
			if w.refuses {
				return false
			}
			w.spawned++
			w.tasks.Go(f)
			return true
		}}
		test(t, w)
		w.tasks.Wait()
		assert.Zero(t, w.Len())
	})
}

// log is a run that is due again as said, and then not any more.
func (w *world) log(name string, next ...time.Duration) Run {
	return func() time.Duration {
		w.ran = append(w.ran, event{name, time.Since(w.start)})
		if len(next) == 0 {
			return -1
		}
		d := next[0]
		next = next[1:]
		return d
	}
}

func TestWorkIsDoneWhenItIsDue(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		assert.True(t, w.In("late", 3*time.Second, w.log("late")))
		assert.True(t, w.In("soon", time.Second, w.log("soon", 4*time.Second, 0)))
		assert.True(t, w.In("now", 0, w.log("now")))
		w.tasks.Wait()
		assert.Equal(t, []event{{"now", 0}, {"soon", time.Second}, {"late", 3 * time.Second}, {"soon", 5 * time.Second}, {"soon", 5 * time.Second}}, w.ran)
		assert.Equal(t, 1, w.spawned, "one goroutine for all")
	})
}

func TestWithoutANameThereIsNoGoroutine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		assert.Zero(t, w.spawned)
		for range 3 {
			w.In("one", time.Second, w.log("one"))
			w.tasks.Wait()
		}
		assert.Equal(t, 3, w.spawned)
	})
}

func TestTheEarlierNeedCounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.In("a", 5*time.Second, w.log("first"))
		synctest.Wait()
		w.In("a", 2*time.Second, w.log("earlier"))
		w.In("a", 9*time.Second, w.log("last"))
		w.tasks.Wait()
		assert.Equal(t, []event{{"last", 2 * time.Second}}, w.ran)
	})
}

func TestWhoeverLeavesIsNotRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.In("a", time.Second, w.log("a"))
		w.In("b", 2*time.Second, w.log("b"))
		synctest.Wait()
		w.Leave("a")
		w.Leave("nobody")
		w.tasks.Wait()
		assert.Equal(t, []event{{"b", 2 * time.Second}}, w.ran)
		w.In("c", time.Hour, w.log("c"))
		w.Leave("c") // and the goroutine does not wait for an hour
		w.tasks.Wait()
		assert.Equal(t, 2*time.Second, time.Since(w.start))
	})
}

func TestANeedThatComesDuringTheRunIsNotForgotten(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		need, next, want time.Duration
	}{
		"earlier than the next":  {time.Second, 5 * time.Second, time.Second},
		"later than the next":    {5 * time.Second, time.Second, time.Second},
		"and there was no other": {time.Second, -1, time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.In("a", 0, func() time.Duration {
					w.In("a", c.need, w.log("a"))
					return c.next
				})
				w.tasks.Wait()
				assert.Equal(t, []event{{"a", c.want}}, w.ran)
			})
		})
	}
}

func TestWhoeverLeavesDuringTheRunIsGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.In("a", 0, func() time.Duration { w.Leave("a"); return time.Second })
		w.tasks.Wait()
		assert.Zero(t, time.Since(w.start))
		w.In("b", 0, func() time.Duration {
			w.Leave("b")
			w.In("b", time.Second, w.log("b"))
			return time.Hour
		})
		w.tasks.Wait()
		assert.Equal(t, []event{{"b", time.Second}}, w.ran, "unless it comes back")
	})
}

func TestClosingEndsTheLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.In("a", 0, func() time.Duration { time.Sleep(time.Second); return 0 })
		w.In("b", time.Hour, w.log("b"))
		synctest.Wait()
		close(w.closing)
		w.tasks.Wait()
		assert.Equal(t, time.Second, time.Since(w.start), "what is under way is finished")
		assert.Empty(t, w.ran)
		w.refuses = true
		assert.False(t, w.In("c", 0, w.log("c")))
	})
}

func TestManyNames(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const names = 2000
		for i := range names {
			d := time.Duration(i*7919%names) * time.Millisecond
			w.In(string(rune(i)), d, w.log("", time.Hour))
		}
		w.tasks.Wait()
		assert.Len(t, w.ran, 2*names)
		for i := 1; i < len(w.ran); i++ {
			assert.LessOrEqual(t, w.ran[i-1].at, w.ran[i].at)
		}
	})
}

// The race detector sees whether a run is replaced while it is taken.
func TestARunIsReplacedWhileItIsTaken(t *testing.T) {
	t.Parallel()
	var tasks sync.WaitGroup
	l := &Loop[string]{Closing: make(chan struct{}), Spawn: func(f func()) bool { tasks.Go(f); return true }}
	for range 200 {
		assert.True(t, l.In("a", 0, func() time.Duration { time.Sleep(time.Millisecond); return -1 }))
		time.Sleep(50 * time.Microsecond)
	}
	tasks.Wait()
	assert.Zero(t, l.Len())
}
