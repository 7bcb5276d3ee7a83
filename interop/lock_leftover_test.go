//go:build interop

package interop

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
)

// goLeavesNothing: not even an exported hold and a join of it leave a key, once they were answered.
func goLeavesNothing(t *testing.T, w *world) {
	ctx, c, other, name := within(t), w.client(t), w.client(t), redistest.Name(t)
	hold := mustLock(ctx, t, c.Lock(name))
	inner := mustLock(hold.Context(ctx), t, c.Lock(name))
	_, err := other.Lock(name).TryLock(ctx, lock.WithWait(time.Second))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, errors.Join(inner.Unlock(ctx), hold.Unlock(ctx)))
	eventually(ctx, t, "no key of it on any node", func() bool { return len(w.keys(ctx, t, name)) == 0 })

	require.NoError(t, w.thread(t, name).Lock(ctx))
	requireTruth(ctx, t, true, c.Lock(name).ForceUnlock)
	eventually(ctx, t, "no key of it on any node", func() bool { return len(w.keys(ctx, t, name)) == 0 })

	hold = mustLock(ctx, t, c.Lock(name))
	token, err := hold.Token(ctx)
	require.NoError(t, err)
	joined, err := other.Lock(name).Join(ctx, token)
	require.NoError(t, err)
	require.NoError(t, errors.Join(hold.Unlock(ctx), joined.Unlock(ctx)))
	// The latches are deleted without waiting for that.
	eventually(ctx, t, "no key of it on any node", func() bool { return len(w.keys(ctx, t, name)) == 0 })
}

// javaLeavesNothing: Redisson deletes its unlock latch without waiting for that, so the key is there for a
// moment more. 3.52.0 deletes another key instead and leaves the latch to its end.
func javaLeavesNothing(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	theirs := w.thread(t, name)
	require.NoError(t, theirs.Lock(ctx))
	require.NoError(t, theirs.Lock(ctx))
	_, err := w.client(t).Lock(name).TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, theirs.Unlock(ctx))
	require.NoError(t, theirs.Unlock(ctx))
	if w.java.Version() != peer.Last3 {
		eventually(ctx, t, "no key is left", func() bool { return len(w.keys(ctx, t, name)) == 0 })
		return
	}
	t.Attr("footnote", "Redisson "+peer.Last3+" deletes a wrong key after an unlock, so each leaves its unlock latch to the end of its time, within a minute.")
	latches := w.keys(ctx, t, name)
	require.Len(t, latches, 2)
	for _, latch := range latches {
		require.True(t, strings.HasPrefix(latch, "redisson_unlock_latch:"), latch)
		left := w.pttl(ctx, t, latch)
		require.Positive(t, left)
		require.LessOrEqual(t, left, leftoversLive)
	}
}
