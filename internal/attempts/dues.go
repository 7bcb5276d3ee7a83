package attempts

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Dues is when messages that failed in a process come again to it. Its zero value is none.
type Dues struct {
	mu sync.Mutex
	at []time.Duration // since the process began, in order
}

// born is what Dues count from.
var born = time.Now()

// slack is what the server's milliseconds round away.
const slack = 2 * time.Millisecond

// Add notes one that comes in wait. It comes with a later one that is near, so that there are few.
func (d *Dues) Add(wait time.Duration) {
	at := time.Since(born) + wait + slack
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := slices.BinarySearch(d.at, at)
	if i == len(d.at) || d.at[i] > at+wait/16 {
		d.at = slices.Insert(d.at, i, at)
	}
}

// Passed reports whether some have come, and forgets those.
func (d *Dues) Passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := slices.BinarySearch(d.at, time.Since(born)+1)
	d.at = slices.Delete(d.at, 0, i)
	return i > 0
}

// Left returns when the next one comes.
func (d *Dues) Left() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.at) == 0 {
		return math.MaxInt64
	}
	return max(d.at[0]-time.Since(born), 0)
}
