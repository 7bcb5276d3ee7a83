package writethrough

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// killed queues a change as a process does that is killed when it has the answer.
func killed(t *testing.T, m rmap.Mapping[string, int], k string, v int) {
	t.Helper()
	h := m.Inside().Handle
	text, err := h.Codecs.Value(v)
	require.NoError(t, err)
	_, err = h.Store.(mapstore.Queues).Queue(t.Context(), 1_000_000, mapstore.Queuing{Pairs: []string{k, "=" + text}, Seen: mapstore.Whatever})
	require.NoError(t, err)
}

// idle waits until a handle takes no part in the writing any more.
func idle(t *testing.T, w *Map[string, int]) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		w.drain.mu.Lock()
		defer w.drain.mu.Unlock()
		return w.drain.stop == nil
	}, maptest.Soon, time.Millisecond)
}

// TestWritingReaderWritesWhatAKilledProcessLeft: also when it has looked before.
func TestWritingReaderWritesWhatAKilledProcessLeft(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for _, kind := range []string{"map", "cache"} {
		name, s := maptest.CacheNamed(t, raw), newBehindMap()
		e := maptest.EngineOn(t, raw)
		w := New(mapkinds.LoadKinds[kind](e, name), s.write, ways["behind"]...)
		require.NoError(t, w.Put(t.Context(), "mine", 1))
		redistest.Eventually(t, func() bool { return s.now()["mine"] == 1 }, maptest.Soon, time.Millisecond)
		idle(t, w)
		killed(t, mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), name), "theirs", 2)
		w.drain.last.Store(int64(e.Mono() - e.WatchdogTimeout)) // as when that has passed
		redistest.Eventually(t, func() bool {
			_, _, err := w.Get(t.Context(), "mine")
			require.NoError(t, err)
			return s.now()["theirs"] == 2
		}, maptest.Soon, 10*time.Millisecond)
		require.NoError(t, w.Close(t.Context()))
	}
}

// TestWritingLooksSeldom: who reads all the time asks once in a watchdog timeout.
func TestWritingLooksSeldom(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.Recorded(t)
	w := New(rmap.New[string, int](e, "m"), newBehindMap().write, ways["behind"]...)
	for range 100 {
		_, _, err := w.Get(t.Context(), "k")
		require.NoError(t, err)
	}
	redistest.Eventually(t, func() bool { return w.drain.looks.Load() == 1 }, maptest.Soon, time.Millisecond)
	idle(t, w)
	require.EqualValues(t, 1, w.drain.looks.Load())
	require.NoError(t, w.Close(t.Context()))
}

// TestWritingLooksSoonWhereOthersQueue: who has seen changes of others does not wait for a
// watchdog timeout.
func TestWritingLooksSoonWhereOthersQueue(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name, s := maptest.CacheNamed(t, raw), newBehindMap()
	m := rmap.New[string, int](maptest.EngineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = time.Hour }), name)
	w := New(m, s.write, ways["behind"]...)
	other := rmap.New[string, int](maptest.EngineOn(t, raw), name)
	killed(t, other, "first", 1)
	require.NoError(t, w.Put(t.Context(), "mine", 1))
	redistest.Eventually(t, func() bool { return len(s.now()) == 2 }, maptest.Soon, time.Millisecond)
	idle(t, w)
	killed(t, other, "second", 2)
	redistest.Eventually(t, func() bool {
		_, _, err := w.Get(t.Context(), "mine")
		require.NoError(t, err)
		return s.now()["second"] == 2
	}, maptest.Soon, 10*time.Millisecond)
	require.NoError(t, w.Close(t.Context()))
}

// TestWritingRetryTimeCountsAnewWhereOthersHaveWritten: however long a process has no
// store, it gives up no change that another has written meanwhile, nor the next one.
func TestWritingRetryTimeCountsAnewWhereOthersHaveWritten(t *testing.T) {
	t.Parallel()
	var s streak
	s.add("1-0", 0, time.Second)
	s.add("1-0", 2*time.Second, 3*time.Second)
	require.Equal(t, streak{calls: 2, took: time.Second, first: "1-0", since: 0}, s)
	s.add("2-0", time.Hour, time.Hour+time.Minute)
	require.Equal(t, streak{calls: 3, took: time.Minute, first: "2-0", since: time.Hour}, s)
}

