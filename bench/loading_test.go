package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// loadingRows: values of 64 bytes as text, in a hash of 1,000 entries.
var loadingRows = []row{
	{"loading, Get of a present key, 1 goroutine, by Get", "us/call", goal{atMost: 1.02}, besideScript("loading get", "map get", 1, microseconds)},
	{"loading, Get of a present key, 64 goroutines, by Get", "calls/s", goal{atLeast: 0.98}, besideScript("loading get", "map get", 64, asIs)},
	{"loading, 1,000 misses of 10 clients, the last after the load", "us", goal{atMost: 5000}, misses("map")},
	{"loading, 1,000 misses of 10 clients of a cache, the last after the load", "us", goal{atMost: 5000}, misses("cache")},
	{"loading, GetMany of 1,000 misses, by GetMany of what is there", "us/call", goal{}, manyMisses},
	{"writing behind, Put, 1 goroutine, by Put", "us/call", goal{}, besideScript("behind put", "map put", 1, microseconds)},
	{"writing behind, Put, 64 goroutines, by Put", "calls/s", goal{}, besideScript("behind put", "map put", 64, asIs)},
	{"writing through, Put, 1 goroutine, by lock, HGET and HSET", "us/call", goal{}, besideScript("through put", "lock get put", 1, microseconds)},
	{"writing behind, changes that are drained, by those that PutMany of 500 writes", "changes/s", goal{}, drained},
}

func init() {
	impls["loading get"] = mapped(func(m, _ *rmap.Map[string, string]) call {
		l := readthrough.New(m, func(context.Context, string) (string, bool, error) {
			return "", false, fmt.Errorf("it is there")
		})
		return func(ctx context.Context, i int) error { _, _, err := l.Get(ctx, field(i)); return err }
	})
	impls["behind put"] = mapped(writingPut(writethrough.WithBehind(1000)))
	impls["through put"] = mapped(writingPut())
}

// writingPut writes to a store that takes no time.
func writingPut(opts ...writethrough.Option) func(m, _ *rmap.Map[string, string]) call {
	return func(m, _ *rmap.Map[string, string]) call {
		w := writethrough.New(m, func(context.Context, []writethrough.Change[string, string]) error { return nil }, opts...)
		return func(ctx context.Context, i int) error { return w.Put(ctx, field(i), text64) }
	}
}

// misses is the median of how long the last of 100 callers of each of 10 clients
// waits behind the end of the load, which takes 20 ms.
func misses(kind string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		var loads, calls atomic.Int64
		var done atomic.Int64 // when the load was, ns
		began := time.Now()
		load := func(context.Context, string) (string, bool, error) {
			loads.Add(1)
			time.Sleep(20 * time.Millisecond)
			done.Store(int64(time.Since(began)))
			return text64, true, nil
		}
		var all []*readthrough.Map[string, string]
		for range 10 {
			c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			if kind == "cache" {
				all = append(all, readthrough.New(rmap.NewCache[string, string](c, "missed cache"), load))
			} else {
				all = append(all, readthrough.New(rmap.New[string, string](c, "missed"), load))
			}
		}
		entries := int64(0)
		return sides{
			long: true,
			ours: func(d time.Duration) (float64, error) {
				var waits []float64
				for from := time.Now(); len(waits) == 0 || time.Since(from) < d; {
					entries++
					last, err := rush(t.Context(), all, strconv.FormatInt(calls.Add(1), 10), began)
					if err != nil {
						return 0, err
					}
					waits = append(waits, float64(last-time.Duration(done.Load()))/1e3)
				}
				slices.Sort(waits)
				return waits[len(waits)/2], nil
			},
			note: func() string { return fmt.Sprintf("%d loads of %d entries", loads.Load(), entries) },
		}
	}
}

// rush is when the last caller has its value.
func rush(ctx context.Context, all []*readthrough.Map[string, string], k string, began time.Time) (time.Duration, error) {
	var waits sync.WaitGroup
	errs := make(chan error, 100*len(all))
	for _, l := range all {
		for range 100 {
			waits.Go(func() {
				if v, _, err := l.Get(ctx, k); err != nil || v != text64 {
					errs <- fmt.Errorf("%q: %w", v, err)
				}
			})
		}
	}
	waits.Wait()
	last := time.Since(began)
	select {
	case err := <-errs:
		return 0, err
	default:
		return last, nil
	}
}

// manyMisses is a GetMany of 1,000 entries of which none is there, and that one call of the source
// brings, beside a GetMany of 1,000 that are there.
func manyMisses(t *testing.T, s *redistest.Server) sides {
	c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	m, ctx := rmap.New[string, string](c, "missed at once"), t.Context()
	var loads atomic.Int64
	l := readthrough.New(m, nil, readthrough.WithLoadMany(1000, func(_ context.Context, ks []string) (map[string]string, error) {
		loads.Add(1)
		found := make(map[string]string, len(ks))
		for _, k := range ks {
			found[k] = text64
		}
		return found, nil
	}))
	there := slices.Clone(fields)
	if err := fill(s.Client(t), "there at once"); err != nil {
		t.Fatal(err)
	}
	calls := int64(0)
	return sides{
		ours: everyCall(func() error {
			calls++
			ks := make([]string, 1000)
			for i := range ks {
				ks[i] = strconv.FormatInt(calls, 36) + "-" + strconv.Itoa(i)
			}
			got, err := l.GetMany(ctx, ks...)
			if err == nil && len(got) != len(ks) {
				err = fmt.Errorf("%d entries", len(got))
			}
			return err
		}),
		base: everyCall(func() error {
			_, err := rmap.New[string, string](c, "there at once").GetMany(ctx, there...)
			return err
		}),
		note: func() string { return fmt.Sprintf("%d calls of the source for %d calls", loads.Load(), calls) },
	}
}

// everyCall is the microseconds that each takes.
func everyCall(f func() error) measure {
	return func(d time.Duration) (float64, error) {
		n, began := 0, time.Now()
		for ; n == 0 || time.Since(began) < d; n++ {
			if err := f(); err != nil {
				return 0, err
			}
		}
		return float64(time.Since(began).Nanoseconds()) / 1e3 / float64(n), nil
	}
}

// drained is how many changes a second are queued, written to a store that takes no time, and
// forgotten by the queue, beside those that are only put into a map.
func drained(t *testing.T, s *redistest.Server) sides {
	c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	ctx, changes := t.Context(), map[string]string{}
	for _, f := range fields[:500] {
		changes[f] = text64
	}
	w := writethrough.New(rmap.New[string, string](c, "drained"), func(context.Context, []writethrough.Change[string, string]) error {
		return nil
	}, writethrough.WithBehind(1000))
	return sides{
		ours: func(d time.Duration) (float64, error) {
			n, began := 0, time.Now()
			for ; n == 0 || time.Since(began) < d; n++ {
				for range 10 {
					if err := w.PutMany(ctx, changes); err != nil {
						return 0, err
					}
				}
				if err := w.Flush(ctx); err != nil {
					return 0, err
				}
			}
			return float64(10*len(changes)*n) / time.Since(began).Seconds(), nil
		},
		base: func(d time.Duration) (float64, error) {
			m, n, began := rmap.New[string, string](c, "not drained"), 0, time.Now()
			for ; n == 0 || time.Since(began) < d; n++ {
				if err := m.PutMany(ctx, changes); err != nil {
					return 0, err
				}
			}
			return float64(len(changes)*n) / time.Since(began).Seconds(), nil
		},
	}
}
