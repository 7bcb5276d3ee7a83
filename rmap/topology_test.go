package rmap

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("names that break slots are refused", func(t *testing.T) {
		m := New[string, int](maptest.EngineOn(t, cluster.Client(t)), "{}stock")
		for name, op := range operations {
			require.ErrorIs(t, op(t.Context(), m, "k", 1), ErrInvalidArgument, name)
		}
	})
	t.Run("the suite", func(t *testing.T) {
		raw := cluster.Client(t)
		e := maptest.EngineOn(t, raw)
		for name, test := range suite {
			t.Run(name, func(t *testing.T) {
				test(t, e, maptest.Named(t, raw), nil)
				test(t, e, maptest.Named(t, raw), []MapOption{WithRequestIDs()})
				test(t, e, maptest.Named(t, raw), []MapOption{WithEntryLock()})
			})
		}
	})
	t.Run("a slot moves", func(t *testing.T) { aSlotMoves(t, cluster, redistest.Name(t)) })
	t.Run("a slot moves under a walk", func(t *testing.T) {
		name := redistest.Name(t)
		walksOver(t, cluster.Client(t), name, func() {
			migration := cluster.StartMigration(t, name)
			migration.Move(t, name)
			migration.Finish(t)
		})
	})
	t.Run("a failover", func(t *testing.T) {
		name := redistest.Name(t)
		goesOnBehindAFailover(t, cluster.Client(t), name, cluster.Master(name), func(addr string) { cluster.AwaitMaster(t, name, addr) })
	})
}

func TestBehindSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	goesOnBehindAFailover(t, sentinel.Client(t), redistest.Name(t), sentinel.Master(), func(addr string) { sentinel.AwaitMaster(t, addr) })
}

// load has goroutines write and read until it is stopped, each an entry of its
// own and one that all of them count.
type load struct {
	m       *Map[string, int]
	all     sync.WaitGroup
	stop    chan struct{}
	mu      sync.Mutex
	done    int // counted
	unknown int // perhaps
	failed  []error
}

func underLoad(t *testing.T, m *Map[string, int]) *load {
	t.Helper()
	l := &load{m: m, stop: make(chan struct{})}
	for i := range 4 {
		l.all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
					l.round(t, strconv.Itoa(i), n)
				}
			}
		})
	}
	return l
}

func (l *load) round(t *testing.T, own string, n int) {
	ctx := t.Context()
	if err := l.m.Put(ctx, own, n); err == nil {
		got, there, err := l.m.Get(ctx, own)
		if l.note(err) && (!there || got != n) {
			l.note(errors.New("what was written is not there"))
		}
	} else {
		l.note(err)
	}
	_, _, err := l.m.Compute(ctx, "all", increment)
	l.mu.Lock()
	switch {
	case err == nil:
		l.done++
	case errors.Is(err, ErrOutcomeUnknown):
		l.unknown++
	}
	l.mu.Unlock()
	l.note(err)
}

func (l *load) note(err error) bool {
	if err == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = append(l.failed, err)
	return false
}

func (l *load) end() {
	close(l.stop)
	l.all.Wait()
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// more waits until as much again was counted.
func (l *load) more(t *testing.T) {
	t.Helper()
	want := l.count() + 20
	require.Eventually(t, func() bool { return l.count() >= want }, maptest.Soon, time.Millisecond)
}

// aSlotMoves moves a map under load. Nothing fails: what needs one key follows it.
func aSlotMoves(t *testing.T, cluster *redistest.Cluster, name string) {
	m := New[string, int](maptest.EngineOn(t, cluster.Client(t)), name)
	l := underLoad(t, m)
	l.more(t)
	migration := cluster.StartMigration(t, m.Name())
	l.more(t)
	migration.Move(t, m.Name())
	l.more(t)
	migration.Finish(t)
	l.more(t)
	l.end()
	require.Empty(t, l.failed)
	n, _, err := m.Get(t.Context(), "all")
	require.NoError(t, err)
	require.Equal(t, l.done, n)
}

// goesOnBehindAFailover has the master die under load. Replication is
// asynchronous: what is checked is that work goes on, and that nothing is counted
// that nobody has done.
func goesOnBehindAFailover(t *testing.T, raw rueidis.Client, name string, master *redistest.Server, await func(addr string)) {
	t.Helper()
	goesOn(t, New[string, int](maptest.EngineOn(t, raw, maptest.ShortSends), name), master, await)
}

func goesOn(t *testing.T, m *Map[string, int], master *redistest.Server, await func(addr string)) {
	t.Helper()
	l := underLoad(t, m)
	l.more(t)
	master.Kill()
	await(master.Addr())
	l.more(t)
	l.end()
	n, _, err := m.Get(context.Background(), "all")
	require.NoError(t, err)
	assert.LessOrEqual(t, n, l.done+l.unknown)
}

// walksOver has a map go to another server in the middle of a walk, which yields
// every entry all the same. A cursor of the one server passes over entries of the
// other.
func walksOver(t *testing.T, raw rueidis.Client, name string, move func()) {
	t.Helper()
	m := New[string, int](maptest.EngineOn(t, raw), name)
	all := map[string]int{}
	for i := range 5000 {
		all["k"+strconv.Itoa(i)] = i
	}
	require.NoError(t, m.PutMany(t.Context(), all))
	walked, n := map[string]int{}, 0
	for e, err := range m.All(t.Context(), WithPage(100)) {
		require.NoError(t, err)
		if n++; n == 2500 {
			move()
		}
		walked[e.Key] = e.Value
	}
	require.Equal(t, len(all), len(walked))
	require.Equal(t, all, walked)
	require.Greater(t, n, 5000, "it began anew")
}
