package combine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkLatency shows what one call takes where an exchange takes a
// millisecond, beside that exchange on its own: as a closed loop, in which
// everybody calls again at once, and with pauses of about two exchanges.
func BenchmarkLatency(b *testing.B) {
	exchange := func() error {
		sleep(time.Millisecond)
		return nil
	}
	for _, shape := range []struct {
		name       string
		goroutines int
		pause      time.Duration
	}{{"closed", 256, 0}, {"open", 64, 2 * time.Millisecond}, {"sparse", 8, 4 * time.Millisecond}} {
		b.Run("loop="+shape.name, func(b *testing.B) {
			b.Run("flights=alone", func(b *testing.B) {
				percentiles(b, shape.goroutines, shape.pause, exchange)
			})
			for _, flights := range []int{1, 4} {
				b.Run(fmt.Sprintf("flights=%d", flights), func(b *testing.B) {
					var all sync.WaitGroup
					table := New(Config[string, int, int]{
						Send:    func(string, int, []*Call[int, int]) error { return exchange() },
						Spawn:   spawn(&all),
						Flights: flights,
					})
					percentiles(b, shape.goroutines, shape.pause, func() error {
						_, err := table.Do(context.Background(), "hot", 1)
						return err
					})
					all.Wait()
				})
			}
		})
	}
}

// percentiles reports how long the calls took of so many goroutines that pause
// for so long on average.
func percentiles(b *testing.B, goroutines int, pause time.Duration, call func() error) {
	took := make([][]time.Duration, goroutines)
	load(b, goroutines, func(g, _ int) error {
		if pause > 0 {
			time.Sleep(rand.N(2 * pause))
		}
		start := time.Now()
		err := call()
		took[g] = append(took[g], time.Since(start))
		return err
	})
	every := slices.Concat(took...)
	slices.Sort(every)
	at := func(part float64) float64 {
		return float64(every[int(part*float64(len(every)-1))].Microseconds())
	}
	b.ReportMetric(at(0.5), "p50-µs")
	b.ReportMetric(at(0.99), "p99-µs")
	b.ReportMetric(0, "ns/op")
}
