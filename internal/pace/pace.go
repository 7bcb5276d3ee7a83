// Package pace measures how fast this machine is, so that tests take longer on a slow one and do not fail.
//
// A run of `make test` measures once and hands the factor to its processes by the environment. A test process that finds
// no factor there measures for itself.
package pace

import (
	"crypto/sha256"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Variable is the name of the environment variable that holds the factor of a run.
const Variable = "RUEIDISSON_PACE"

const (
	// slowest bounds the factor: a test that needs more than ten times its usual time has another cause.
	slowest = 10
	// The work is hashing, on every processor at once. It took 100 ms on the machine for which the leases and bounds of
	// the tests were chosen: two cores of 2.5 GHz with nothing beside.
	rounds  = 2000
	block   = 64 << 10
	nominal = 100 * time.Millisecond
)

// Factor returns how many times slower this machine is than the one for which the tests were written: 1 to 10.
var Factor = sync.OnceValue(func() float64 {
	if f, err := strconv.ParseFloat(os.Getenv(Variable), 64); err == nil {
		return bounded(f)
	}
	return Measure()
})

// Measure does the fixed piece of work three times, and returns the factor of the middle one: a machine that stood still
// for a moment is not slow.
func Measure() float64 {
	all := []float64{once(), once(), once()}
	slices.Sort(all)
	return bounded(all[1])
}

func once() float64 {
	began := time.Now()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			data := make([]byte, block)
			for range rounds {
				sum := sha256.Sum256(data)
				copy(data, sum[:])
			}
		})
	}
	workers.Wait()
	return float64(time.Since(began)) / float64(nominal)
}

func bounded(f float64) float64 { return min(max(f, 1), slowest) }

// Scale returns d for a machine of this factor.
func Scale(d time.Duration) time.Duration { return time.Duration(float64(d) * Factor()) }

// most is how many parallel tests of a package run at once on the fastest machine. They wait for servers, leases and
// each other for most of their time, so as many as there are processors would leave these idle.
const most = 8

// Tests returns how many parallel tests of one package run at once: fewer on a slower machine.
func Tests() int { return max(int(most/Factor()), 4) }

// Packages returns how many packages are tested at once: one on a machine of less than half the speed, and one more than
// there are processors on a fast one, since most of a package's tests wait for leases most of the time.
func Packages() int {
	switch {
	case Factor() > 2:
		return 1
	case Factor() > 1.3:
		return runtime.GOMAXPROCS(0)
	}
	return runtime.GOMAXPROCS(0) + 1
}
