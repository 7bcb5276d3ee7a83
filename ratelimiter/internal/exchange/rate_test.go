package exchange

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// Rate is what tests are about; it reads better without its package.
type Rate = bucket.Rate

func PerSecond(n int64) Rate                { return Every(n, time.Second) }
func PerMinute(n int64) Rate                { return Every(n, time.Minute) }
func PerHour(n int64) Rate                  { return Every(n, time.Hour) }
func Every(n int64, per time.Duration) Rate { return Rate{N: n, Per: per, Burst: n} }

var (
	resolve    = bucket.Resolve
	travelling = bucket.Travelling
)

// Decision is what a caller makes of an answer.
type Decision struct {
	Allowed                bool
	Limit, Remaining       int64
	RetryAfter, ResetAfter time.Duration
	Rate                   Rate
}

func (a Answer) decision(n int64) Decision {
	d := Decision{Allowed: a.OK, Limit: a.Rule.Burst, Rate: a.Rule.Rate, Remaining: a.Remaining(), ResetAfter: a.Full()}
	if !a.OK {
		d.RetryAfter = max(a.Enough(n), time.Microsecond)
	}
	return d
}
