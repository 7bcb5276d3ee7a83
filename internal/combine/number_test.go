package combine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// numbers are those of the exchanges under way.
type numbers struct {
	mu    sync.Mutex
	taken map[[2]int]bool // by key and flight
}

// takeOff fails the test if another exchange about key has the number.
func (n *numbers) takeOff(t *testing.T, key, flight int) (land func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.taken == nil {
		n.taken = map[[2]int]bool{}
	}
	this := [2]int{key, flight}
	assert.False(t, n.taken[this], "flight %d of key %d twice", flight, key)
	n.taken[this] = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.taken, this)
	}
}

func TestFlightsThatAreUnderWayTogetherHaveNumbersOfTheirOwn(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.trip = 10 * gap
		for ask := range 5 {
			w.do(context.Background(), ask)
			w.pass(gap)
		}
		assert.Equal(t, []int{0, 1, 2}, w.flights)
		w.pass(w.trip - 5*gap)
		assert.Equal(t, []int{0, 1, 2, 0}, w.flights, "the number of the one that has landed")
		w.pass(3 * w.trip)
		w.do(context.Background(), 6)
		w.pass(w.trip)
		assert.Equal(t, 0, w.flights[len(w.flights)-1], "a key that was idle begins anew")
		assert.Zero(t, w.open())
	})
}

func TestANumberIsFreeAgainAfterAPanic(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.fail = func([]int) error { panic("of Send") }
		func() {
			defer func() { assert.NotNil(t, recover()) }()
			_, _ = w.Do(context.Background(), "key", 1)
		}()
		w.fail = nil
		w.do(context.Background(), 2)
		w.pass(w.trip)
		assert.Equal(t, []int{0, 0}, w.flights)
	})
}

func TestWhatIsShippedWhileTheOwnerClosesHasANumberOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Config[string, int, int]{Cut: func([]*Call[int, int]) int { return 1 }, Flights: 2})
		w.trip = gap / 4
		for range 2 { // each is shipped while a caller of another line flies
			w.do(context.Background(), 1)
			assert.True(t, w.Post("key", 2))
			w.closed.Store(true)
			w.pass(w.trip)
			w.closed.Store(false)
		}
		w.pass(10 * time.Millisecond)
		assert.Equal(t, []int{0, 2, 0, 3}, w.flights)
		assert.Equal(t, 2, w.most)
		assert.Zero(t, w.open())
	})
}
