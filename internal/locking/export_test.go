package locking

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// exporting is a lock whose first export of two is done, and the other refused.
type exporting struct {
	*fakeServer
	mu      sync.Mutex
	both    sync.WaitGroup
	refused bool
}

var errNotNow = errors.New("refused")

func (x *exporting) Export(context.Context, string, string) (bool, error) {
	x.both.Done()
	x.both.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.refused {
		x.refused = true
		return true, nil
	}
	return false, errNotNow
}

// Of two exports at once, the refusal of one does not take back what the other
// has done: the hold stands under its new owner then.
func TestARefusedExportBesideOneThatWasDone(t *testing.T) {
	t.Parallel()
	s := newFake(t)
	for range redistest.Count(t, 60000, 600000) {
		x := &exporting{fakeServer: s}
		x.both.Add(2)
		seat := new(seated)
		h := s.e.newHeld(x, &local{e: s.e}, s.e.IDs.Private(), Tried{Started: s.clock()}, terms{lease: time.Minute}, false)
		require.NoError(t, h.attach(seat))
		private := h.Owner()
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() { _, _ = h.Export(context.Background(), seat) })
		}
		calls.Wait()
		require.NotEqual(t, private, h.Owner())
		require.True(t, h.Joint())
		h.Finish(core.ErrReleased)
	}
}
