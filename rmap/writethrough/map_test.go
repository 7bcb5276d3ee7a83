package writethrough

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// behindMap is a store in memory.
type behindMap struct {
	mu      sync.Mutex
	all     map[string]int
	batches [][]Change[string, int]
	tokens  []int64
	fences  bool // a change of an older token than the last is refused, as New asks of a store
	err     error
}

var errOldToken = errors.New("a newer token was here before")

func newBehindMap() *behindMap { return &behindMap{all: map[string]int{}} }

func (s *behindMap) write(ctx context.Context, changes []Change[string, int]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if token, there := fence.FromContext(ctx); there {
		if last := len(s.tokens) - 1; s.fences && last >= 0 && token.Number() < s.tokens[last] {
			return errOldToken
		}
		s.tokens = append(s.tokens, token.Number())
	}
	s.batches = append(s.batches, changes)
	for _, c := range changes {
		if s.all[c.Key] = c.Value; c.Removed {
			delete(s.all, c.Key)
		}
	}
	return nil
}

func (s *behindMap) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *behindMap) now() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.all)
}

var ways = map[string][]Option{"through": nil, "behind": {WithBehind(10), WithWriteDelay(5 * time.Millisecond)}}

// onWays runs a test through and behind, on every kind of map and server.
func onWays(t *testing.T, test func(t *testing.T, raw rueidis.Client, opts []Option, on func(e *locking.Engine) rmap.Mapping[string, int])) {
	t.Helper()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		for way, opts := range ways {
			if m := on(maptest.EngineOn(t, raw)); way == "behind" && !m.Inside().Whole {
				continue
			}
			t.Run(way, func(t *testing.T) { test(t, raw, opts, on) })
		}
	})
}

// TestTheStoreEqualsTheMap after any operations of two handles at once.
func TestTheStoreEqualsTheMap(t *testing.T) {
	t.Parallel()
	onWays(t, func(t *testing.T, raw rueidis.Client, opts []Option, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := newBehindMap()
		var ws []*Map[string, int]
		var all sync.WaitGroup
		for i := range 2 {
			w := New(on(maptest.EngineOn(t, raw)), s.write, opts...)
			ws = append(ws, w)
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))
				for range maptest.Rounds(t, 100, 3000) {
					assert.NoError(t, anyChange(t.Context(), r, w))
				}
			})
		}
		all.Wait()
		for _, w := range ws {
			require.NoError(t, w.Close(t.Context()))
			require.ErrorIs(t, w.Put(t.Context(), "k", 1), ErrClosed)
		}
		require.Equal(t, mapkinds.Contents(t, on(maptest.EngineOn(t, raw))), s.now())
		for i := range s.tokens[min(1, len(s.tokens)):] {
			require.GreaterOrEqual(t, s.tokens[i+1], s.tokens[i])
		}
		maptest.NothingIsLeft(t, raw, ws[0].Name())
		left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(ws[0].h.Key), keys.MapDead(ws[0].h.Key)).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, left)
		require.NoError(t, New(on(maptest.EngineOn(t, raw)), s.write).Clear(t.Context()))
		require.Empty(t, s.now())
	})
}

func anyChange(ctx context.Context, r *rand.Rand, m rmap.Mapping[string, int]) error {
	k, n := strconv.Itoa(r.IntN(5)), r.IntN(1000)
	switch r.IntN(10) {
	case 0:
		_, _, err := m.Swap(ctx, k, n)
		return err
	case 1:
		_, err := m.Remove(ctx, k, "none")
		return err
	case 2:
		_, _, err := m.Take(ctx, k)
		return err
	case 3:
		_, _, err := m.PutIfAbsent(ctx, k, n)
		return err
	case 4:
		_, err := m.Replace(ctx, k, n)
		return err
	case 5:
		_, _, err := m.Compute(ctx, k, mapkinds.PlusOne)
		return err
	case 6:
		_, _, err := m.Compute(ctx, k, func(int, bool) (int, rmap.Verdict, error) { return 0, rmap.Delete, nil })
		return err
	case 7:
		v, _, err := m.Get(ctx, k)
		if err == nil {
			_, err = m.CompareAndSwap(ctx, k, v, n)
		}
		return err
	case 8:
		return m.PutMany(ctx, map[string]int{k: n, strconv.Itoa(r.IntN(5)): n})
	}
	return m.Put(ctx, k, n)
}