// TestWritingStoreOutOfReachHoldsUpNobodyElse: a process whose writer refuses, or
// hangs, lets another write, which has a store that takes changes.
func TestWritingStoreOutOfReachHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	down, end := errors.New("down"), make(chan struct{})
	t.Cleanup(func() { close(end) })
	for how, write := range map[string]func(ctx context.Context) error{
		"refuses": func(context.Context) error { return down },
		"hangs": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"hangs, and does not heed its context": func(context.Context) error {
			<-end
			return down
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			name, s, calls := maptest.CacheNamed(t, raw), newBehindMap(), atomic.Int64{}
			bad := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), func(ctx context.Context, _ []Change[string, int]) error {
				calls.Add(1)
				return write(ctx)
			}, append(ways["behind"], WithWriteTimeout(100*time.Millisecond))...)
			require.NoError(t, bad.Put(t.Context(), "k", 1))
			redistest.Eventually(t, func() bool { return calls.Load() > 0 }, maptest.Soon, time.Millisecond)
			good := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, ways["behind"]...)
			for i := range 50 {
				require.NoError(t, good.Put(t.Context(), strconv.Itoa(i), i))
			}
			redistest.Eventually(t, func() bool { return len(s.now()) == 51 }, maptest.Soon, time.Millisecond)
			require.NoError(t, good.Close(t.Context()))
			require.NoError(t, bad.Close(t.Context()))
		})
	}
}

// TestWritingBatchesAreBoundedByBytes, of the answer and of the call; a change that is
// larger goes alone.
func TestWritingBatchesAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		name := maptest.CacheNamed(t, raw)
		m := rmap.New[string, string](maptest.EngineOn(t, raw), name, rmap.WithValueCodec(maptest.TextCodec()))
		largest, taken := atomic.Int64{}, atomic.Int64{}
		w := New(m, func(_ context.Context, changes []Change[string, string]) error {
			size := 0
			for _, c := range changes {
				size += len(c.Value)
			}
			taken.Add(int64(len(changes)))
			if len(changes) > 1 {
				largest.Store(max(largest.Load(), int64(size)))
			}
			return nil
		}, WithBehind(100), WithWriteDelay(time.Millisecond))
		sizes := []int{300_000, 300_000, 300_000, 300_000, 2_000_000, 10, 10, 900_000, 900_000, 10}
		for i, size := range sizes {
			text := strings.Repeat("x", size)
			_, err := m.Inside().Handle.Store.(mapstore.Queues).Queue(t.Context(), 1000, mapstore.Queuing{Pairs: []string{strconv.Itoa(i), "=" + text}, Seen: mapstore.Whatever})
			require.NoError(t, err)
		}
		require.NoError(t, w.Close(t.Context()))
		require.EqualValues(t, len(sizes), taken.Load())
		require.LessOrEqual(t, largest.Load(), int64(mapstore.MostWritten))
		require.Greater(t, largest.Load(), int64(mapstore.MostWritten/2), "and not one by one")
		left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(name), keys.MapPending(name)).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// TestWritingLargeChangesReachTheStoreOverASlowLink, on which all of them would take
// longer than one exchange may.
func TestWritingLargeChangesReachTheStoreOverASlowLink(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	name, taken := maptest.CacheNamed(t, raw), atomic.Int64{}
	m := rmap.New[string, string](maptest.EngineOn(t, raw), name, rmap.WithValueCodec(maptest.TextCodec()))
	text := strings.Repeat("x", 1_000_000)
	n := redistest.Count(t, 10, 100)
	for i := range n {
		_, err := m.Inside().Handle.Store.(mapstore.Queues).Queue(t.Context(), 1000, mapstore.Queuing{Pairs: []string{strconv.Itoa(i), "=" + text}, Seen: mapstore.Whatever})
		require.NoError(t, err)
	}
	client := server.Client(t, redistest.Slow(2<<20)) // 10 MB take 5 s, and an exchange 1 s
	w := New(rmap.New[string, string](maptest.EngineOn(t, client, maptest.ShortSends), name, rmap.WithValueCodec(maptest.TextCodec())),
		func(_ context.Context, changes []Change[string, string]) error {
			taken.Add(int64(len(changes)))
			return nil
		}, WithBehind(100), WithWriteDelay(time.Millisecond))
	require.NoError(t, w.Close(t.Context()))
	require.EqualValues(t, n, taken.Load())
}

