package main

import (
	"context"
	"fmt"
)

// takeUpTo takes what is there of a token bucket, n at the most.
func (k *taking) takeUpTo(ctx context.Context, l limiter) error {
	n, d, err := k.bucket.of(l.(buckets).Limiter).TakeUpTo(ctx, k.n)
	switch {
	case err != nil:
		return err
	case k.json:
		k.sayJSON(k.stdout, struct {
			taken
			Taken int64 `json:"taken"`
		}{taken{k.decided(l.Name(), k.bucket.key, d), k.n, 0}, n})
	case d.Allowed:
		fmt.Fprintf(k.stdout, "granted %d, %d of %d left\n", n, d.Remaining, d.Limit)
	default:
		return k.tell(l.Name(), d, 0)
	}
	if !d.Allowed {
		return &ending{code: exitRefused}
	}
	return nil
}