// TestWhatOperationsOfAWritingAnswer is what those of the map do.
func TestWhatOperationsOfAWritingAnswer(t *testing.T) {
	t.Parallel()
	onWays(t, func(t *testing.T, raw rueidis.Client, opts []Option, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		ctx := t.Context()
		w := New(on(maptest.EngineOn(t, raw)), newBehindMap().write, opts...)
		_, had, err := w.Swap(ctx, "k", 1)
		require.NoError(t, err)
		require.False(t, had)
		old, had, err := w.Swap(ctx, "k", 2)
		require.NoError(t, err)
		require.True(t, had)
		require.Equal(t, 1, old)
		now, stored, err := w.PutIfAbsent(ctx, "k", 3)
		require.NoError(t, err)
		require.False(t, stored)
		require.Equal(t, 2, now)
		now, stored, err = w.PutIfAbsent(ctx, "l", 3)
		require.NoError(t, err)
		require.True(t, stored)
		require.Equal(t, 3, now)
		for key, want := range map[string]bool{"k": true, "none": false} {
			did, err := w.Replace(ctx, key, 2)
			require.NoError(t, err)
			require.Equal(t, want, did)
			did, err = w.CompareAndSwap(ctx, key, 2, 2)
			require.NoError(t, err)
			require.Equal(t, want, did)
		}
		n, err := w.Remove(ctx, "l", "none")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		v, there, err := w.Compute(ctx, "k", mapkinds.PlusOne)
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 3, v)
		did, err := w.CompareAndRemove(ctx, "k", 2)
		require.NoError(t, err)
		require.False(t, did)
		v, had, err = w.Take(ctx, "k")
		require.NoError(t, err)
		require.True(t, had)
		require.Equal(t, 3, v)
		_, had, err = w.Take(ctx, "k")
		require.NoError(t, err)
		require.False(t, had)
		require.NoError(t, w.Close(ctx))
	})
}

// TestAnErrorOfTheStoreChangesNothing of what is written through.
func TestAnErrorOfTheStoreChangesNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := of(maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
			down := errors.New("down")
			w := New(m, func(context.Context, []Change[string, int]) error { return down })
			require.NoError(t, m.Put(t.Context(), "k", 1))
			for name, op := range changesOf {
				require.ErrorIs(t, op(t.Context(), w), down, name)
				require.Equal(t, map[string]int{"k": 1}, mapkinds.Contents(t, m), name)
			}
			bad := New(m, func(context.Context, []Change[string, int]) error { panic("oops") })
			require.PanicsWithValue(t, "oops", func() { _ = bad.Put(t.Context(), "k", 2) })
			require.Equal(t, map[string]int{"k": 1}, mapkinds.Contents(t, m))
			maptest.NothingIsLeft(t, raw, m.Name())
		})
	}
}

// changesOf is every operation that changes {k: 1}.
var changesOf = map[string]func(ctx context.Context, m rmap.Mapping[string, int]) error{
	"put": func(ctx context.Context, m rmap.Mapping[string, int]) error { return m.Put(ctx, "k", 2) },
	"put many": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		return m.PutMany(ctx, map[string]int{"l": 2})
	},
	"swap": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.Swap(ctx, "k", 2)
		return err
	},
	"remove": func(ctx context.Context, m rmap.Mapping[string, int]) error { _, err := m.Remove(ctx, "k"); return err },
	"clear":  func(ctx context.Context, m rmap.Mapping[string, int]) error { return m.Clear(ctx) },
	"absent": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.PutIfAbsent(ctx, "l", 1)
		return err
	},
	"replace": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, err := m.Replace(ctx, "k", 2)
		return err
	},
	"take": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.Take(ctx, "k")
		return err
	},
	"cas": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, err := m.CompareAndSwap(ctx, "k", 1, 2)
		return err
	},
	"car": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, err := m.CompareAndRemove(ctx, "k", 1)
		return err
	},
	"compute": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.Compute(ctx, "k", mapkinds.PlusOne)
		return err
	},
}

// TestNoChangePassesByTheStore behind.
func TestNoChangePassesByTheStore(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for _, kind := range []string{"map", "cache"} {
		for name, op := range changesOf {
			s := newBehindMap()
			m := mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
			w := New(m, s.write, ways["behind"]...)
			require.NoError(t, w.Put(t.Context(), "k", 1))
			require.NoError(t, op(t.Context(), w), name)
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, mapkinds.Contents(t, m), s.now(), name)
			require.NotEqual(t, map[string]int{"k": 1}, s.now(), name)
		}
	}
}

