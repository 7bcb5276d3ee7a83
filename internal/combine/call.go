package combine

import "sync/atomic"

// Call is one caller's part of a batch. Send reads Ask and fills in Answer, and
// keeps neither the call nor the batch.
type Call[Q, A any] struct {
	Ask    Q
	Answer A

	manner manner
	fate   atomic.Uint32 // of a call whose caller may leave
	err    error         // set before done is sent
	done   chan struct{} // one place, so that nobody waits for the caller

	queued bool   // the rest is under the shard's mutex
	place  uint64 // in the line
}

// manner is how somebody waits for the answer.
type manner uint8

const (
	staying manner = iota // the caller's context never ends
	leaving               // the caller's context may end first
	posted                // nobody waits
)

// The fates: whichever of the caller and the flight comes first decides.
const (
	open uint32 = iota
	landed
	gone
)

// settle tells the caller. It reports false if the caller has gone: then the
// call is the flight's to give back.
func (c *Call[Q, A]) settle(err error) bool {
	if c.manner == leaving && !c.fate.CompareAndSwap(open, landed) {
		return false
	}
	c.err = err
	c.done <- struct{}{}
	return true
}

// leave reports whether the caller goes without an answer. If not, the answer
// is on done, or about to be.
func (c *Call[Q, A]) leave() bool { return c.fate.CompareAndSwap(open, gone) }

// Of returns the calls of a batch whose asks are of a kind. The others have this
// answer.
func Of[Q, A any](batch []*Call[Q, A], kind func(*Q) bool, other A) (left []*Call[Q, A]) {
	for _, c := range batch {
		if kind(&c.Ask) {
			left = append(left, c)
		} else {
			c.Answer = other
		}
	}
	return left
}
