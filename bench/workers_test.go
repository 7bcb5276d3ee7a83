package bench

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// workers are goroutines that lock and unlock, each with its locker, under a
// context of its own that can end.
type workers struct {
	lockers []locker
	hold    time.Duration
	ctx     context.Context
	guards  *guarded // what the lock guards, nil for what is no lock
}

// guarding has each holder change a number, so that two holders at a time are seen.
func (w *workers) guarding(v *guarded) *workers {
	w.guards = v
	for i, l := range w.lockers {
		w.lockers[i] = l.guarding(v)
	}
	return w
}

// lost returns how many changes are lost so far, once all workers have ended.
func (w *workers) lost() int64 { return w.guards.lost(w.guards.changes.Load()) }

// onOwnKeys gives each goroutine a name of its own.
func onOwnKeys(i impl, prefix string, goroutines int) *workers {
	w := &workers{ctx: context.Background()}
	for g := range goroutines {
		w.lockers = append(w.lockers, i.locker(prefix+"-"+strconv.Itoa(g)))
	}
	return w
}

// onOneKey has them all compete.
func onOneKey(i impl, name string, goroutines int) *workers {
	w := &workers{ctx: context.Background()}
	for range goroutines {
		w.lockers = append(w.lockers, i.locker(name))
	}
	return w
}

// each runs f once per locker, on goroutines, and returns the first error.
func (w *workers) each(f func(context.Context, locker) error) error {
	all, cancel := context.WithCancel(w.ctx)
	defer cancel()
	var group sync.WaitGroup
	errs := make(chan error, len(w.lockers))
	for _, l := range w.lockers {
		group.Go(func() {
			ctx, cancel := context.WithCancel(all) // as every request has one of its own
			defer cancel()
			if err := f(ctx, l); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

// runFor locks and unlocks for d, or until something fails, and returns how
// many pairs that made.
func (w *workers) runFor(d time.Duration) (pairs int64, err error) {
	var over atomic.Bool
	timer := time.AfterFunc(d, func() { over.Store(true) })
	defer timer.Stop()
	return w.runUntil(over.Load)
}

// runUntil is runFor with an end of one's own. An error that comes after it is
// the end of a wait.
func (w *workers) runUntil(over func() bool) (pairs int64, err error) {
	var sum atomic.Int64
	err = w.each(func(ctx context.Context, l locker) error {
		n := int64(0)
		defer func() { sum.Add(n) }()
		for {
			err := l.pair(ctx, w.hold)
			if over() {
				return nil
			}
			if err != nil {
				return err
			}
			n++
		}
	})
	return sum.Load(), err
}

// rate is how many pairs d makes per second.
func (w *workers) rate(d time.Duration) (perSecond float64, err error) {
	pairs, err := w.runFor(d)
	return float64(pairs) / d.Seconds(), err
}

// runTimes locks and unlocks n times in all.
func (w *workers) runTimes(n int) error {
	left := atomic.Int64{}
	left.Store(int64(n))
	return w.each(func(ctx context.Context, l locker) error {
		for left.Add(-1) >= 0 {
			if err := l.pair(ctx, w.hold); err != nil {
				return err
			}
		}
		return nil
	})
}

// bench runs b.N pairs and reports what they cost the server.
func (w *workers) bench(b *testing.B, s *redistest.Server) {
	if err := w.runTimes(len(w.lockers)); err != nil { // connections, scripts, pools
		b.Fatal(err)
	}
	b.ReportAllocs()
	s.ResetStats()
	b.ResetTimer()
	err := w.loop(b)
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.ScriptCalls(b))/float64(b.N), "cmds/op")
}

func (w *workers) loop(b *testing.B) error {
	if len(w.lockers) > 1 {
		return w.runTimes(b.N)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	for b.Loop() {
		if err := w.lockers[0].pair(ctx, w.hold); err != nil {
			return err
		}
	}
	return nil
}
