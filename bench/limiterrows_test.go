package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

var limiterRows = []row{
	{"limiter, 1 goroutine", "us/decision", goal{atMost: 1.10}, decisions(1, "bucket script", microseconds)},
	{"limiter, hot key, 256 goroutines, by script", "decisions/s", goal{}, decisions(256, "bucket script", asIs)},
	{"limiter, hot key, 256 goroutines, by redis_rate", "decisions/s", goal{}, decisions(256, "redis_rate", asIs)},
	{"limiter, hot key, 256 goroutines, by window script", "decisions/s", goal{}, decisions(256, "window script", asIs)},
	{"limiter, hot key, 256 goroutines, CPU of the client", "us/decision", goal{atMost: 1.3, why: "the server is idle: the client's processor decides, and bases differ by server"}, timeOfClient("limiter", 256)},
	{"two limits of a hot key, 1 and 1 to 1,000 tokens, 256 goroutines, by script", "decisions/s", goal{atLeast: 5}, limits(256)},
	{"limiter, 10,000 keys, 64 goroutines", "decisions/s", goal{atLeast: 0.9}, spreadDecisions("bucket script", nil)},
	{"limiter, 10,000 keys, CPU of the server, by redis_rate", "us/decision", goal{atMost: 1}, spreadDecisions("redis_rate", serverCPU)},
	{"limiter, 10,000 keys, CPU of the client, by script", "us/decision", goal{}, spreadDecisions("bucket script", clientCPU)},
	{"limiter, 10,000 keys, 64 goroutines, by GCRA script", "decisions/s", goal{atLeast: 0.9}, besideGCRA(perSecond)},
	{"limiter, 10,000 keys, CPU of the server, by GCRA script", "us/decision", goal{atMost: 1.1}, besideGCRA(serverCPU)},
	{"limiter, 10,000 keys, time in scripts, by GCRA script", "us/decision", goal{atMost: 1.1}, besideGCRA(inScripts)},
	{"limiter, 10,000 keys, CPU of the client, by GCRA script", "us/decision", goal{}, besideGCRA(clientCPU)},
	{"limiter, memory of a key above redis_rate's", "bytes", goal{atMost: 32}, bucketMemory("user:42")},
	{"limiter, memory of a key of 18 characters above redis_rate's", "bytes", goal{atMost: 32}, bucketMemory("user:4711081500042")},
	{"limiter, hot key, 64 goroutines, round trip + 1 ms, p99", "ms", goal{atMost: 1.5}, distantDecisions(64)},
	{"limiter, hot key, 256 goroutines, round trip + 1 ms, p99", "ms", goal{}, distantDecisions(256)},
}

// decisions compares decisions of goroutines about one key.
func decisions(goroutines int, base string, as func(measure) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure {
			return as(onOneKey(connect(t, name, s.Addr()), "hot", goroutines).rate)
		}
		return sides{ours: side("limiter"), base: side(base)}
	}
}

// spreadDecisions compares decisions of 64 goroutines about 10,000 keys: how
// many, or what they cost.
func spreadDecisions(base string, cpu func(*testing.T, *redistest.Server, *workers) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure {
			w := spread(connect(t, name, s.Addr()), 64, limiterKeys)
			if cpu == nil {
				return w.rate
			}
			return cpu(t, s, w)
		}
		return sides{ours: side("limiter"), base: side(base)}
	}
}

// limits compares decisions of goroutines about two limits of one key, each of
// another number of tokens.
func limits(goroutines int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure { return onOneKey(connect(t, name, s.Addr()), "hot", goroutines).rate }
		return sides{ours: side("limits"), base: side("limits script")}
	}
}

// bucketMemory is what a key of ours takes beyond one of redis_rate's.
func bucketMemory(user string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		c := s.Client(t)
		usage := func(impl, key string) (float64, error) {
			if _, err := connect(t, impl, s.Addr()).locker(user)(context.Background()); err != nil {
				return 0, err
			}
			n, err := c.Do(context.Background(), c.B().MemoryUsage().Key(key).Build()).AsInt64()
			return float64(n), err
		}
		var ours, theirs float64
		return sides{
			ours: once(func(time.Duration) (_ float64, err error) {
				if ours, err = usage("steady limiter", "rate:{"+user+"}"); err != nil {
					return 0, err
				}
				theirs, err = usage("steady redis_rate", "rate:"+user)
				return ours - theirs, err
			}),
			note: func() string { return fmt.Sprintf("%.0f and %.0f, both at 10 an hour", ours, theirs) },
		}
	}
}

// distantDecisions is the 99th percentile of decisions about one key on a
// server that is a millisecond further away.
func distantDecisions(goroutines int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		proxy := redistest.NewProxy(t, s.Addr())
		proxy.Delay(time.Millisecond/2, time.Millisecond/2)
		side := func(name string) measure {
			return onOneKey(connect(t, name, proxy.Addr()), "distant", goroutines).p99
		}
		return sides{ours: side("limiter"), base: side("bucket script"), long: true}
	}
}

// p99 is the 99th percentile of the time of a pair, in milliseconds.
func (w *workers) p99(d time.Duration) (float64, error) {
	var mu sync.Mutex
	var all []time.Duration
	ends := time.Now().Add(d)
	err := w.each(func(ctx context.Context, l locker) error {
		var took []time.Duration
		for began := time.Now(); began.Before(ends); began = time.Now() {
			if err := l.pair(ctx, 0); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, took...)
		return nil
	})
	slices.Sort(all)
	return float64(all[len(all)*99/100]) / float64(time.Millisecond), err
}