// TestWhatTheStoreRefuses is tried again, and put aside in the end.
func TestWhatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		s := newBehindMap()
		s.fail(errors.New("down"))
		w := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, WithBehind(10), WithWriteDelay(time.Millisecond), WithMaxBacklog(3))
		for i := range 3 {
			require.NoError(t, w.Put(t.Context(), strconv.Itoa(i), i))
		}
		err := w.Put(t.Context(), "3", 3)
		require.ErrorIs(t, err, ErrBacklog)
		require.Len(t, mapkinds.Contents(t, w), 3, "nothing was changed")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		other := New(rmap.New[string, int](w.h.Hub.Engine, w.Name()), s.write, WithBehind(10))
		require.ErrorIs(t, other.Close(ctx), context.DeadlineExceeded)
		s.fail(nil)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"0": 0, "1": 1, "2": 2}, s.now())
	})
}

// TestTheLastChangeOfAKeyWins within a batch.
func TestTheLastChangeOfAKeyWins(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := newBehindMap()
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, WithBehind(100), WithWriteDelay(time.Hour))
	for i := range 10 {
		require.NoError(t, w.Put(t.Context(), strconv.Itoa(i%2), i))
	}
	require.NoError(t, w.Close(t.Context()), "which does not wait for the delay")
	require.Equal(t, map[string]int{"0": 8, "1": 9}, s.now())
	require.LessOrEqual(t, len(s.batches), 2)
}

func TestALostReplyOfAChangeBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for _, ids := range []bool{false, true} {
		client, proxy := maptest.Through(t, server)
		var opts []rmap.MapOption
		if ids {
			opts = append(opts, rmap.WithRequestIDs())
		}
		s := newBehindMap()
		w := New(rmap.New[string, int](maptest.EngineOn(t, client), maptest.CacheNamed(t, raw), opts...), s.write, ways["behind"]...)
		lost := proxy.DropReply(redistest.All(redistest.MatchScript(mapstore.BehindScript.Body()), redistest.Arg(w.Name())), 1)
		err := w.Put(t.Context(), "k", 1)
		lost.Await(t)
		if ids {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrOutcomeUnknown)
		}
		redistest.Eventually(t, func() bool { // or it is the end of the first that is dropped, or the next Put with it
			w.drain.mu.Lock()
			defer w.drain.mu.Unlock()
			return w.drain.stop == nil
		}, maptest.Soon, time.Millisecond)
		done := proxy.DropReply(redistest.All(redistest.MatchScript(mapstore.BehindDoneScript.Body()), redistest.Arg(keys.MapWrites(w.Name()))), 1)
		require.NoError(t, w.Put(t.Context(), "l", 2))
		done.Await(t)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"k": 1, "l": 2}, s.now())
	}
}

func TestTheClientClosesUnderAWriter(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := maptest.EngineOn(t, raw)
	began := make(chan struct{}, 1)
	m := rmap.New[string, int](e, maptest.CacheNamed(t, raw))
	w := New(m, func(ctx context.Context, _ []Change[string, int]) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, ways["behind"]...)
	require.NoError(t, w.Put(t.Context(), "k", 1))
	<-began
	require.NoError(t, locking.Close(t.Context(), e))
	require.ErrorIs(t, w.Close(t.Context()), ErrClosed)
	s := newBehindMap()
	next := New(rmap.New[string, int](maptest.EngineOn(t, raw), m.Name()), s.write, ways["behind"]...)
	_, _, err := next.Get(t.Context(), "k") // which is enough to find what is left
	require.NoError(t, err)
	redistest.Eventually(t, func() bool { return s.now()["k"] == 1 }, maptest.Soon, time.Millisecond)
}

func TestBadInputOfAWriting(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := maptest.EngineOn(t, raw)
	m, write := rmap.New[string, int](e, redistest.Name(t)), newBehindMap().write
	for what, w := range map[string]*Map[string, int]{
		"nil map":    New[string, int](nil, write),
		"nil writer": New(m, nil),
		"nil option": New(m, write, nil),
		"no batch":   New(m, write, WithBehind(0)),
		"delay":      New(m, write, WithWriteDelay(0)),
		"retry time": New(m, write, WithMaxRetryTime(0)),
		"no dead":    New(m, write, WithDeadLimit(0)),
		"no others":  New(m, write, WithOthersWriting()),
		"backlog":    New(m, write, WithMaxBacklog(0)),
		"no many":    New(m, write, WithWriteMany(0)),
		"wait":       New(m, write, WithBacklogWait(0)),
		"a bad map":  New(rmap.New[string, int](e, ""), write),
		"on top":     New(readthrough.New(m, maptest.Quick), write, WithBehind(1)),
	} {
		for name, op := range mapkinds.OperationsOf {
			require.ErrorIs(t, op(t.Context(), w), ErrInvalidArgument, "%s: %s", what, name)
		}
		require.NoError(t, w.Close(t.Context()))
	}
	w := New(m, write)
	for name, op := range mapkinds.OperationsOf {
		require.ErrorIs(t, op(nil, w), ErrInvalidArgument, name)
	}
	_, err := rmap.Add(t.Context(), w, "k", 1)
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestLoadingOnTopOfWriting loads without writing back.
func TestLoadingOnTopOfWriting(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := newBehindMap()
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, ways["behind"]...)
	l := readthrough.New(w, maptest.Quick)
	v, _, err := l.Get(t.Context(), "5")
	require.NoError(t, err)
	require.Equal(t, 5, v)
	require.NoError(t, l.Put(t.Context(), "6", 7))
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, map[string]int{"6": 7}, s.now())
}

