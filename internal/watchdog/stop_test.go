package watchdog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// until keeps a lease that has a hard end.
func (w *world) keepUntil(stop time.Duration) *held {
	h := new(held)
	h.Lease = new(Lease)
	now := w.clock.now()
	h.Init(now, length, every, now.Add(stop), enderFunc(func(cause error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ends = append(h.ends, end{cause, w.clock.now().Mono})
	}))
	w.dog.Add(h.Lease)
	return h
}

// asks is what the batches asked for.
func asks(batches []batch) (all []time.Duration) {
	for _, b := range batches {
		for _, a := range b.attempts {
			all = append(all, a.Ask)
		}
	}
	return all
}

// The lease is 30 s, renewed every 10 s.
func TestNeitherRenewalsNorTrustGoBeyondTheHardEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(0))
		h := w.keepUntil(55 * time.Second)
		assert.False(t, h.Kept(), "not for as long as it is wanted")
		warning := h.Expiring()
		w.till(time.Hour)
		// At 30 s the rest is 25 s, which is all that is left to ask for.
		assert.Equal(t, []time.Duration{length, length, 25 * time.Second}, asks(w.take()))
		assert.False(t, closed(warning), "all renewals got through")
		endedAt(t, h, 55*time.Second-Margin(25*time.Second), ErrRanOut)
	})
}

func TestAHardEndWithinTheFirstLeaseIsNotRenewedAtAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keepUntil(20 * time.Second)
		w.dog.Hurry(h.Lease)
		w.till(time.Hour)
		assert.Empty(t, w.take())
		endedAt(t, h, 20*time.Second-Margin(20*time.Second), ErrRanOut) // no more was to be had
	})
}

func TestRenewalsThatFailBeforeAHardEndAreToldOf(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.failing(0))
		h := w.keepUntil(50 * time.Second)
		warning := h.Expiring()
		w.till(16 * time.Second)
		assert.True(t, closed(warning))
		w.till(time.Hour)
		endedAt(t, h, length-Margin(length), ErrRanOut)
	})
}

// Whoever set the end may move it; the server is asked in steps as before.
func TestAHardEndMovesWithTheWordOfTheHolder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(0))
		h := w.keepUntil(20 * time.Second)
		w.till(5 * time.Second)
		now := w.clock.now()
		assert.Equal(t, 10*time.Second, w.dog.Outlast(h.Lease, now, 10*time.Second), "less than is left")
		assert.Equal(t, length, w.dog.Outlast(h.Lease, now, 60*time.Second))
		w.dog.Grown(h.Lease, now, length)
		w.till(time.Hour)
		assert.NotEmpty(t, w.take())
		cause, ended := h.Ended()
		assert.True(t, ended)
		assert.Equal(t, ErrRanOut, cause)
		at := h.told()[0].at
		assert.Greater(t, at, 60*time.Second)
		assert.LessOrEqual(t, at, 65*time.Second-2*time.Millisecond, "5 s and 60 s, less a margin")
	})
}

func TestALeaseWithoutAHardEndGrowsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		h := w.keep(length, every)
		assert.Equal(t, time.Hour, w.dog.Outlast(h.Lease, w.clock.now(), time.Hour))
		assert.True(t, h.Kept())
	})
}

// A suspended machine's wall clock goes on, and with it the end comes.
func TestTheHardEndIsOneOfTheWallClockToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.answering(w.fine(0))
		h := w.keepUntil(50 * time.Second)
		w.till(time.Second)
		w.clock.suspend(25 * time.Second)
		w.till(2 * time.Second)
		assert.Equal(t, []time.Duration{24*time.Second - Tick}, asks(w.take())[:1], "what the wall clock leaves")
		w.till(time.Hour)
		at := h.told()[0].at
		assert.LessOrEqual(t, at, 25*time.Second)
	})
}
