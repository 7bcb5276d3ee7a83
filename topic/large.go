package topic

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/send"
)

// mostLarge is how many large exchanges of a server are under way, and crowdedFor when a feed tries again
// for which there was no room.
const (
	mostLarge  = 2
	crowdedFor = 50 * time.Millisecond
	// mostExpected bounds what is expected of an answer of unknown length.
	mostExpected = 256 << 20
)

var errCrowded = errors.New("other long messages of the server are on their way")

// large sends an exchange by a connection of its own. It takes a third of a lease at most; only a send under way may take longer.
func (f *feed) large(l *link, op send.Operation, on, args []string) (msg rueidis.RedisMessage, err error) {
	if !l.large.TryAcquire(1) {
		return msg, errCrowded
	}
	defer l.large.Release(1)
	ctx, cancel := context.WithTimeout(context.Background(), f.lease()/3)
	defer cancel()
	defer f.holdsOn()()
	// An answer that did not come in time may be of any length.
	a := &f.amount
	expected := min(max(a.bytes(), 1<<20)<<min(2*max(a.late-1, 0), 10), max(mostExpected, a.bytes()))
	got, err := f.h.e.Run(ctx, send.Expect(op, expected), on, args)
	if send.NotSent(err) {
		return msg, errCrowded
	}
	return got.RedisMessage, err
}

// holdsOn tends the feed now and then during its visit, until over is called.
func (f *feed) holdsOn() (over func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	hold := func() {
		defer close(ended)
		timer := time.NewTicker(max(f.lease()/3, time.Millisecond))
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-done:
				return
			case <-f.h.e.Closing():
				return
			}
			_ = f.tend(time.Now()) // the visit says it again
		}
	}
	if !f.h.e.Spawn(hold) { // ends with done, or the client
		return func() {}
	}
	return func() {
		close(done)
		<-ended
	}
}
