package tracking_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/tracking"
)

// world is nodes that are not there.
type world struct {
	mu      sync.Mutex
	at      map[string]string // where keys are, else at "a"
	refuses error             // connections
	doubts  int
	conns   []*conn
}

func (w *world) Locate(_ context.Context, key string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if addr := w.at[key]; addr != "" {
		return addr, nil
	}
	return "a", nil
}

func (w *world) Doubt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubts++
}

func (w *world) Connect(_ context.Context, addr string, changed func([]string)) (tracking.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &conn{w: w, addr: addr, changed: changed, ended: make(chan error, 1), opened: time.Now(), master: true, says: map[string]tracking.Answer{}}
	w.conns = append(w.conns, c)
	if w.refuses != nil {
		return nil, w.refuses
	}
	return c, nil
}

func (w *world) move(key, addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at[key] = addr
}

func (w *world) doubted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubts
}

// tries is the connections so far.
func (w *world) tries() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns
}

// conn is a connection. What it answers is guarded by the world's mutex.
type conn struct {
	w       *world
	addr    string
	changed func([]string)
	ended   chan error
	opened  time.Time

	silent, master, closed bool
	says                   map[string]tracking.Answer // else that it stays
	asked                  [][]string
}

// answers waits for the end of ctx where the connection is silent.
func (c *conn) answers(ctx context.Context) error {
	c.w.mu.Lock()
	silent := c.silent
	c.w.mu.Unlock()
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(time.Millisecond)
	return nil
}

func (c *conn) Left(ctx context.Context, keys []string) ([]tracking.Answer, error) {
	if err := c.answers(ctx); err != nil {
		return nil, err
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.asked = append(c.asked, keys)
	all := make([]tracking.Answer, len(keys))
	for i, key := range keys {
		var said bool
		if all[i], said = c.says[key]; !said {
			all[i].Left = tracking.Stays
		}
	}
	return all, nil
}

func (c *conn) Master(ctx context.Context) (bool, error) {
	err := c.answers(ctx)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.master, err
}

func (c *conn) Done() <-chan error { return c.ended }

func (c *conn) Close() {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.closed = true
}

func (c *conn) set(change func()) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	change()
}

// exchanges is the keys of each.
func (c *conn) exchanges() [][]string {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.asked
}

// ear is what a watch was told.
type ear struct {
	mu      sync.Mutex
	drops   int
	alive   []time.Time
	useless bool
}

func (e *ear) Dropped() { e.mu.Lock(); defer e.mu.Unlock(); e.drops++ }

func (e *ear) Alive(at time.Time) { e.mu.Lock(); defer e.mu.Unlock(); e.alive = append(e.alive, at) }

func (e *ear) Used() bool { e.mu.Lock(); defer e.mu.Unlock(); return !e.useless }

func (e *ear) dropped() int { e.mu.Lock(); defer e.mu.Unlock(); return e.drops }

func (e *ear) lived() []time.Time { e.mu.Lock(); defer e.mu.Unlock(); return e.alive }

const silence = 3 * time.Second

// inWorld runs a test with a tracker whose goroutines all end with it, in time that
// does not pass by itself.
func inWorld(t *testing.T, perKey bool, test func(t *testing.T, w *world, tracker *tracking.Tracker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, closing := &world{at: map[string]string{}}, make(chan struct{})
		var running sync.WaitGroup
		spawn := func(f func()) bool { running.Go(f); return true }
		test(t, w, tracking.New(w, tracking.Options{PerKey: perKey, Spawn: spawn, Closing: closing}))
		close(closing)
		running.Wait()
		for _, c := range w.tries() {
			assert.True(t, c.closed || w.refuses != nil, "a connection to %s stays open", c.addr)
		}
	})
}

func armed(t *testing.T, w *tracking.Watch) {
	t.Helper()
	left, err := w.Arm(t.Context())
	require.NoError(t, err)
	require.Equal(t, tracking.Stays, left)
}

func TestWhoWatchesAKeyIsToldOfItAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		var one, same, other ear
		for key, to := range map[string]*ear{"k": &one, "l": &other} {
			armed(t, tracker.Watch(key, silence, to))
		}
		again := tracker.Watch("k", silence, &same)
		armed(t, again)
		require.Len(t, w.tries(), 1, "one connection is enough")
		require.Equal(t, 3, tracker.Watches())
		c := w.tries()[0]
		c.changed([]string{"k", "unknown"})
		assert.Equal(t, []int{1, 1, 0}, []int{one.dropped(), same.dropped(), other.dropped()})
		again.Close()
		again.Close()
		c.changed(nil)
		assert.Equal(t, []int{2, 1, 1}, []int{one.dropped(), same.dropped(), other.dropped()})
		_, err := again.Arm(t.Context())
		require.ErrorIs(t, err, tracking.ErrClosed)
		require.NoError(t, again.Err())
	})
}

