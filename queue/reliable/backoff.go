package reliable

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

const (
	firstBackoff = time.Second
	mostBackoff  = 10 * time.Minute
	// mostWaits is how many attempts are told apart of messages whose lease ran out.
	mostWaits = 32
)

// plainBackoff is 1 s behind the first attempt, twice that behind each further one, and
// at most 10 min.
func plainBackoff(attempt int) time.Duration {
	if attempt > 10 {
		return mostBackoff
	}
	return min(firstBackoff<<max(attempt-1, 0), mostBackoff)
}

// defaultBackoff is that and a tenth more or less.
func defaultBackoff(attempt int) time.Duration {
	d := plainBackoff(attempt)
	return d - d/10 + rand.N(d/5+1)
}

// waitsOf is how long messages wait whose lease ran out, for step.lua. The first time
// nothing says that it was the message's fault: it is another's at once. From then on
// it may be what kills its consumers.
func waitsOf(backoff func(attempt int) time.Duration, attempts int) string {
	waits := []string{"0"}
	for n := 1; n < min(attempts, mostWaits); n++ {
		waits = append(waits, decimal(engine.Millis(min(max(backoff(n), 0), engine.LongestLease))))
	}
	return strings.Join(waits, " ")
}
