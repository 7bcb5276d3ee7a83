package locking

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Ask is what a caller wants of an acquire, options resolved.
type Ask struct {
	Lease   time.Duration // 0: the watchdog's, renewed
	Wait    time.Duration // how long a bounded one may wait
	Bounded bool          // give up when Wait is over, at once if it is 0
	Shared  bool          // others may hold it at the same time, such as readers
}

// terms are how a lease is kept.
type terms struct {
	lease time.Duration    // what a renewal asks for
	every time.Duration    // between renewals; 0: none
	end   watchdog.Instant // neither goes beyond; zero: no such end
}

// terms returns those of what an attempt that started then has won, for lease on the
// server. Several share a key's time to live, and another library shortens it to
// its own watchdog's: so a shared lease stands there in steps of ours, which are
// renewed until it ends, and is trusted for a step at most.
func (a Ask) terms(e *Engine, started watchdog.Instant, lease time.Duration) terms {
	switch {
	case a.Lease == 0:
		return terms{lease: lease, every: e.WatchdogTimeout / 3}
	case a.Shared:
		return terms{lease: e.WatchdogTimeout, every: e.WatchdogTimeout / 3, end: started.Add(a.Lease)}
	}
	return terms{lease: lease}
}
