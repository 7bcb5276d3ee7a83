package watchdog

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeClock is the bubble's clock, with what the two real ones can do beyond
// it.
type fakeClock struct {
	mu         sync.Mutex
	base       time.Time
	mono, wall time.Duration // jumps so far
	looks      int
}

func (c *fakeClock) now() Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return Instant{}.Add(time.Since(c.base)).jumped(c.mono, c.wall)
}

func (i Instant) jumped(mono, wall time.Duration) Instant {
	return Instant{Mono: i.Mono + mono, Wall: i.Wall + wall}
}

// suspend is what a machine does that sleeps for d: only the wall clock goes on.
func (c *fakeClock) suspend(d time.Duration) { c.jump(0, d) }

// stop is what SIGSTOP and SIGCONT do to a process: both clocks went on, and
// no timer has fired yet.
func (c *fakeClock) stop(d time.Duration) { c.jump(d, d) }

func (c *fakeClock) jump(mono, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono += mono
	c.wall += wall
}

// looked is how often somebody looked at the clock since the last time.
func (c *fakeClock) looked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.looks
	c.looks = 0
	return n
}

// batch is one call of Renew.
type batch struct {
	at       time.Duration
	timeout  time.Duration
	attempts []Attempt
}

func (b batch) misses() []int {
	var all []int
	for _, a := range b.attempts {
		all = append(all, a.Misses)
	}
	return all
}

// fakeRenewer notes what is asked of it, and lets reply answer each attempt on
// a goroutine of its own. Without reply nothing is answered.
type fakeRenewer struct {
	now     Clock
	replies sync.WaitGroup

	mu      sync.Mutex
	reply   func(a Attempt, started Instant)
	batches []batch
}

func (r *fakeRenewer) Renew(attempts []Attempt, timeout time.Duration) {
	started := r.now()
	r.mu.Lock()
	r.batches = append(r.batches, batch{started.Mono, timeout, attempts})
	reply := r.reply
	r.mu.Unlock()
	if reply == nil {
		return
	}
	for _, a := range attempts {
		r.replies.Go(func() { reply(a, started) })
	}
}

// answering changes what becomes of the attempts from now on.
func (r *fakeRenewer) answering(reply func(a Attempt, started Instant)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = reply
}

// take returns the batches since the last time.
func (r *fakeRenewer) take() []batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.batches
	r.batches = nil
	return all
}

// end is what onEnd was told.
type end struct {
	cause error
	at    time.Duration
}

// world is a watchdog on a fake clock with a fake renewer, in a bubble.
type world struct {
	*fakeRenewer
	clock *fakeClock
	dog   *Watchdog
}

// inWorld runs test in a bubble. A goroutine that outlives the watchdog's
// Close makes the bubble fail.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := &fakeClock{base: time.Now()}
		w := &world{fakeRenewer: &fakeRenewer{now: clock.now}, clock: clock}
		w.dog = Start(clock.now, w.fakeRenewer)
		defer w.replies.Wait()
		defer w.dog.Close()
		test(t, w)
	})
}

// fine answers every attempt well after a round trip.
func (w *world) fine(trip time.Duration) func(Attempt, Instant) {
	return func(a Attempt, started Instant) {
		time.Sleep(trip)
		w.dog.Renewed(a, started)
	}
}

// failing gives every attempt up after a round trip.
func (w *world) failing(trip time.Duration) func(Attempt, Instant) {
	return func(a Attempt, _ Instant) {
		time.Sleep(trip)
		w.dog.Missed(a)
	}
}

// held is a lease and what it was told.
type held struct {
	*Lease
	mu   sync.Mutex
	ends []end
}

func (h *held) told() []end {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends
}

// make returns a lease that was won just now and is not in care yet.
func (w *world) make(length, every time.Duration) *held {
	h := new(held)
	h.Lease = newLease(w.clock.now(), length, every, func(cause error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ends = append(h.ends, end{cause, w.clock.now().Mono})
	})
	return h
}

// keep puts a lease into care that was won just now.
func (w *world) keep(length, every time.Duration) *held {
	h := w.make(length, every)
	w.dog.Add(h.Lease)
	return h
}

// till sleeps until d after the start of the bubble, and until all that is due
// by then is done.
func (w *world) till(d time.Duration) {
	time.Sleep(d - time.Since(w.clock.base))
	synctest.Wait()
}

func live(t *testing.T, h *held) {
	t.Helper()
	cause, ended := h.Ended()
	assert.False(t, ended, "it ended: %v", cause)
	assert.NoError(t, cause)
	assert.Empty(t, h.told())
}

// endedAt checks that the lease ended once, then, and with that cause.
func endedAt(t *testing.T, h *held, at time.Duration, cause error) {
	t.Helper()
	got, ended := h.Ended()
	assert.True(t, ended)
	assert.Equal(t, cause, got)
	assert.Equal(t, []end{{cause, at}}, h.told())
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// starts is when the batches went out.
func starts(batches []batch) (at []time.Duration) {
	for _, b := range batches {
		at = append(at, b.at)
	}
	return at
}

// newLease is a lease of its own, whose end is told to a function.
func newLease(started Instant, length, every time.Duration, onEnd enderFunc) *Lease {
	l := new(Lease)
	l.Init(started, length, every, Instant{}, onEnd)
	return l
}

type enderFunc func(cause error)

func (f enderFunc) LeaseEnded(cause error) { f(cause) }
