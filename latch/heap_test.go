package latch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Not parallel: what other tests hold would be counted.
func TestNothingStaysBehindOfManyNames(t *testing.T) {
	const before, names = 1_000, 100_000
	// What has been waited for is listened to for so long.
	r := newRig(t, func(c *engine.Config) { c.Linger = time.Millisecond })
	b := NewBarrier(r.e, redistest.Name(t), 1)
	for what, once := range map[string]func(name string) error{"latch": r.useLatch, "barrier": r.useBarrier} {
		t.Run(what, func(t *testing.T) {
			name, used := redistest.Name(t), before
			useNames(t, name, 0, used, once)
			// What lasts is the room of tables for as many as there were at a time, which on a busy machine may
			// be more in one round than ever before: what stays of each name stays in all of them.
			stays := func() bool {
				was := heapInUse()
				more := redistest.Count(t, names/10, names)
				useNames(t, name, used, used+more, once)
				used += more
				require.Zero(t, r.h.gates.Len())
				require.Zero(t, b.h.gates.Len())
				return !redistest.InTime(func() bool { return heapInUse() < was+was/10 }, 5*time.Second, 100*time.Millisecond)
			}
			for round := 1; stays(); round++ {
				require.Less(t, round, 3, "the heap grows with the names")
			}
		})
	}
}

// useLatch arms a latch, waits for it, and counts it down.
func (r *rig) useLatch(name string) error {
	ctx, l := context.Background(), New(r.e, name)
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
	_, err := NewBarrier(r.e, name, 1).Await(context.Background())
	return err
}

// useNames uses each name once, 64 at a time.
func useNames(t *testing.T, name string, from, to int, once func(name string) error) {
	var all sync.WaitGroup
	for worker := range 64 {
		all.Go(func() {
			for i := from + worker; i < to; i += 64 {
				if !assert.NoError(t, once(name+strconv.Itoa(i))) {
					return
				}
			}
		})
	}
	all.Wait()
}

// heapInUse is the heap that is reachable.
func heapInUse() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