// TestWritingFailedCallIsNotPutOffByTheDelay, and neither is the Close of another.
func TestWritingFailedCallIsNotPutOffByTheDelay(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s, name, calls := newBehindMap(), maptest.CacheNamed(t, raw), atomic.Int64{}
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), func(ctx context.Context, changes []Change[string, int]) error {
		if calls.Add(1) == 1 {
			return errors.New("down")
		}
		return s.write(ctx, changes)
	}, WithBehind(2), WithWriteDelay(time.Hour))
	require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "b": 2}))
	redistest.Eventually(t, func() bool { return len(s.now()) == 2 }, maptest.Soon, time.Millisecond)
	require.NoError(t, w.Put(t.Context(), "c", 3))
	other := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, WithBehind(2), WithWriteDelay(time.Hour))
	require.NoError(t, other.Close(t.Context()))
	require.Equal(t, map[string]int{"a": 1, "b": 2, "c": 3}, s.now())
	require.NoError(t, w.Close(t.Context()))
}

// TestWritingDelayCountsFromTheFirstChange, also from one that came while the writer
// was at work.
func TestWritingDelayCountsFromTheFirstChange(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	m := rmap.New[string, int](maptest.EngineOn(t, raw), name)
	killed(t, m, "k", 1)
	w := New(m, newBehindMap().write, WithBehind(100), WithWriteDelay(time.Hour))
	sent := w.h.Sender()
	redistest.Eventually(t, func() bool {
		some, err := sent.Backlog(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, some.Changes, 1)
		return some.Age >= 20*time.Millisecond && some.Age < time.Hour
	}, maptest.Soon, time.Millisecond)
	w.cfg.delay = 20 * time.Millisecond
	some, next, err := w.due(t.Context(), &sent)
	require.NoError(t, err)
	require.Len(t, some, 1, "it is due at once")
	require.Zero(t, next)
	w.cfg.delay = time.Hour
	some, next, err = w.due(t.Context(), &sent)
	require.NoError(t, err)
	require.Empty(t, some)
	require.Greater(t, next.wait, time.Minute)
	require.Equal(t, 1, next.there)
	require.NoError(t, w.Close(t.Context()))
}

// TestWritingPutManyLargerThanTheBacklog is taken when nothing is queued.
func TestWritingPutManyLargerThanTheBacklog(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, kind := range []string{"map", "cache"} {
			s := newBehindMap()
			s.fail(errors.New("down"))
			w := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, WithBehind(1000), WithWriteDelay(time.Millisecond), WithMaxBacklog(3))
			many, n := map[string]int{}, 1200
			if maptest.OnEmbedded(t) {
				n = 100 // where a script of 500 changes takes seconds
			}
			for i := range n {
				many[strconv.Itoa(i)] = i
			}
			require.NoError(t, w.PutMany(t.Context(), many))
			require.ErrorIs(t, w.PutMany(t.Context(), many), ErrBacklog)
			require.ErrorIs(t, w.Put(t.Context(), "k", 1), ErrBacklog)
			s.fail(nil)
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, many, s.now())
		}
	})
}

// TestWritingFlush waits for what is queued, and not for the delay; the handle goes on.
func TestWritingFlush(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, kind := range []string{"map", "cache"} {
			s := newBehindMap()
			s.fail(errors.New("down"))
			w := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, WithBehind(1000), WithWriteDelay(time.Hour))
			require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "b": 2}))
			n, err := w.Backlog(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 2, n)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			err = w.Flush(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			s.fail(nil)
			require.NoError(t, w.Flush(t.Context()))
			require.Equal(t, map[string]int{"a": 1, "b": 2}, s.now())
			require.NoError(t, w.Put(t.Context(), "c", 3))
			require.NoError(t, w.Flush(t.Context()))
			require.Equal(t, map[string]int{"a": 1, "b": 2, "c": 3}, s.now())
			n, err = w.Backlog(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
			var none context.Context
			require.ErrorIs(t, w.Flush(none), ErrInvalidArgument)
			require.NoError(t, w.Close(t.Context()))
			require.ErrorIs(t, w.Flush(t.Context()), ErrClosed)
		}
	})
}
