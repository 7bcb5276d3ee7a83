package writethrough

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestADrainOutlastsAServerThatRefuses to forget what the store has, or has refused:
// that is not lost, and nothing else is held up when it is over.
func TestADrainOutlastsAServerThatRefuses(t *testing.T) {
	t.Parallel()
	for how, of := range maptest.Refusals {
		for what, bad := range map[string]bool{"what was taken": false, "what was put aside": true} {
			if how == "OOM" && !bad {
				continue // it takes no memory
			}
			t.Run(how+", "+what, func(t *testing.T) {
				t.Parallel()
				r, s, calls := maptest.NewRefusing(t), newBehindMap(), atomic.Int64{}
				m := rmap.New[string, int](r.E, "m", rmap.WithCodec(codec.Text))
				w := New(m, func(ctx context.Context, changes []Change[string, int]) error {
					if calls.Add(1) == 1 {
						r.Refuse(of.Refuse, of.Allow)
					}
					if bad && slices.ContainsFunc(changes, func(c Change[string, int]) bool { return c.Key == "b" }) {
						return Discard(errors.New("bad"))
					}
					return s.write(ctx, changes)
				}, WithBehind(10), WithWriteDelay(time.Millisecond))
				require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "b": 2}))
				redistest.Eventually(t, func() bool { return r.Over() }, maptest.Soon, time.Millisecond)
				require.NoError(t, w.Put(t.Context(), "a", 3))
				require.NoError(t, w.Close(t.Context()))
				want := map[string]int{"a": 3, "b": 2}
				require.Equal(t, want, mapkinds.Contents(t, m))
				dead, err := r.Admin.Do(t.Context(), r.Admin.B().Xrange().Key(keys.MapDead("m")).Start("-").End("+").Build()).AsXRange()
				require.NoError(t, err)
				if bad {
					delete(want, "b")
					require.Len(t, dead, 1)
					require.Equal(t, "b", dead[0].FieldValues["k"])
				} else {
					require.Empty(t, dead)
				}
				require.Equal(t, want, s.now())
			})
		}
	}
}

// TestAWriteThatIsRefusedChangesNothing, neither in the map nor in the store.
func TestAWriteThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	for how, of := range maptest.Refusals {
		for way, opts := range ways {
			t.Run(how+", "+way, func(t *testing.T) {
				t.Parallel()
				r := maptest.NewRefusing(t)
				var ws []*Map[string, int]
				var stores []*behindMap
				for kind, on := range mapkinds.LoadKinds {
					m, s := on(r.E, "m-"+kind), newBehindMap()
					if way == "behind" && !m.Inside().Whole {
						continue
					}
					w := New(m, s.write, opts...)
					require.NoError(t, w.Put(t.Context(), "k", 1))
					redistest.Eventually(t, func() bool { return len(s.now()) == 1 }, maptest.Soon, time.Millisecond)
					ws, stores = append(ws, w), append(stores, s)
				}
				r.Do(of.Refuse)
				var all sync.WaitGroup
				for _, w := range ws {
					for name, op := range changesOf {
						if way == "through" && name != "put" {
							continue // which would wait for the same lock, one behind the other
						}
						all.Go(func() {
							err := op(t.Context(), w)
							assert.ErrorContains(t, err, how, name)
							assert.NotErrorIs(t, err, ErrOutcomeUnknown, name)
						})
					}
				}
				all.Wait()
				r.Do(of.Allow)
				for i, w := range ws {
					require.Equal(t, map[string]int{"k": 1}, mapkinds.Contents(t, w), w.Name())
					require.NoError(t, w.Close(t.Context()))
					require.Equal(t, map[string]int{"k": 1}, stores[i].now(), w.Name())
				}
			})
		}
	}
}

// TestADrainThatIsRefusedForGoodSaysSo to the log, and to whoever closes.
func TestADrainThatIsRefusedForGoodSaysSo(t *testing.T) {
	t.Parallel()
	for what, foreign := range map[string]string{
		"WRONGTYPE": "SET " + keys.MapDrain("m") + " x", "another kind": "HSET " + keys.MapDrain("m") + " mode read",
		"WRONGTYPE Operation": "SET " + keys.MapDead("m") + " x", "WRONGTYPE Operation against": "SET " + keys.MapDeadLast("m") + " x",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, s := maptest.NewRefusing(t), newBehindMap()
			s.fail(Discard(errors.New("down")))
			r.Do(foreign)
			w := New(rmap.New[string, int](r.E, "m"), s.write, ways["behind"]...)
			require.NoError(t, w.Put(t.Context(), "k", 1))
			ctx, cancel := context.WithTimeout(t.Context(), maptest.Soon/2)
			defer cancel()
			err := w.Close(ctx)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, what)
			require.ErrorContains(t, err, "1 changes are not written")
			require.Contains(t, r.Log.String(), "cannot be taken")
			idle(t, w) // or it puts the change aside that it was told to discard
			s.fail(nil)
			r.Do("DEL " + strings.Fields(foreign)[1])
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, map[string]int{"k": 1}, s.now())
		})
	}
}

// TestARefusalFromBeforeAClose that is noted during it does not end it: the server may refuse no more.
func TestARefusalFromBeforeAClose(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), redistest.Name(t)), newBehindMap().write, WithBehind(10))
	closing := w.h.Hub.Engine.Mono()
	w.note(closing-1, ErrWrongKind)
	require.NoError(t, w.refusal(closing))
	w.note(closing, ErrWrongKind)
	require.ErrorIs(t, w.refusal(closing), ErrWrongKind)
	w.note(closing, nil)
	require.NoError(t, w.Close(t.Context()))
}
