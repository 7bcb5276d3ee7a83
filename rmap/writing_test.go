package rmap

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
)

// behindMap is a store in memory.
type behindMap struct {
	mu      sync.Mutex
	all     map[string]int
	batches [][]Change[string, int]
	tokens  []int64
	fences  bool // a change of an older token than the last is refused, as NewWriting asks of a store
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

func contents(t testing.TB, m Mapping[string, int]) map[string]int {
	t.Helper()
	all := map[string]int{}
	for e, err := range m.All(t.Context()) {
		require.NoError(t, err)
		all[e.Key] = e.Value
	}
	return all
}

var ways = map[string][]WritingOption{"through": nil, "behind": {WithBehind(10), WithWriteDelay(5 * time.Millisecond)}}

// onWays runs a test through and behind, on every kind of map and server.
func onWays(t *testing.T, test func(t *testing.T, raw rueidis.Client, opts []WritingOption, on func(e *locking.Engine) Mapping[string, int])) {
	t.Helper()
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		for way, opts := range ways {
			if m := on(engineOn(t, raw)); way == "behind" && !m.inside().whole {
				continue
			}
			t.Run(way, func(t *testing.T) { test(t, raw, opts, on) })
		}
	})
}

// TestTheStoreEqualsTheMap after any operations of two handles at once.
func TestTheStoreEqualsTheMap(t *testing.T) {
	t.Parallel()
	onWays(t, func(t *testing.T, raw rueidis.Client, opts []WritingOption, on func(e *locking.Engine) Mapping[string, int]) {
		s := newBehindMap()
		var ws []*Writing[string, int]
		var all sync.WaitGroup
		for i := range 2 {
			w := NewWriting(on(engineOn(t, raw)), s.write, opts...)
			ws = append(ws, w)
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano())))
				for range rounds(t, 100, 3000) {
					assert.NoError(t, anyChange(t.Context(), r, w))
				}
			})
		}
		all.Wait()
		for _, w := range ws {
			require.NoError(t, w.Close(t.Context()))
			require.ErrorIs(t, w.Put(t.Context(), "k", 1), ErrClosed)
		}
		require.Equal(t, contents(t, on(engineOn(t, raw))), s.now())
		for i := range s.tokens[min(1, len(s.tokens)):] {
			require.GreaterOrEqual(t, s.tokens[i+1], s.tokens[i])
		}
		nothingIsLeft(t, raw, ws[0].Name())
		left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(ws[0].h.key), keys.MapDead(ws[0].h.key)).Build()).AsInt64()
		require.NoError(t, err)
		require.Zero(t, left)
		require.NoError(t, NewWriting(on(engineOn(t, raw)), s.write).Clear(t.Context()))
		require.Empty(t, s.now())
	})
}

func anyChange(ctx context.Context, r *rand.Rand, m Mapping[string, int]) error {
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
		_, _, err := m.Compute(ctx, k, increment)
		return err
	case 6:
		_, _, err := m.Compute(ctx, k, func(int, bool) (int, Verdict, error) { return 0, Delete, nil })
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
	onWays(t, func(t *testing.T, raw rueidis.Client, opts []WritingOption, on func(e *locking.Engine) Mapping[string, int]) {
		ctx := t.Context()
		w := NewWriting(on(engineOn(t, raw)), newBehindMap().write, opts...)
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
		v, there, err := w.Compute(ctx, "k", increment)
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
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := of(engineOn(t, raw), cacheNamed(t, raw))
			down := errors.New("down")
			w := NewWriting(m, func(context.Context, []Change[string, int]) error { return down })
			require.NoError(t, m.Put(t.Context(), "k", 1))
			for name, op := range changesOf {
				require.ErrorIs(t, op(t.Context(), w), down, name)
				require.Equal(t, map[string]int{"k": 1}, contents(t, m), name)
			}
			bad := NewWriting(m, func(context.Context, []Change[string, int]) error { panic("oops") })
			require.PanicsWithValue(t, "oops", func() { _ = bad.Put(t.Context(), "k", 2) })
			require.Equal(t, map[string]int{"k": 1}, contents(t, m))
			nothingIsLeft(t, raw, m.Name())
		})
	}
}