func TestAKeyThatIsNotThereIsNotArmed(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		var to, gone ear
		armed(t, tracker.Watch("k", silence, &to))
		w.tries()[0].set(func() { w.conns[0].says["gone"] = tracking.Answer{Left: tracking.Gone} })
		left, err := tracker.Watch("gone", silence, &gone).Arm(t.Context())
		require.NoError(t, err)
		require.Equal(t, tracking.Gone, left)
		assert.Empty(t, gone.lived())
		assert.Len(t, to.lived(), 1)
	})
}

// TestWhatIsBesideAKeyIsArmedWithIt, there or not, as one watch.
func TestWhatIsBesideAKeyIsArmedWithIt(t *testing.T) {
	t.Parallel()
	for _, perKey := range []bool{false, true} {
		inWorld(t, perKey, func(t *testing.T, w *world, tracker *tracking.Tracker) {
			var first, to ear
			armed(t, tracker.Watch("first", silence, &first))
			c := w.tries()[0]
			c.set(func() { c.says["beside"] = tracking.Answer{Left: tracking.Gone} })
			watch := tracker.Watch("k", silence, &to, "beside")
			armed(t, watch)
			require.Equal(t, []string{"k", "beside"}, c.asked[len(c.asked)-1])
			require.Equal(t, 2, tracker.Watches())
			c.changed([]string{"beside"})
			c.changed([]string{"k"})
			assert.Equal(t, []int{2, 0}, []int{to.dropped(), first.dropped()})
			c.set(func() { c.says["beside"] = tracking.Answer{Err: errors.New("MOVED")} })
			_, err := watch.Arm(t.Context())
			require.ErrorContains(t, err, "MOVED")
			watch.Close()
			c.changed([]string{"beside"})
			assert.Equal(t, 2, to.dropped())
			require.Equal(t, 1, tracker.Watches())
		})
	}
}

// TestWhatIsHeardIsAsOldAsItsQuestion, and comes three times in a silence.
func TestWhatIsHeardIsAsOldAsItsQuestion(t *testing.T) {
	t.Parallel()
	for _, perKey := range []bool{false, true} {
		inWorld(t, perKey, func(t *testing.T, _ *world, tracker *tracking.Tracker) {
			var to ear
			asked := time.Now()
			armed(t, tracker.Watch("k", 300*time.Millisecond, &to))
			require.Equal(t, []time.Time{asked}, to.lived())
			time.Sleep(time.Second)
			require.GreaterOrEqual(t, len(to.lived()), 9)
			for i, at := range to.lived()[1:] {
				require.WithinDuration(t, to.lived()[i], at, 110*time.Millisecond)
			}
		})
	}
}

func TestAConnectionThatEndsDropsAllAndIsOpenedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		var to ear
		watch := tracker.Watch("k", silence, &to)
		armed(t, watch)
		w.tries()[0].ended <- errors.New("cut")
		synctest.Wait()
		assert.Equal(t, 1, to.dropped())
		_, err := watch.Arm(t.Context())
		require.ErrorContains(t, err, "cut")
		require.ErrorContains(t, watch.Err(), "cut")
		time.Sleep(time.Second)
		require.Len(t, w.tries(), 2)
		armed(t, watch)
		w.tries()[0].changed([]string{"k"}) // late, of the old one: too much is no harm
		assert.Equal(t, 2, to.dropped())
	})
}

// TestASilentConnectionIsWaitedForOnce, and given up when it is silent for long.
func TestASilentConnectionIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		var to ear
		watch := tracker.Watch("k", silence, &to)
		armed(t, watch)
		w.tries()[0].set(func() { w.conns[0].silent = true })
		began := time.Now()
		_, err := watch.Arm(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		_, err = watch.Arm(t.Context())
		require.ErrorContains(t, err, "silent")
		require.Equal(t, time.Second, time.Since(began), "nobody waits for it again")
		require.Len(t, to.lived(), 1)
		time.Sleep(10 * time.Second)
		assert.Equal(t, 1, to.dropped())
		require.Len(t, w.tries(), 2)
		armed(t, watch)
	})
}

func TestTheEndOfACallerIsNotThatOfTheConnection(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		var to ear
		watch := tracker.Watch("k", silence, &to)
		armed(t, watch)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		w.tries()[0].set(func() { w.conns[0].silent = true })
		_, err := watch.Arm(ended)
		require.ErrorIs(t, err, context.Canceled)
		w.tries()[0].set(func() { w.conns[0].silent = false })
		armed(t, watch)
	})
}

func TestANodeThatIsNotTheOneAnyMoreIsLeft(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(w *world){
		"deposed":  func(w *world) { w.tries()[0].set(func() { w.conns[0].master = false }); w.move("k", "b") },
		"replaced": func(w *world) { w.move("k", "b") },
	} {
		inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
			var to ear
			watch := tracker.Watch("k", silence, &to)
			armed(t, watch)
			change(w)
			time.Sleep(2 * time.Second)
			assert.Equal(t, 1, to.dropped(), what)
			armed(t, watch)
			assert.Equal(t, "b", w.tries()[len(w.tries())-1].addr, what)
			time.Sleep(10 * time.Second)
			assert.Equal(t, 1, tracker.Nodes(), "%s: nobody asks the old one", what)
		})
	}
}

