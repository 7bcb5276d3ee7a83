package combine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errSend   = errors.New("send failed")
	errClosed = errors.New("closed")
)

// world is a table whose exchanges take trip, on a clock that moves only when
// everybody waits. An answer is ten times what was asked.
type world struct {
	*Table[string, int, int]
	start time.Time
	trip  time.Duration
	fail  func(batch []int) error // nil: none fails

	spawned atomic.Int64
	closed  atomic.Bool

	mu      sync.Mutex
	sent    [][]int
	flights []int           // their numbers
	leaves  []time.Duration // when they were sent
	under   int             // exchanges under way
	most    int
	left    [][2]int
}

// inWorld runs test with a table of so many flights.
func inWorld(t *testing.T, flights int, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(Config[string, int, int]{Flights: flights})) })
}

func newWorld(cfg Config[string, int, int]) *world {
	w := &world{start: time.Now(), trip: time.Millisecond}
	cfg.Closed = errClosed
	cfg.Send = w.send
	cfg.Spawn = w.spawn
	if cfg.Left == nil {
		cfg.Left = w.leave
	}
	w.Table = New(cfg)
	return w
}

func (w *world) spawn(f func()) bool {
	if w.closed.Load() {
		return false
	}
	w.spawned.Add(1)
	go f() // ends when nobody waits
	return true
}

func (w *world) send(_ string, flight int, batch []*Call[int, int]) error {
	asks := w.depart(flight, batch)
	time.Sleep(w.trip)
	w.mu.Lock()
	w.under--
	w.mu.Unlock()
	if w.fail != nil {
		if err := w.fail(asks); err != nil {
			return err
		}
	}
	for _, c := range batch {
		c.Answer = 10 * c.Ask
	}
	return nil
}

func (w *world) depart(flight int, batch []*Call[int, int]) (asks []int) {
	for _, c := range batch {
		asks = append(asks, c.Ask)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flights = append(w.flights, flight)
	w.sent = append(w.sent, asks)
	w.leaves = append(w.leaves, w.now())
	w.under++
	w.most = max(w.most, w.under)
	return asks
}

func (w *world) leave(_ string, ask, answer int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = append(w.left, [2]int{ask, answer})
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// open is how many lines there are.
func (w *world) open() (n int) {
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		n += len(s.lines)
		s.mu.Unlock()
	}
	return n
}

// outcome is how a call ended, and when.
type outcome struct {
	ended  bool
	answer int
	err    error
	at     time.Duration
}

// do starts a call, and returns when it flies or waits. Its outcome is to be
// read when everybody waits.
func (w *world) do(ctx context.Context, ask int) *outcome {
	o := new(outcome)
	go func() { // ends with the call
		answer, err := w.Do(ctx, "key", ask)
		*o = outcome{true, answer, err, w.now()}
	}()
	synctest.Wait()
	return o
}

// all starts calls one after the other.
func (w *world) all(ctx context.Context, asks ...int) (outcomes []*outcome) {
	for _, ask := range asks {
		outcomes = append(outcomes, w.do(ctx, ask))
	}
	return outcomes
}

// pass lets time go by. What the test has read happened before what is sent then.
func (w *world) pass(d time.Duration) {
	w.edge()
	time.Sleep(d)
	synctest.Wait()
}

// edge orders what the test has done before what comes next under the mutex.
func (w *world) edge() {
	w.mu.Lock()
	defer w.mu.Unlock()
}

// answered is the outcome of a call that got its answer.
func answered(ask int, at time.Duration) *outcome {
	return &outcome{ended: true, answer: 10 * ask, at: at}
}

// cancellable are n contexts, and what ends each.
func cancellable(n int) (ctxs []context.Context, cancels []context.CancelCauseFunc) {
	for range n {
		ctx, cancel := context.WithCancelCause(context.Background())
		ctxs, cancels = append(ctxs, ctx), append(cancels, cancel)
	}
	return ctxs, cancels
}