// changesOf is every operation that changes {k: 1}.
var changesOf = map[string]func(ctx context.Context, m Mapping[string, int]) error{
	"put":      func(ctx context.Context, m Mapping[string, int]) error { return m.Put(ctx, "k", 2) },
	"put many": func(ctx context.Context, m Mapping[string, int]) error { return m.PutMany(ctx, map[string]int{"l": 2}) },
	"swap":     func(ctx context.Context, m Mapping[string, int]) error { _, _, err := m.Swap(ctx, "k", 2); return err },
	"remove":   func(ctx context.Context, m Mapping[string, int]) error { _, err := m.Remove(ctx, "k"); return err },
	"clear":    func(ctx context.Context, m Mapping[string, int]) error { return m.Clear(ctx) },
	"absent": func(ctx context.Context, m Mapping[string, int]) error {
		_, _, err := m.PutIfAbsent(ctx, "l", 1)
		return err
	},
	"replace": func(ctx context.Context, m Mapping[string, int]) error { _, err := m.Replace(ctx, "k", 2); return err },
	"take":    func(ctx context.Context, m Mapping[string, int]) error { _, _, err := m.Take(ctx, "k"); return err },
	"cas": func(ctx context.Context, m Mapping[string, int]) error {
		_, err := m.CompareAndSwap(ctx, "k", 1, 2)
		return err
	},
	"car": func(ctx context.Context, m Mapping[string, int]) error {
		_, err := m.CompareAndRemove(ctx, "k", 1)
		return err
	},
	"compute": func(ctx context.Context, m Mapping[string, int]) error {
		_, _, err := m.Compute(ctx, "k", increment)
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
			m := loadKinds[kind](engineOn(t, raw), cacheNamed(t, raw))
			w := NewWriting(m, s.write, ways["behind"]...)
			require.NoError(t, w.Put(t.Context(), "k", 1))
			require.NoError(t, op(t.Context(), w), name)
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, contents(t, m), s.now(), name)
			require.NotEqual(t, map[string]int{"k": 1}, s.now(), name)
		}
	}
}

// TestWhatTheStoreRefuses is tried again, and put aside in the end.
func TestWhatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := newBehindMap()
		s.fail(errors.New("down"))
		w := NewWriting(New[string, int](engineOn(t, raw), cacheNamed(t, raw)), s.write, WithBehind(10), WithWriteDelay(time.Millisecond), WithMaxBacklog(3))
		for i := range 3 {
			require.NoError(t, w.Put(t.Context(), strconv.Itoa(i), i))
		}
		err := w.Put(t.Context(), "3", 3)
		require.ErrorIs(t, err, ErrBacklog)
		require.Len(t, contents(t, w), 3, "nothing was changed")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		other := NewWriting(New[string, int](w.h.h.e, w.Name()), s.write, WithBehind(10))
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
	w := NewWriting(New[string, int](engineOn(t, raw), cacheNamed(t, raw)), s.write, WithBehind(100), WithWriteDelay(time.Hour))
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
		client, proxy := through(t, server)
		var opts []MapOption
		if ids {
			opts = append(opts, WithRequestIDs())
		}
		s := newBehindMap()
		w := NewWriting(New[string, int](engineOn(t, client), cacheNamed(t, raw), opts...), s.write, ways["behind"]...)
		lost := proxy.DropReply(redistest.All(redistest.MatchScript(behindScript.Body()), redistest.Arg(w.Name())), 1)
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
		}, soon, time.Millisecond)
		done := proxy.DropReply(redistest.All(redistest.MatchScript(behindDoneScript.Body()), redistest.Arg(keys.MapWrites(w.Name()))), 1)
		require.NoError(t, w.Put(t.Context(), "l", 2))
		done.Await(t)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"k": 1, "l": 2}, s.now())
	}
}

func TestTheClientClosesUnderAWriter(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	began := make(chan struct{}, 1)
	m := New[string, int](e, cacheNamed(t, raw))
	w := NewWriting(m, func(ctx context.Context, _ []Change[string, int]) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, ways["behind"]...)
	require.NoError(t, w.Put(t.Context(), "k", 1))
	<-began
	require.NoError(t, e.Close(t.Context()))
	require.ErrorIs(t, w.Close(t.Context()), ErrClosed)
	s := newBehindMap()
	next := NewWriting(New[string, int](engineOn(t, raw), m.Name()), s.write, ways["behind"]...)
	_, _, err := next.Get(t.Context(), "k") // which is enough to find what is left
	require.NoError(t, err)
	redistest.Eventually(t, func() bool { return s.now()["k"] == 1 }, soon, time.Millisecond)
}

