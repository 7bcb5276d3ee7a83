package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

var rows = []row{
	{"own keys, 1 goroutine", "us/pair", goal{atMost: 1.10}, ownKeys(1, microseconds)},
	{"own keys, 64 goroutines", "pairs/s", goal{}, ownKeys(64, asIs)},
	{"own keys, 256 goroutines", "pairs/s", goal{atLeast: 0.9}, ownKeys(256, asIs)},
	{"own keys, 256 goroutines, CPU of the client", "us/pair", goal{}, cpuOnOwnKeys(256, clientCPU)},
	{"own keys, 256 goroutines, CPU of the server", "us/pair", goal{}, cpuOnOwnKeys(256, serverCPU)},
	{"hot key, 16 goroutines", "pairs/s", goal{}, hotKey(16)},
	{"hot key, 128 goroutines", "pairs/s", goal{atLeast: 25}, hotKey(128)},
	{"4 processes x 8, hold 0", "acquisitions/s", goal{atLeast: 15}, processes(0)},
	{"4 processes x 8, hold 1ms", "acquisitions/s", goal{}, processes(time.Millisecond)},
	{"wake-up", "us", goal{atMost: 1.15}, wakeUp("rueidisson", "floor")},
	{"1,000 waiters in 4 processes", "script calls/s", goal{atMost: 10}, waiting("rueidisson")},
	{"re-entry and its unlock", "ns", goal{atMost: 1000}, reenter},
	{"re-entry and its unlock, commands", "script calls", goal{}, reenterCommands},
	{"allocations of a pair beyond the floor's", "allocations", goal{atMost: 12}, allocations},
	{"10,000 held, resident memory", "MB above idle", goal{atMost: 20}, held((*household).megabytes)},
	{"10,000 held, heap and stacks", "MB above idle", goal{}, held((*household).heapMegabytes)},
	{"10,000 held, goroutines", "goroutines", goal{atMost: 25}, held(func(h *household) float64 { return float64(h.held.goroutines) })},
	{"10,000 held, scripts per hold and lease/3", "scripts", goal{atMost: 1}, renewals},
}

func asIs(m measure) measure { return m }

// ownKeys compares pairs on keys of each goroutine's own.
func ownKeys(goroutines int, as func(measure) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure {
			return as(onOwnKeys(connect(t, name, s.Addr()), name, goroutines).rate)
		}
		return sides{ours: side("rueidisson"), base: side("floor")}
	}
}

func cpuOnOwnKeys(goroutines int, cpu func(*testing.T, *redistest.Server, *workers) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure {
			return cpu(t, s, onOwnKeys(connect(t, name, s.Addr()), name, goroutines))
		}
		return sides{ours: side("rueidisson"), base: side("floor")}
	}
}

// hotKey compares goroutines of one process that compete for one key.
func hotKey(goroutines int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) *workers {
			return onOneKey(connect(t, name, s.Addr()), name, goroutines).guarding(ownGuarded(t))
		}
		ours, base := side("rueidisson"), side("floor")
		return sides{ours: ours.rate, base: base.rate, lost: func() (int64, int64) { return ours.lost(), base.lost() }}
	}
}

func processes(hold time.Duration) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		ours := startFleet(t, "rueidisson", s.Addr(), 4, 8, hold)
		peer := startFleet(t, "rueidislock", s.Addr(), 4, 8, hold)
		return sides{
			ours: ours.rate, base: peer.rate, long: true, lost: func() (int64, int64) { return ours.lost(), peer.lost() },
			note: func() string { return "smallest share " + ours.shares() + ", rueidislock's " + peer.shares() },
		}
	}
}

func wakeUp(ours, base string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		return sides{
			ours: startWaker(t, ours, s.Addr()).latency,
			base: startWaker(t, base, s.Addr()).latency,
		}
	}
}

// once is a measure that does not repeat: what it measures does not get better
// by being looked at again.
func once(f func(d time.Duration) (float64, error)) measure {
	var x float64
	var err error
	done := false
	return func(d time.Duration) (float64, error) {
		if !done {
			x, err = f(d)
			done = true
		}
		return x, err
	}
}

func waiting(kind string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		w := startCrowd(t, kind, s)
		ours := once(func(d time.Duration) (float64, error) { return w.calls(t, longer(d)), nil })
		return sides{ours: ours, note: w.note}
	}
}

// longer is the 5 s of a measurement, or the moment of a trial.
func longer(d time.Duration) time.Duration {
	if *full {
		return 5 * time.Second
	}
	return d
}

func reenter(t *testing.T, s *redistest.Server) sides {
	return sides{ours: startReentry(t, s).nanoseconds}
}

func reenterCommands(t *testing.T, s *redistest.Server) sides {
	r := startReentry(t, s)
	return sides{ours: func(d time.Duration) (float64, error) {
		s.ResetStats()
		_, err := r.nanoseconds(d)
		return float64(s.ScriptCalls(t)), err
	}}
}

// allocations is what a pair allocates, in all goroutines of the process, less
// what the floor's does.
func allocations(t *testing.T, s *redistest.Server) sides {
	ours := mallocs(t.Context(), connect(t, "rueidisson", s.Addr()).locker("allocations"))
	base := mallocs(t.Context(), connect(t, "floor", s.Addr()).locker("allocations"))
	return sides{ours: func(d time.Duration) (float64, error) {
		a, err := ours(d)
		if err != nil {
			return 0, err
		}
		b, err := base(d)
		return a - b, err
	}}
}

func mallocs(ctx context.Context, l locker) measure {
	return func(d time.Duration) (float64, error) {
		var before, after runtime.MemStats
		n := 0
		runtime.ReadMemStats(&before)
		for began := time.Now(); time.Since(began) < d; n++ {
			if err := l.pair(ctx, 0); err != nil {
				return 0, err
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / float64(n), nil
	}
}

// held looks at processes with many holds, ours and rueidislock's.
func held(what func(*household) float64) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		ours := startHousehold(t, "rueidisson", s)
		peer := startHousehold(t, "rueidislock", redistest.Start(t))
		return sides{
			ours: once(func(d time.Duration) (float64, error) {
				time.Sleep(min(longer(d), shortWatchdog)) // renewals take memory, too
				err := errors.Join(ours.again(), peer.again())
				return what(ours), err
			}),
			note: func() string { return fmt.Sprintf("rueidislock's %.4g", what(peer)) },
		}
	}
}

func renewals(t *testing.T, s *redistest.Server) sides {
	h := startHousehold(t, "rueidisson", s)
	return sides{ours: once(func(d time.Duration) (float64, error) {
		return h.renewals(t, min(longer(d), shortWatchdog)), nil
	})}
}
