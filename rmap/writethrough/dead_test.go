package writethrough

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// picky is a store that discards changes of some keys.
type picky struct {
	*behindMap
	mu  sync.Mutex
	bad map[string]bool
}

func newPicky(bad ...string) *picky {
	s := &picky{behindMap: newBehindMap(), bad: map[string]bool{}}
	for _, k := range bad {
		s.bad[k] = true
	}
	return s
}

var errPicky = errors.New("no such customer")

func (s *picky) write(ctx context.Context, changes []Change[string, int]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(changes, func(c Change[string, int]) bool { return s.bad[c.Key] }) {
		return fmt.Errorf("at the store: %w", Discard(errPicky))
	}
	return s.behindMap.write(ctx, changes)
}

func (s *picky) takesAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.bad)
}

// onDead runs a test on the maps that are written behind, on every server.
func onDead(t *testing.T, test func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int])) {
	t.Helper()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, of := range mapkinds.LoadKinds {
			if kind == "sharded" { // it cannot be written behind
				continue
			}
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				name := maptest.CacheNamed(t, raw)
				t.Cleanup(func() {
					raw.Do(context.Background(), raw.B().Del().Key(keys.MapDead(name), keys.MapDeadLast(name)).Build())
				})
				test(t, raw, func(e *locking.Engine) rmap.Mapping[string, int] { return of(e, name) })
			})
		}
	})
}

// dead is what is dead of a Map.
func dead(t testing.TB, w *Map[string, int]) (all []DeadChange[string, int]) {
	t.Helper()
	for c, err := range w.Dead(t.Context()) {
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

// TestWhatTheWriterDiscardsIsDead at once, and nothing else is; it can be redriven.
func TestWhatTheWriterDiscardsIsDead(t *testing.T) {
	t.Parallel()
	onDead(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := newPicky("bad", "gone")
		w := New(on(maptest.EngineOn(t, raw)), s.write, WithBehind(10), WithWriteDelay(20*time.Millisecond))
		began := time.Now().Add(-time.Minute)
		require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "bad": 2, "c": 3}))
		_, err := w.Remove(t.Context(), "gone")
		require.NoError(t, err)
		require.NoError(t, w.Flush(t.Context()))
		require.Equal(t, map[string]int{"a": 1, "c": 3}, s.now())
		all := dead(t, w)
		require.Len(t, all, 2)
		require.Equal(t, Change[string, int]{Key: "bad", Value: 2}, all[0].Change)
		require.Equal(t, Change[string, int]{Key: "gone", Removed: true}, all[1].Change)
		for _, c := range all {
			require.Equal(t, "at the store: no such customer", c.Cause)
			require.WithinRange(t, c.When, began, began.Add(time.Hour))
			require.False(t, c.Overtaken)
		}
		s.takesAll()
		s.behindMap.mu.Lock()
		s.all["gone"] = 9
		s.behindMap.mu.Unlock()
		n, err := w.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"a": 1, "bad": 2, "c": 3}, s.now())
		left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapDead(w.h.Key), keys.MapDeadLast(w.h.Key)).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// TestNothingDeadComesBackOverWhatIsNewer, however that has come: it is queued still, the
// store has it, it died, too, or it is in the map alone.
func TestNothingDeadComesBackOverWhatIsNewer(t *testing.T) {
	t.Parallel()
	onDead(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := newPicky("queued", "stored", "twice", "through", "removed", "same")
		m := on(maptest.EngineOn(t, raw))
		w := New(m, s.write, WithBehind(1), WithWriteDelay(time.Millisecond))
		for k := range maps.Clone(s.bad) {
			require.NoError(t, w.Put(t.Context(), k, 1))
		}
		require.NoError(t, w.Flush(t.Context()))
		require.NoError(t, w.Put(t.Context(), "twice", 2))
		require.NoError(t, w.Flush(t.Context()))
		s.takesAll()
		require.NoError(t, w.Put(t.Context(), "stored", 2))
		_, err := w.Remove(t.Context(), "removed")
		require.NoError(t, err)
		require.NoError(t, w.Flush(t.Context()))
		require.NoError(t, New(m, s.write).Put(t.Context(), "through", 2))
		_, err = m.Remove(t.Context(), "same") // as one goes whose time is over
		require.NoError(t, err)
		s.fail(errors.New("down"))
		require.NoError(t, w.Put(t.Context(), "queued", 2))
		overtaken := map[string]int{}
		var ids []string
		for _, c := range dead(t, w) {
			if c.Overtaken {
				overtaken[c.Key] = c.Value
			}
			ids = append(ids, c.ID, c.ID)
		}
		require.Equal(t, map[string]int{"queued": 1, "stored": 1, "twice": 1, "through": 1, "removed": 1}, overtaken)
		n, err := w.Redrive(t.Context(), ids...)
		require.NoError(t, err)
		require.EqualValues(t, 2, n, "same, and the second of twice")
		s.fail(nil)
		require.NoError(t, w.Flush(t.Context()))
		require.Equal(t, map[string]int{"queued": 2, "stored": 2, "twice": 2, "through": 2, "same": 1}, s.now())
		all := dead(t, w)
		require.Len(t, all, len(overtaken))
		n, err = w.Redrive(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = w.Purge(t.Context(), all[0].ID, all[0].ID, "1-1")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.Len(t, dead(t, w), len(all)-1)
		n, err = w.Purge(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, len(all)-1, n)
		require.Empty(t, dead(t, w))
		require.NoError(t, w.Close(t.Context()))
	})
}