// TestOnAClusterEachKeyIsAskedFor that is used. One that is answered by an error is
// dropped, and the others count.
func TestOnAClusterEachKeyIsAskedFor(t *testing.T) {
	t.Parallel()
	inWorld(t, true, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		var moved, unused, gone, fine ear
		for key, to := range map[string]*ear{"moved": &moved, "unused": &unused, "gone": &gone, "fine": &fine} {
			armed(t, tracker.Watch(key, silence, to))
		}
		c := w.tries()[0]
		unused.mu.Lock()
		unused.useless = true
		unused.mu.Unlock()
		c.set(func() {
			c.says["moved"], c.says["gone"] = tracking.Answer{Err: errors.New("MOVED")}, tracking.Answer{Left: tracking.Gone}
			c.asked = nil
		})
		time.Sleep(1500 * time.Millisecond)
		asked := c.exchanges()
		require.Len(t, asked, 1)
		assert.ElementsMatch(t, []string{"moved", "gone", "fine"}, asked[0])
		assert.Equal(t, []int{1, 0, 0, 0}, []int{moved.dropped(), unused.dropped(), gone.dropped(), fine.dropped()})
		assert.Equal(t, []int{1, 1, 1, 2}, []int{len(moved.lived()), len(unused.lived()), len(gone.lived()), len(fine.lived())})
		assert.Equal(t, 1, w.doubted())
		w.move("fine", "b")
		assert.Len(t, w.tries(), 1)
	})
}

func TestManyKeysAreAskedForInPieces(t *testing.T) {
	t.Parallel()
	inWorld(t, true, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		for i := range 2500 {
			armed(t, tracker.Watch(fmt.Sprint(i), silence, &ear{}))
		}
		c := w.tries()[0]
		time.Sleep(10 * time.Second)
		c.set(func() { c.asked = nil })
		time.Sleep(1100 * time.Millisecond)
		asked := c.exchanges()
		require.Len(t, asked, 3)
		assert.Equal(t, []int{1000, 1000, 500}, []int{len(asked[0]), len(asked[1]), len(asked[2])})
	})
}

func TestWhereThereIsNoTrackingNobodyAsksOften(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		w.refuses = tracking.ErrUnsupported
		watch := tracker.Watch("k", silence, &ear{})
		_, err := watch.Arm(t.Context())
		require.ErrorIs(t, err, errors.ErrUnsupported)
		time.Sleep(30 * time.Second)
		assert.LessOrEqual(t, len(w.tries()), 7)
		assert.GreaterOrEqual(t, len(w.tries()), 3)
		require.ErrorIs(t, watch.Err(), errors.ErrUnsupported)
	})
}

// TestServersThatCannotBeReachedAreTriedAtLeastEachSecond, but not all the time.
func TestServersThatCannotBeReachedAreTriedAtLeastEachSecond(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		w.refuses = errors.New("down")
		watch := tracker.Watch("k", silence, &ear{})
		_, err := watch.Arm(t.Context())
		require.ErrorContains(t, err, "down")
		time.Sleep(30 * time.Second)
		tries := w.tries()
		assert.LessOrEqual(t, len(tries), 66)
		for i := range tries[1:] {
			assert.LessOrEqual(t, tries[i+1].opened.Sub(tries[i].opened), time.Second)
		}
		w.mu.Lock()
		w.refuses = nil
		w.conns = nil // those that were refused are closed by nobody
		w.mu.Unlock()
		time.Sleep(time.Second)
		armed(t, watch)
	})
}

func TestANodeThatNobodyWatchesIsLeft(t *testing.T) {
	t.Parallel()
	inWorld(t, false, func(t *testing.T, w *world, tracker *tracking.Tracker) {
		watch := tracker.Watch("k", silence, &ear{})
		armed(t, watch)
		watch.Close()
		require.Zero(t, tracker.Watches())
		time.Sleep(10 * time.Second)
		require.Zero(t, tracker.Nodes())
		w.tries()[0].set(func() { require.True(t, w.conns[0].closed) })
		armed(t, tracker.Watch("k", silence, &ear{}))
		require.Len(t, w.tries(), 2)
	})
}

// TestTrackerBeatIsThatOfTheWatchesThatAreOpen: one that bore little silence, and was
// closed, has nobody asked often any more.
func TestTrackerBeatIsThatOfTheWatchesThatAreOpen(t *testing.T) {
	t.Parallel()
	tr := tracking.New(nil, tracking.Options{})
	require.Equal(t, time.Second, tr.Beat())
	calm := tr.Watch("k", 1500*time.Millisecond, nil)
	hasty, again := tr.Watch("k", 100*time.Millisecond, nil), tr.Watch("l", 100*time.Millisecond, nil)
	require.Less(t, tr.Beat(), 50*time.Millisecond)
	hasty.Close()
	hasty.Close()
	require.Less(t, tr.Beat(), 50*time.Millisecond)
	again.Close()
	require.Equal(t, 500*time.Millisecond, tr.Beat())
	calm.Close()
	require.Equal(t, time.Second, tr.Beat())
}
