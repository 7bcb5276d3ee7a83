package redistest

import (
	"sync"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/pace"
)

// Scaled returns d for this machine: d itself on the one for which the tests were written, more on a slower one. Leases,
// watchdog timeouts and limits of tests are scaled, so that what has to happen within them has as much work done for it.
func Scaled(d time.Duration) time.Duration { return pace.Scale(d) }

const (
	// timedRounds is how often [Within] tries.
	timedRounds = 5
	beat        = 2 * time.Millisecond
)

// Within fails the test if what a round measures is above limit. A metronome notes for how long this process itself stood
// still during the round. A late round in which that was more than a quarter of the limit is not judged: the round is run
// again, five times at most, and counted by the summary of `make test`. The test fails if no late round could be judged.
//
// The limit is taken as it is. A limit that only says "soon" is scaled by the caller; one that tells a message from a
// sleep of the library, which is as long on every machine, is not.
//
// The round fails the test by itself for everything that is no matter of time, and leaves nothing that disturbs another
// round.
func Within(t testing.TB, limit time.Duration, round func() time.Duration) {
	t.Helper()
	var took, still time.Duration
	for i := range timedRounds {
		stop := Metronome()
		took = round()
		still = stop()
		if took <= limit {
			t.Attr("rounds", took.String())
			return
		}
		if still <= limit/4 {
			t.Fatalf("it took %v, more than %v, and this process stood still for %v", took, limit, still)
		}
		t.Attr("repeated", still.String())
		t.Logf("round %d is not judged: it took %v, and this process stood still for %v", i+1, took, still)
	}
	t.Fatalf("no round of %d could be judged: the last one took %v, and this process stood still for %v", timedRounds, took, still)
}

// Metronome wakes every few milliseconds until it is stopped, and then returns for how long this process stood still in all.
// What timers are usually late by does not count.
func Metronome() (stop func() time.Duration) {
	done := make(chan struct{})
	var ended sync.WaitGroup
	var still time.Duration
	last := time.Now() // here: the goroutine may run for the first time when the process already stood still
	ended.Go(func() {
		tick := time.NewTimer(beat)
		defer tick.Stop()
		for {
			over := false
			select {
			case <-tick.C:
			case <-done:
				over = true
			}
			now := time.Now()
			if late := now.Sub(last) - 2*beat; late > 0 {
				still += late
			}
			if over {
				return
			}
			last = now
			tick.Reset(beat)
		}
	})
	return func() time.Duration {
		close(done)
		ended.Wait()
		return still
	}
}
