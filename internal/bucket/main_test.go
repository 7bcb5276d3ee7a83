package bucket

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func perSecond(n int64, burst ...int64) Rate { return every(n, time.Second, burst) }
func perMinute(n int64, burst ...int64) Rate { return every(n, time.Minute, burst) }
func perHour(n int64, burst ...int64) Rate   { return every(n, time.Hour, burst) }

func every(n int64, per time.Duration, burst []int64) Rate {
	return Rate{N: n, Per: per, Burst: append(burst, n)[0]}
}