// TestTheDeadAreBounded: the oldest go.
func TestTheDeadAreBounded(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		m := rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
		w := New(m, func(context.Context, []Change[string, int]) error { return Discard(errPicky) }, WithBehind(100), WithWriteDelay(time.Millisecond), WithDeadLimit(3))
		for i := range 10 {
			require.NoError(t, w.Put(t.Context(), strconv.Itoa(i), i))
		}
		require.NoError(t, w.Flush(t.Context()))
		var left []string
		for _, c := range dead(t, w) {
			left = append(left, c.Key)
			require.False(t, c.Overtaken)
		}
		require.Equal(t, []string{"7", "8", "9"}, left)
		n, err := raw.Do(t.Context(), raw.B().Hlen().Key(keys.MapDeadLast(m.Inside().Handle.Key)).Build()).AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		_, err = w.Purge(t.Context())
		require.NoError(t, err)
		require.NoError(t, w.Close(t.Context()))
	})
}

// TestAnOutageThatIsShorterThanTheRetryTimeLosesNothing, and behind that time a change that
// is refused alone is dead, and only that.
func TestAnOutageThatIsShorterThanTheRetryTimeLosesNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s, calls := newBehindMap(), atomic.Int64{}
	down := atomic.Bool{}
	down.Store(true)
	write := func(ctx context.Context, changes []Change[string, int]) error {
		if calls.Add(1); down.Load() || slices.ContainsFunc(changes, func(c Change[string, int]) bool { return c.Key == "bad" }) {
			return errors.New("not now")
		}
		return s.write(ctx, changes)
	}
	e, at := rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), WithMaxRetryTime(time.Hour)
	w := New(e, write, append(ways["behind"], at)...)
	for i := range 30 {
		require.NoError(t, w.Put(t.Context(), strconv.Itoa(i), i))
	}
	redistest.Eventually(t, func() bool { return calls.Load() > 3 }, maptest.Soon, time.Millisecond)
	down.Store(false)
	require.NoError(t, w.Close(t.Context()))
	require.Empty(t, dead(t, New[string, int](e, nil, WithBehind(1), WithOthersWriting())))
	require.Equal(t, mapkinds.Contents(t, e), s.now())

	w = New(e, write, append(ways["behind"], WithMaxRetryTime(10*time.Millisecond))...)
	require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "bad": 2, "c": 3}))
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, 1, s.now()["a"])
	require.Equal(t, 3, s.now()["c"])
	all := dead(t, w)
	require.Len(t, all, 1)
	require.Equal(t, "bad", all[0].Key)
	_, err := w.Purge(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
}

// TestWhoLeavesTheWritingToOthers queues, and never takes what is queued.
func TestWhoLeavesTheWritingToOthers(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name, s := maptest.CacheNamed(t, raw), newBehindMap()
	w := New[string, int](rmap.New[string, int](maptest.EngineOn(t, raw), name), nil, WithBehind(10), WithOthersWriting())
	require.NoError(t, w.Put(t.Context(), "k", 1))
	_, _, err := w.Get(t.Context(), "k")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Flush(ctx), context.DeadlineExceeded)
	locked, err := w.drain.lock.Locked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
	other := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, ways["behind"]...)
	_, _, err = other.Get(t.Context(), "k")
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, map[string]int{"k": 1}, s.now())
	require.NoError(t, other.Close(t.Context()))
}

// TestTheDeadOfAMapOfAnotherType come with their IDs, so that they can be purged.
func TestTheDeadOfAMapOfAnotherType(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, name := maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)
	w := New(rmap.New[string, string](e, name), func(context.Context, []Change[string, string]) error {
		return Discard(errors.New(strings.Repeat("é", 1000)))
	}, ways["behind"]...)
	require.NoError(t, w.PutMany(t.Context(), map[string]string{"a": "text", "b": "text"}))
	require.NoError(t, w.Close(t.Context()))
	numbers := New[string, int](rmap.New[string, int](e, name), nil, WithBehind(1), WithOthersWriting())
	var ids []string
	for c, err := range numbers.Dead(t.Context()) {
		require.ErrorIs(t, err, ErrDecode)
		require.ErrorIs(t, err, core.ErrNotice)
		require.Equal(t, strings.Repeat("é", 500), c.Cause)
		ids = append(ids, c.ID)
	}
	require.Len(t, ids, 2)
	n, err := numbers.Purge(t.Context(), ids...)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

// TestNoOtherWritingHasDead.
func TestNoOtherWritingHasDead(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), newBehindMap().write)
	for _, err := range w.Dead(t.Context()) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	behind := New[string, int](w.m, nil, WithBehind(1), WithOthersWriting())
	_, err := behind.Redrive(t.Context(), "1-1", "x")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = behind.Purge(t.Context(), "1")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = w.Redrive(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = w.Purge(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorIs(t, Discard(errPicky), errPicky)
	require.NoError(t, Discard(nil))
}
