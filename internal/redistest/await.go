package redistest

import (
	"context"
	"testing"
	"time"
)

const glance = 10 * time.Millisecond

// poll asks again and again until the answer is nil, and returns the last answer when ctx ends first. Servers
// cannot tell when they are ready; asking is all one can do.
func poll(ctx context.Context, ready func() error) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// await polls for as long as Soon lasts, and fails the test after that.
func await(t testing.TB, what string, ready func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Soon)
	defer cancel()
	if err := poll(ctx, ready); err != nil {
		t.Fatalf("redistest: waited %v for %s: %v", Soon, what, err)
	}
}
