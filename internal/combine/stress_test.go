package combine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// ledger counts how the calls ended. Each call asks for a number of its own.
type ledger struct {
	mu   sync.Mutex
	sent map[int]int // how often
	ok   map[int]bool
	left map[int]int
}

// TestEveryCallEndsOnce lets many call, leave at any moment, and post, while
// exchanges fail now and then. A call was sent at most once; one whose exchange
// succeeded was answered or is told by Left, and never both.
func TestEveryCallEndsOnce(t *testing.T) {
	t.Parallel()
	for _, flights := range []int{1, 4} {
		t.Run(fmt.Sprintf("flights=%d", flights), func(t *testing.T) {
			t.Parallel()
			stress(t, flights)
		})
	}
}

func stress(t *testing.T, flights int) {
	const callers, each = 48, 400
	l := &ledger{sent: map[int]int{}, ok: map[int]bool{}, left: map[int]int{}}
	var spawned, all sync.WaitGroup
	var under, most atomic.Int64
	var aloft numbers
	table := New(Config[int, int, int]{
		Send: func(key, flight int, batch []*Call[int, int]) error {
			assert.Less(t, flight, flights)
			defer aloft.takeOff(t, key, flight)()
			if now := under.Add(1); now > most.Load() {
				most.Store(now)
			}
			defer under.Add(-1)
			return l.send(batch)
		},
		Cut:     func(waiting []*Call[int, int]) int { return min(7, len(waiting)) },
		Left:    l.leave,
		Spawn:   spawn(&spawned),
		Flights: flights,
	})
	for g := range callers {
		all.Go(func() {
			for i := range each {
				l.call(t, table, g*each+i)
			}
		})
	}
	all.Wait()
	spawned.Wait()
	l.check(t, callers*each)
	for i := range table.shards {
		assert.Empty(t, table.shards[i].lines)
	}
}

func (l *ledger) send(batch []*Call[int, int]) error {
	for range rand.N(20) {
		runtime.Gosched()
	}
	var err error
	if rand.N(5) == 0 {
		err = errSend
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range batch {
		l.sent[c.Ask]++
		l.ok[c.Ask] = err == nil
		c.Answer = -c.Ask
	}
	return err
}

func (l *ledger) leave(_, ask, answer int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[ask]++
	if answer != -ask {
		l.left[ask] += 100
	}
}

// call makes one call in one of the ways there are, and checks its end.
func (l *ledger) call(t *testing.T, table *Table[int, int, int], ask int) {
	key := rand.N(3)
	if rand.N(20) == 0 {
		assert.True(t, table.Post(key, ask))
		l.mu.Lock()
		l.left[ask] -= 1000 // nobody is told
		l.mu.Unlock()
		return
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	switch rand.N(4) {
	case 0:
		ctx, cancel = context.WithCancel(ctx)
		go func(yields int) { // ends by itself
			for range yields {
				runtime.Gosched()
			}
			cancel()
		}(rand.N(60))
	case 1:
		ctx, cancel = context.WithTimeout(ctx, rand.N(200*time.Microsecond))
	case 2:
		ctx, cancel = context.WithCancel(ctx)
	}
	answer, err := table.Do(ctx, key, ask)
	cancel()
	l.ended(t, ask, answer, err)
}

func (l *ledger) ended(t *testing.T, ask, answer int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		assert.Equal(t, -ask, answer)
		assert.True(t, l.ok[ask])
		l.left[ask]++ // answered: Left must not add to it
	case errors.Is(err, errSend):
		assert.False(t, l.ok[ask])
		assert.Equal(t, 1, l.sent[ask])
	default:
		assert.True(t, errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded), "%v", err)
	}
}

func (l *ledger) check(t *testing.T, asks int) {
	var left int
	for ask := range asks {
		ends := l.left[ask]
		if ends < 0 {
			assert.Equal(t, -1000, ends, "a post is told to nobody")
			assert.Equal(t, 1, l.sent[ask], "a post is sent")
			continue
		}
		assert.LessOrEqual(t, l.sent[ask], 1)
		want := 0
		if l.sent[ask] == 1 && l.ok[ask] {
			want = 1
		}
		assert.Equal(t, want, ends, "call %d", ask)
		left += ends
	}
	assert.Positive(t, left)
}

// A line that is idle goes to another key at once. Whoever closed it must not
// look at it any more: it would see, and unlock, the other key's mutex.
func TestALineIsAnotherKeysOnceItIsClosed(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	table := New(Config[int, int, int]{
		Send:  func(int, int, []*Call[int, int]) error { return nil },
		Spawn: spawn(&all),
	})
	for key := range 8 {
		all.Go(func() {
			for ask := range 300 {
				_, err := table.Do(context.Background(), key, ask)
				assert.NoError(t, err)
				runtime.Gosched() // the others get the line
			}
		})
	}
	all.Wait()
}
