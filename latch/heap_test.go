package latch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Not parallel: what other tests hold would be counted.
func TestNothingStaysBehindOfManyNames(t *testing.T) {
	// What has been waited for is listened to for so long.
	r := newRig(t, func(c *core.Config) { c.Linger = time.Millisecond })
	b := NewBarrier(r.E, redistest.Name(t), 1)
	for what, once := range map[string]func(name string) error{"latch": r.useLatch, "barrier": r.useBarrier} {
		t.Run(what, func(t *testing.T) {
			name := redistest.Name(t)
			redistest.NothingStays(t, func(i int) error { return once(name + strconv.Itoa(i)) })
			require.Zero(t, r.h.places.Len())
			require.Zero(t, b.h.places.Len())
		})
	}
}

// useLatch arms a latch, waits for it, and counts it down.
func (r *rig) useLatch(name string) error {
	ctx, l := context.Background(), New(r.E, name)
	if did, err := l.TrySetCount(ctx, 2); err != nil || !did {
		return fmt.Errorf("armed %v: %w", did, err)
	}
	passed := make(chan error, 1)
	go func() { passed <- l.Await(ctx) }() // ends with the opening
	_, first := l.CountDownOnce(ctx, "a")
	_, second := l.CountDown(ctx)
	return errors.Join(first, second, <-passed)
}

// useBarrier has the one party of a barrier arrive.
func (r *rig) useBarrier(name string) error {
	_, err := NewBarrier(r.E, name, 1).Await(context.Background())
	return err
}
