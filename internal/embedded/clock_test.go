package embedded

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeClock is a clock over a machine whose time the test sets.
type fakeClock struct {
	clock
	machine time.Time
	told    []time.Time
}

func newFakeClock(manual bool) *fakeClock {
	f := &fakeClock{machine: noon}
	f.clock = clock{
		set:    func(at time.Time) { f.told = append(f.told, at) },
		now:    func() time.Time { return f.machine },
		manual: manual,
	}
	f.start()
	return f
}

func (f *fakeClock) arriveAfter(d time.Duration) {
	f.machine = f.machine.Add(d)
	f.arrived()
}

func (f *fakeClock) passed() []time.Duration {
	var passed []time.Duration
	for _, at := range f.told {
		passed = append(passed, at.Sub(noon))
	}
	return passed
}

func TestTheClockMovesWhenCommandsArriveButNotForLessThanAStep(t *testing.T) {
	t.Parallel()
	f := newFakeClock(false)
	f.arriveAfter(step - 1)
	f.arriveAfter(1)
	f.arriveAfter(0)
	f.arriveAfter(time.Hour)
	assert.Equal(t, []time.Duration{0, step, step + time.Hour}, f.passed())
}

func TestARealClockKeepsWhatItWasMovedByHand(t *testing.T) {
	t.Parallel()
	f := newFakeClock(false)
	f.forward(time.Minute)
	f.forward(time.Minute)
	f.arriveAfter(time.Second)
	assert.Equal(t, []time.Duration{0, time.Minute, 2 * time.Minute, 2*time.Minute + time.Second}, f.passed())
}

func TestAManualClockMovesByHandOnly(t *testing.T) {
	t.Parallel()
	f := newFakeClock(true)
	f.arriveAfter(time.Hour)
	f.forward(time.Second)
	f.arriveAfter(time.Hour)
	assert.Equal(t, []time.Duration{0, time.Second}, f.passed())
}

func TestTheServersTimeNeverGoesBackWhenManyCommandsArriveAtOnce(t *testing.T) {
	t.Parallel()
	last, back := time.Time{}, 0
	c := &clock{now: time.Now, set: func(at time.Time) {
		if at.Before(last) {
			back++
		}
		last = at
	}}
	c.start()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				c.arrived()
				c.forward(time.Microsecond)
			}
		})
	}
	all.Wait()
	assert.Zero(t, back)
	assert.Equal(t, 16*time.Millisecond, c.ahead)
}
