package combine

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// contexts are the two ways of waiting.
func contexts(b *testing.B, run func(b *testing.B, ctx context.Context)) {
	b.Run("context=background", func(b *testing.B) { run(b, context.Background()) })
	b.Run("context=cancellable", func(b *testing.B) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		run(b, ctx)
	})
}

// load makes b.N calls from so many goroutines.
func load(b *testing.B, goroutines int, call func(goroutine, i int) error) {
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range goroutines {
		n := b.N / goroutines
		if g < b.N%goroutines {
			n++
		}
		all.Go(func() {
			for i := range n {
				if err := call(g, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func spawn(all *sync.WaitGroup) func(func()) bool {
	return func(f func()) bool {
		all.Go(f)
		return true
	}
}

func BenchmarkManyKeys(b *testing.B) {
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("limit:{user:%d}", i)
	}
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			contexts(b, func(b *testing.B, ctx context.Context) {
				var all sync.WaitGroup
				table := New(Config[string, int, int]{
					Send:    func(string, int, []*Call[int, int]) error { return nil },
					Spawn:   spawn(&all),
					Flights: 4,
				})
				load(b, goroutines, func(g, i int) error {
					_, err := table.Do(ctx, keys[(g*7919+i*31)%len(keys)], i)
					return err
				})
				all.Wait()
			})
		})
	}
}