func TestBadInputOfAWriting(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	m, write := New[string, int](e, redistest.Name(t)), newBehindMap().write
	for what, w := range map[string]*Writing[string, int]{
		"nil map":    NewWriting[string, int](nil, write),
		"nil writer": NewWriting(m, nil),
		"nil option": NewWriting(m, write, nil),
		"no batch":   NewWriting(m, write, WithBehind(0)),
		"delay":      NewWriting(m, write, WithWriteDelay(0)),
		"retry time": NewWriting(m, write, WithMaxRetryTime(0)),
		"no dead":    NewWriting(m, write, WithDeadLimit(0)),
		"no others":  NewWriting(m, write, WithOthersWriting()),
		"backlog":    NewWriting(m, write, WithMaxBacklog(0)),
		"no many":    NewWriting(m, write, WithWriteMany(0)),
		"wait":       NewWriting(m, write, WithBacklogWait(0)),
		"a bad map":  NewWriting(New[string, int](e, ""), write),
		"on top":     NewWriting(NewLoading(m, quick), write, WithBehind(1)),
	} {
		for name, op := range operationsOf {
			require.ErrorIs(t, op(t.Context(), w), ErrInvalidArgument, "%s: %s", what, name)
		}
		require.NoError(t, w.Close(t.Context()))
	}
	w := NewWriting(m, write)
	for name, op := range operationsOf {
		require.ErrorIs(t, op(nil, w), ErrInvalidArgument, name)
	}
	_, err := Add(t.Context(), w, "k", 1)
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TestLoadingOnTopOfWriting loads without writing back.
func TestLoadingOnTopOfWriting(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := newBehindMap()
	w := NewWriting(New[string, int](engineOn(t, raw), cacheNamed(t, raw)), s.write, ways["behind"]...)
	l := NewLoading(w, quick)
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
	w := NewWriting(New[string, int](e, name), func(ctx context.Context, changes []Change[string, int]) error {
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
	name := cacheNamed(t, raw)
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
	last := NewWriting(New[string, int](engineOn(t, raw), name), s.write, WithBehind(100), WithWriteDelay(time.Millisecond))
	require.NoError(t, last.Close(t.Context()))
	lines, err := raw.Do(t.Context(), raw.B().Lrange().Key(name+"-store").Start(0).Stop(-1).Build()).AsStrSlice()
	require.NoError(t, err)
	stored := inOrder(t, lines)
	maps.Copy(stored, s.now())
	require.Equal(t, contents(t, last.m), stored, "the store equals the map")
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

// callsOfWrites checks each call of a script about what is written behind, and
// returns their names.
func callsOfWrites(t *testing.T, e *locking.Engine, r *redistest.ScriptRecorder, m Mapping[string, int]) (seen []string) {
	t.Helper()
	r.Take()
	w := NewWriting(m, newBehindMap().write, ways["behind"]...)
	require.NoError(t, w.PutMany(t.Context(), map[string]int{"1": 1, "2": 2}))
	_, _, err := w.Compute(t.Context(), "1", increment)
	require.NoError(t, err)
	_, err = w.Remove(t.Context(), "1", "2")
	require.NoError(t, err)
	for range w.Dead(t.Context()) {
	}
	_, err = w.Redrive(t.Context(), "1-1")
	require.NoError(t, err)
	_, err = w.Purge(t.Context(), "1-1")
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
	require.NoError(t, NewWriting(m, newBehindMap().write).Put(t.Context(), "3", 3))
	_, err = NewWriting(m, newBehindMap().write).Remove(t.Context(), "3")
	require.NoError(t, err)
	for _, call := range r.Take() {
		name := redistest.ScriptNames([]redistest.ScriptCall{call})[0]
		if strings.HasPrefix(name, "behind") || strings.HasPrefix(name, "through") {
			call.Check(t)
			require.True(t, e.SameSlot(append([]string{w.h.key}, call.Keys...)...), call.Keys)
			seen = append(seen, name)
		}
	}
	require.Contains(t, seen, "behind_done.lua")
	return seen
}
