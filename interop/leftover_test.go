//go:build interop

package interop

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// leftoversLive is how long a key may outlive the work that it was written for.
	leftoversLive = time.Minute
	// waitedFor is the longest life of a leftover whose end is waited for.
	waitedFor = 15 * time.Second
	// javaLeaves begins the key that Go writes beside a semaphore that it sets. Java deletes the semaphore alone.
	javaLeaves = "rueidisson_set:"
	// javaSweeps begins the key that Java's sweeper of a set with times to live takes again and again, for a second each time, until
	// its client closes.
	javaSweeps = "redisson__execute_task_once_latch:"
)

// nothingIsLeft comes last. What the other tests have left in this world, on either side, must have an end
// within a minute, and nobody may put that end off. Those that end soon are seen to be gone.
func nothingIsLeft(t *testing.T, w *world) {
	ctx := within(t)
	keys := w.keys(ctx, t, "")
	ends, began := map[string]time.Duration{}, time.Now()
	var endless []string
	for _, key := range keys {
		left := w.pttl(ctx, t, key)
		if left == noEnd {
			if !strings.HasPrefix(key, javaLeaves) {
				endless = append(endless, key)
			}
			continue
		}
		require.LessOrEqual(t, left, leftoversLive, key)
		ends[key] = time.Since(began) + left
		t.Logf("%v %s", left, key)
	}
	require.Empty(t, endless, "without an end")
	for key, end := range ends {
		if end < waitedFor && !strings.HasPrefix(key, javaSweeps) {
			eventually(ctx, t, key+" is gone", func() bool { return !w.exists(ctx, t, key) })
			continue
		}
		if !strings.HasPrefix(key, javaSweeps) {
			require.LessOrEqual(t, time.Since(began)+w.pttl(ctx, t, key), end+rounding, key)
		}
	}
	for _, key := range w.keys(ctx, t, "") {
		if strings.HasPrefix(key, javaLeaves) || strings.HasPrefix(key, javaSweeps) {
			continue
		}
		require.Contains(t, ends, key, "came later")
	}
}
