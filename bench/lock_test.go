package bench

import (
	"fmt"
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// BenchmarkLock is a pair of lock and unlock: on a key of each goroutine's own,
// and on one hot key for which the goroutines of one process compete.
func BenchmarkLock(b *testing.B) {
	s := redistest.Shared(b)
	for _, name := range []string{"rueidisson", "floor", "rueidislock"} {
		for _, goroutines := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("impl=%s/mode=own/goroutines=%d", name, goroutines), func(b *testing.B) {
				onOwnKeys(connect(b, name, s.Addr()), redistest.Name(b), goroutines).bench(b, s)
			})
		}
		for _, goroutines := range []int{16, 128} {
			b.Run(fmt.Sprintf("impl=%s/mode=hot/goroutines=%d", name, goroutines), func(b *testing.B) {
				onOneKey(connect(b, name, s.Addr()), redistest.Name(b), goroutines).bench(b, s)
			})
		}
	}
}

// BenchmarkPing is one round trip through rueidis.
func BenchmarkPing(b *testing.B) {
	s := redistest.Shared(b)
	for _, goroutines := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			pings(s.Client(b), goroutines).bench(b, s)
		})
	}
}
