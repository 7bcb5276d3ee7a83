package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// What was asked for by somebody who has gone is given back beside the acquire,
// which does not see the tombstone while the slot moves: so it must not go on.
func TestAnAcquireOnAMovingSlotTakesNothingForWhoHasGone(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	e, err := locking.New(t.Context(), cluster.Client(t), core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locking.Close(context.Background(), e)) })
	p := newProtocol(e, redistest.Name(t))
	moves := cluster.StartMigration(t, p.name)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Acquire(gone, locking.Try{Owner: e.IDs.Private(), Lease: time.Minute})
	require.ErrorIs(t, err, context.Canceled)
	holder, err := p.inspect(t.Context())
	require.NoError(t, err)
	require.False(t, holder.Held(), "%v left", holder.Remaining)
	moves.Finish(t)
}

// A refusal of the second script does not hide that the first one may arrive.
func TestARefusalBehindALostReplyIsNoAnswer(t *testing.T) {
	t.Parallel()
	refusal := errors.New("OOM")
	_, err := doubted(locking.Tried{}, refusal)
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	require.ErrorIs(t, err, refusal)
	tried, err := doubted(locking.Tried{Free: true}, nil)
	require.NoError(t, err)
	require.True(t, tried.Replayed)
}
