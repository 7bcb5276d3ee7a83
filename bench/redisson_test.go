package bench

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
	java "github.com/rueidisson/rueidisson/interop/peer"
)

var withRedisson = flag.Bool("redisson", false, "TestRatios: also the rows by Redisson, which need a JDK and Maven")

// redissonRows compare with Redisson on a JVM, which has threads where ours has goroutines. None has a goal.
var redissonRows = []row{
	{"lock, own keys, 1 goroutine, by Redisson", "us/pair", goal{}, besideRedisson("own", "rueidisson", 1, microseconds)},
	{"lock, own keys, 64 goroutines, by Redisson", "pairs/s", goal{}, besideRedisson("own", "rueidisson", 64, asIs)},
	{"lock, hot key, 16 goroutines, by Redisson", "pairs/s", goal{}, besideRedisson("hot", "rueidisson", 16, asIs)},
	{"fair lock, own keys, 64 goroutines, by Redisson", "pairs/s", goal{}, besideRedisson("fair", "fair", 64, asIs)},
	{"semaphore of 8 permits, 64 goroutines, by Redisson", "pairs/s", goal{}, besideRedisson("semaphore", "few permits", 64, asIs)},
	{"limiter, hot key, 64 goroutines, by Redisson", "decisions/s", goal{}, besideRedisson("limiter", "limiter", 64, asIs)},
	{"map, Get of one hash, 64 goroutines, by Redisson", "calls/s", goal{}, besideRedisson("get", "map get", 64, asIs)},
	{"map, Put, 64 goroutines, by Redisson", "calls/s", goal{}, besideRedisson("put", "map put", 64, asIs)},
	{"queue, Offer and Take, 64 goroutines, by Redisson", "pairs/s", goal{}, besideRedisson("queue", "queue", 64, asIs)},
}

// warmUp is for how long a JVM does what is measured before it is.
const warmUp = 3 * time.Second

// besideRedisson compares goroutines of ours with as many threads of a JVM.
func besideRedisson(scenario, ours string, goroutines int, as func(measure) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		jvm := java.Start(t, java.Options{Addr: s.Addr(), Full: true})
		rate := func(d time.Duration) (float64, error) {
			n, err := jvm.Bench(context.Background(), scenario, "redisson", goroutines, d)
			return float64(n) / d.Seconds(), err
		}
		if _, err := rate(warmUp); err != nil {
			t.Fatal(err)
		}
		on := onOwnKeys
		if scenario != "own" && scenario != "fair" {
			on = onOneKey
		}
		return sides{ours: as(on(connect(t, ours, s.Addr()), "ours", goroutines).rate), base: as(rate), peer: true, long: true}
	}
}
