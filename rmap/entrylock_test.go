package rmap

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// losses hears of holds that are lost.
type losses struct{ lost chan string }

func (losses) WaitStarted(context.Context, string, string)                     {}
func (losses) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (losses) Acquired(context.Context, string, string, bool)                  {}
func (losses) Released(context.Context, string, string, bool)                  {}
func (l losses) Lost(_, name string, _ error)                                  { l.lost <- name }
func (losses) Renewed(int, time.Duration, error)                               {}
func (losses) ScriptRan(context.Context, string, time.Duration, int, error)    {}

// TestAHoldThatIsLostWritesNothing: whoever has the lock now may be computing.
func TestAHoldThatIsLostWritesNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	heard := losses{make(chan string, 1)}
	e := maptest.EngineOn(t, raw, func(c *core.Config) { c.Observer = heard })
	m := New[string, int](e, maptest.Named(t, raw), WithEntryLock())
	look := New[string, int](maptest.EngineOn(t, raw), m.Name())
	var once sync.Once
	calls := 0
	n, _, err := m.Compute(t.Context(), "k", func(old int, _ bool) (int, Verdict, error) {
		calls++
		once.Do(func() {
			if _, err := m.Lock("k").ForceUnlock(t.Context()); err != nil {
				t.Error(err)
			}
			if lost := <-heard.lost; lost != m.Lock("k").Name() {
				t.Error(lost)
			}
			if _, there, err := look.Get(t.Context(), "k"); there || err != nil {
				t.Error("there is something", err)
			}
		})
		return old + 1, Store, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 2, calls, "it was computed again, under another hold")
}

// behindWrite is a store beside whose writes something happens.
type behindWrite struct {
	mapstore.Store
	happens func()
}

func (s behindWrite) Change(ctx context.Context, key string, old, to mapstore.Value, l mapstore.Lifetime, c *turn.Claim) (mapstore.Value, bool, error) {
	there, done, err := s.Store.Change(ctx, key, old, to, l, c)
	s.happens()
	return there, done, err
}

// TestAHoldThatIsLostBesideTheWriteIsSaid: it says what was lost, which was no
// reply.
func TestAHoldThatIsLostBesideTheWriteIsSaid(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	heard := losses{make(chan string, 1)}
	m := New[string, int](maptest.EngineOn(t, raw, func(c *core.Config) { c.Observer = heard }), maptest.Named(t, raw), WithEntryLock())
	m.m.Store = behindWrite{m.m.Store, func() {
		_, err := m.Lock("k").ForceUnlock(t.Context())
		assert.NoError(t, err)
		<-heard.lost
	}}
	_, _, err := m.Compute(t.Context(), "k", increment)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorIs(t, err, lock.ErrLost)
	require.ErrorContains(t, err, "the lock of the entry was lost")
	require.NotContains(t, err.Error(), "reply")
	n, _, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