// writers are processes that write behind, to a store that is in Redis.
var writers = redistest.Children{"writer": func(p *redistest.Parent) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("ADDR")}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		panic(err)
	}
	e, err := locking.New(context.Background(), client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Second, Linger: time.Second})
	if err != nil {
		panic(err)
	}
	name, ctx := os.Getenv("NAME"), context.Background()
	w := New(rmap.New[string, int](e, name), func(ctx context.Context, changes []Change[string, int]) error {
		token, _ := fence.FromContext(ctx)
		for _, c := range changes {
			line := fmt.Sprint(token.Number(), " ", c.Key, "=", c.Value)
			if err := client.Do(ctx, client.B().Rpush().Key(name+"-store").Element(line).Build()).Error(); err != nil {
				return err
			}
		}
		return nil
	}, WithBehind(20), WithWriteDelay(5*time.Millisecond))
	who := os.Getenv("WHO")
	first, _ := strconv.Atoi(os.Getenv("FIRST"))
	for i := first; ; i++ {
		if err := w.Put(ctx, who+strconv.Itoa(i%3), i); err == nil {
			p.Say("%s%d=%d", who, i%3, i)
		}
	}
}}

// TestEveryAcknowledgedPutReachesTheStore although writers, and those among them
// who write to the store, are killed. Of each key the changes come in order, but
// for batches that come again.
func TestEveryAcknowledgedPutReachesTheStore(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	name := maptest.CacheNamed(t, raw)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(name+"-store").Build()) })
	next := map[string]int{}
	start := func(who string) *redistest.Child {
		return redistest.StartChild(t, "writer", "ADDR="+server.Addr(), "NAME="+name, "WHO="+who, "FIRST="+strconv.Itoa(next[who]))
	}
	children := map[string]*redistest.Child{}
	for _, who := range []string{"a", "b", "c"} {
		children[who] = start(who)
	}
	acked := map[string]int{} // the last of each key
	hear := func(who string) {
		line := children[who].Next()
		key, value, _ := strings.Cut(line, "=")
		n, err := strconv.Atoi(value)
		require.NoError(t, err, line)
		acked[key], next[who] = n, n+100_000 // what was under way may have come about
	}
	for range redistest.Count(t, 4, 30) {
		end := time.Now().Add(redistest.Span(t, time.Millisecond, 2*time.Second))
		for i := 0; i < 30 || time.Now().Before(end); i++ {
			for who := range children {
				hear(who)
			}
		}
		for who := range children { // in any order: one of them is the one that drains
			children[who].Kill()
			children[who] = start(who)
			break
		}
	}
	for _, c := range children {
		c.Kill()
	}
	s := newBehindMap()
	last := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, WithBehind(100), WithWriteDelay(time.Millisecond))
	require.NoError(t, last.Close(t.Context()))
	lines, err := raw.Do(t.Context(), raw.B().Lrange().Key(name+"-store").Start(0).Stop(-1).Build()).AsStrSlice()
	require.NoError(t, err)
	stored := inOrder(t, lines)
	maps.Copy(stored, s.now())
	require.Equal(t, mapkinds.Contents(t, last.m), stored, "the store equals the map")
	for key, n := range acked {
		require.GreaterOrEqual(t, stored[key], n, key)
	}
}

// inOrder is what a store has when it was told all of that: token key=value. What
// one process has written is in the order of the changes, and nobody who is older
// comes behind a newer one.
func inOrder(t *testing.T, lines []string) map[string]int {
	t.Helper()
	stored, by, last := map[string]int{}, map[string]int{}, 0
	for _, line := range lines {
		head, change, _ := strings.Cut(line, " ")
		token, err := strconv.Atoi(head)
		require.NoError(t, err)
		key, value, _ := strings.Cut(change, "=")
		n, err := strconv.Atoi(value)
		require.NoError(t, err)
		require.GreaterOrEqual(t, token, last)
		if by[key] == token {
			require.GreaterOrEqual(t, n, stored[key], line)
		}
		stored[key], by[key], last = n, token, token
	}
	return stored
}
