package limits

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// takeUpTo takes what is there of a token bucket, n at the most.
func (k *taking) takeUpTo(ctx context.Context, l limiter) error {
	n, d, err := k.bucket.of(l.(buckets).Limiter).TakeUpTo(ctx, k.n)
	switch {
	case err != nil:
		return err
	case k.JSON:
		k.SayJSON(k.Stdout, struct {
			taken
			Taken int64 `json:"taken"`
		}{taken{k.decided(l.Name(), k.bucket.key, d), k.n, 0}, n})
	case d.Allowed:
		fmt.Fprintf(k.Stdout, "granted %d, %d of %d left\n", n, d.Remaining, d.Limit)
	default:
		return k.tell(l.Name(), d, 0)
	}
	if !d.Allowed {
		return &exit.Error{Code: exit.Refused}
	}
	return nil
}
