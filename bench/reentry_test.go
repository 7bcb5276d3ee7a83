package bench

import (
	"context"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// reentry is a lock that is held, and a context that carries the hold.
type reentry struct {
	l   *lock.Lock
	ctx context.Context
}

func startReentry(t testing.TB, s *redistest.Server) reentry {
	t.Helper()
	l := connect(t, "rueidisson", s.Addr()).(ours).c.Lock(redistest.Name(t))
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	hold, err := l.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hold.Unlock(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return reentry{l, hold.Context(ctx)}
}

// once enters and leaves.
func (r reentry) once() error {
	inner, err := r.l.Lock(r.ctx)
	if err != nil {
		return err
	}
	return inner.Unlock(r.ctx)
}

// nanoseconds is the time of one pair.
func (r reentry) nanoseconds(d time.Duration) (float64, error) {
	const burst = 1000
	n, began := 0, time.Now()
	for time.Since(began) < d {
		for range burst {
			if err := r.once(); err != nil {
				return 0, err
			}
		}
		n += burst
	}
	return float64(time.Since(began).Nanoseconds()) / float64(n), nil
}

// BenchmarkReentry is lock and unlock under a context that carries the hold.
func BenchmarkReentry(b *testing.B) {
	s := redistest.Shared(b)
	r := startReentry(b, s)
	b.ReportAllocs()
	s.ResetStats()
	for b.Loop() {
		if err := r.once(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(s.ScriptCalls(b))/float64(b.N), "cmds/op")
}
