package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// backlog is a queue of which is taken for a while, and in which there always is
// something then: who waits for messages is another row.
type backlog struct {
	raw     rueidis.Client
	most    float64 // how many are taken in a second, at most
	add     func(n int) error
	take    measure // messages per second
	waiting float64
}

// taking compares processes that take and acknowledge with as many of asynq. Handlers
// do nothing.
func taking(processes int, name string, figure func(*backlog, time.Duration) (float64, error)) func(*testing.T, *redistest.Server) sides {
	return takingBeside("asynq add", "asynq take", 40_000, processes, name, figure)
}

// takingBeside compares such processes with as many of a peer. The implementation adds fills the peer's queue, and takes
// empties it. The peer takes up to most messages in a second.
func takingBeside(adds, takes string, most float64, processes int, name string, figure func(*backlog, time.Duration) (float64, error)) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		ours := onOneKey(connect(t, "reliable add all", s.Addr()), "fleet-"+name, 1)
		peer := onOneKey(connect(t, adds, s.Addr()), "fleet-"+takes, asynqWorkers)
		side := func(name string, most float64, add func(n int) error) measure {
			b := &backlog{raw: s.Client(t), most: most, add: add}
			if err := b.fill(*slice); err != nil { // asynq looks once a second if there is nothing
				t.Fatal(err)
			}
			b.take = takers64(t, s, name, processes)
			return func(d time.Duration) (float64, error) { return figure(b, d) }
		}
		return sides{
			ours: side(name, 300_000, func(n int) error { return ours.runTimes(n / len(thousand)) }),
			base: side(takes, most, peer.runTimes),
			long: processes > 1,
		}
	}
}

// takers64 is 64 goroutines in each of the processes, of which the only one is this.
func takers64(t *testing.T, s *redistest.Server, name string, processes int) measure {
	if processes > 1 {
		return startFleet(t, name, s.Addr(), processes, 64, 0).rate
	}
	i := connect(t, name, s.Addr())
	return func(d time.Duration) (float64, error) {
		pairs, err := window(onOneKey(i, "fleet-"+name, 64), d)
		return float64(pairs) / d.Seconds(), err
	}
}

var errDry = errors.New("the backlog ran dry")

// fill sees to it that there are enough for d.
func (b *backlog) fill(d time.Duration) error {
	n := int(b.most*d.Seconds()+1000-b.waiting) / 1000 * 1000
	if n <= 0 {
		return nil
	}
	b.waiting += float64(n)
	return b.add(n)
}

func (b *backlog) taken(d time.Duration) (perSecond float64, err error) {
	perSecond, err = b.take(d)
	b.waiting -= perSecond * d.Seconds()
	if b.waiting <= 0 && err == nil {
		err = errDry
	}
	return perSecond, err
}

// rate is how many messages are taken in a second.
func (b *backlog) rate(d time.Duration) (perSecond float64, err error) {
	if err := b.fill(d); err != nil {
		return 0, err
	}
	return b.taken(d)
}

// serverTime is what the server's processor has to do for each message that is taken, in
// microseconds.
func (b *backlog) serverTime(d time.Duration) (float64, error) {
	if err := b.fill(d); err != nil {
		return 0, err
	}
	before, err := usedCPU(b.raw)
	if err != nil {
		return 0, err
	}
	perSecond, err := b.taken(d)
	if err != nil {
		return 0, err
	}
	after, err := usedCPU(b.raw)
	return float64((after - before).Nanoseconds()) / 1e3 / (perSecond * d.Seconds()), err
}
