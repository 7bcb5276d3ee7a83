package bench

import (
	"context"

	"github.com/redis/rueidis"
)

// pings are workers whose lock is a PING and whose unlock is nothing.
func pings(c rueidis.Client, goroutines int) *workers {
	w := &workers{ctx: context.Background()}
	nothing := func() error { return nil }
	for range goroutines {
		w.lockers = append(w.lockers, func(ctx context.Context) (unlock, error) {
			return nothing, c.Do(ctx, c.B().Ping().Build()).Error()
		})
	}
	return w
}
