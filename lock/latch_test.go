package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/lock"
)

// A join that was answered is one that nobody asks for again, so that nothing
// has to remember it.
func TestAJoinThatWasAnsweredLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	hold, token := f.shared()
	for range 3 {
		joined, err := locktest.Open(t, f.server.Addr()).Lock(f.lock.Name()).Join(t.Context(), token)
		require.NoError(t, err)
		f.awaitLatches(0)
		require.NoError(t, joined.Unlock(t.Context()))
	}
	require.Equal(t, 1, f.holder().Count, "each level went with its own unlock")

	lost := f.proxy.DropReply(f.script("join"), 1)
	joined, err := f.lock.Join(t.Context(), token)
	require.NoError(t, err)
	lost.Await(t)
	f.awaitLatches(1) // the send whose reply was lost may still arrive
	require.NoError(t, joined.Unlock(t.Context()))
	require.NoError(t, hold.Unlock(t.Context()))
}

// shared is a hold that others may join.
func (f *faulty) shared() (*lock.Hold, lock.Token) {
	f.t.Helper()
	hold := f.take()
	token, err := hold.Token(f.t.Context())
	require.NoError(f.t, err)
	return hold, token
}

// awaitLatches waits until so many latches of joins stand.
func (f *faulty) awaitLatches(want int) {
	f.t.Helper()
	pattern := "rueidisson_join_latch:{" + f.lock.Name() + "}:*"
	require.Eventually(f.t, func() bool {
		found, err := f.raw.Do(context.Background(), f.raw.B().Keys().Pattern(pattern).Build()).AsStrSlice()
		return err == nil && len(found) == want
	}, 10*time.Second, time.Millisecond) // before a latch ends by itself
}
