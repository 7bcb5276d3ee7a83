package mapkinds

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// LoadKinds are the maps that are loaded in different ways.
var LoadKinds = map[string]func(e *locking.Engine, name string) rmap.Mapping[string, int]{
	"map": func(e *locking.Engine, name string) rmap.Mapping[string, int] { return rmap.New[string, int](e, name) },
	"cache": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
		return rmap.NewCache[string, int](e, name)
	},
	"sharded": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
		return rmap.NewSharded[string, int](e, name, 3)
	},
	"locked": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
		return rmap.NewCache[string, int](e, name, rmap.WithEntryLock())
	},
}

// OnLoadKinds runs a test on each of LoadKinds on every kind of server.
func OnLoadKinds(t *testing.T, test func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int])) {
	t.Helper()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, of := range LoadKinds {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				name := maptest.CacheNamed(t, raw)
				test(t, raw, func(e *locking.Engine) rmap.Mapping[string, int] { return of(e, name) })
			})
		}
	})
}

// Contents returns all entries of m.
func Contents(t testing.TB, m rmap.Mapping[string, int]) map[string]int {
	t.Helper()
	all := map[string]int{}
	for e, err := range m.All(t.Context()) {
		require.NoError(t, err)
		all[e.Key] = e.Value
	}
	return all
}

// OperationsOf is every operation of a map, on any that there is.
var OperationsOf = map[string]func(ctx context.Context, m rmap.Mapping[string, int]) error{
	"get": func(ctx context.Context, m rmap.Mapping[string, int]) error { _, _, err := m.Get(ctx, "1"); return err },
	"get many": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, err := m.GetMany(ctx, "1", "2")
		return err
	},
	"has": func(ctx context.Context, m rmap.Mapping[string, int]) error { _, err := m.Has(ctx, "1"); return err },
	"len": func(ctx context.Context, m rmap.Mapping[string, int]) error { _, err := m.Len(ctx); return err },
	"put": func(ctx context.Context, m rmap.Mapping[string, int]) error { return m.Put(ctx, "1", 1) },
	"put many": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		return m.PutMany(ctx, map[string]int{"1": 1})
	},
	"swap": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.Swap(ctx, "1", 1)
		return err
	},
	"remove": func(ctx context.Context, m rmap.Mapping[string, int]) error { _, err := m.Remove(ctx, "1"); return err },
	"clear":  func(ctx context.Context, m rmap.Mapping[string, int]) error { return m.Clear(ctx) },
	"put if absent": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.PutIfAbsent(ctx, "1", 1)
		return err
	},
	"replace": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, err := m.Replace(ctx, "1", 1)
		return err
	},
	"take": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.Take(ctx, "1")
		return err
	},
	"swap compared": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, err := m.CompareAndSwap(ctx, "1", 1, 2)
		return err
	},
	"remove compared": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, err := m.CompareAndRemove(ctx, "1", 1)
		return err
	},
	"compute": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		_, _, err := m.Compute(ctx, "1", PlusOne)
		return err
	},
	"all": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		for _, err := range m.All(ctx) {
			return err
		}
		return nil
	},
	"keys": func(ctx context.Context, m rmap.Mapping[string, int]) error {
		for _, err := range m.Keys(ctx) {
			return err
		}
		return nil
	},
}

// PlusOne is for Compute.
func PlusOne(old int, _ bool) (int, rmap.Verdict, error) { return old + 1, rmap.Store, nil }

// Holds reads entry 5 of m.
func Holds(ctx context.Context, m rmap.Mapping[string, int], want int) error {
	v, _, err := m.Get(ctx, "5")
	if err == nil && v != want {
		return fmt.Errorf("read %d", v)
	}
	return err
}

// Deletes deletes m.
func Deletes(ctx context.Context, m interface {
	Delete(ctx context.Context) (bool, error)
}) error {
	_, err := m.Delete(ctx)
	return err
}

// Lossy is a map, of any kind, whose writes lose their replies.
type Lossy interface {
	rmap.Mapping[string, int]
	Delete(ctx context.Context) (bool, error)
	Expire(ctx context.Context, d time.Duration) (bool, error)
	Rename(ctx context.Context, to string) (bool, error)
}

// Effect describes an operation on the map {k: 5}: its answer, and the entries that it leaves.
type Effect struct {
	Sends  redistest.Match // that loses its reply
	IDs    redistest.Match // with request ids
	Do     func(ctx context.Context, m Lossy) (any, error)
	Answer any
	Left   map[string]int
}

var byCommand = redistest.MatchScript(mapstore.CommandScript.Body())

// Effects is every write.
var Effects = map[string]Effect{
	"put": {redistest.Command("HSET"), byCommand, func(ctx context.Context, m Lossy) (any, error) {
		return nil, m.Put(ctx, "k", 6)
	}, nil, map[string]int{"k": 6}},
	"put many": {redistest.Command("HSET"), byCommand, func(ctx context.Context, m Lossy) (any, error) {
		return nil, m.PutMany(ctx, map[string]int{"k": 6, "l": 7})
	}, nil, map[string]int{"k": 6, "l": 7}},
	"remove": {redistest.Command("HDEL"), byCommand, func(ctx context.Context, m Lossy) (any, error) {
		return m.Remove(ctx, "k", "l")
	}, int64(1), map[string]int{}},
	"clear": {redistest.Command("UNLINK"), redistest.MatchScript(mapstore.DeleteScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return nil, m.Clear(ctx)
	}, nil, map[string]int{}},
	"delete": {redistest.Command("UNLINK"), redistest.MatchScript(mapstore.DeleteScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return m.Delete(ctx)
	}, true, map[string]int{}},
	"swap": {redistest.MatchScript(mapstore.SwapScript.Body()), redistest.MatchScript(mapstore.SwapScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		old, _, err := m.Swap(ctx, "k", 6)
		return old, err
	}, 5, map[string]int{"k": 6}},
	"take": {redistest.MatchScript(mapstore.TakeScript.Body()), redistest.MatchScript(mapstore.TakeScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		old, _, err := m.Take(ctx, "k")
		return old, err
	}, 5, map[string]int{}},
	"put if absent": {redistest.MatchScript(mapstore.PutIfAbsentScript.Body()), redistest.MatchScript(mapstore.PutIfAbsentScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		_, stored, err := m.PutIfAbsent(ctx, "l", 7)
		return stored, err
	}, true, map[string]int{"k": 5, "l": 7}},
	"replace": {redistest.MatchScript(mapstore.ReplaceScript.Body()), redistest.MatchScript(mapstore.ReplaceScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return m.Replace(ctx, "k", 6)
	}, true, map[string]int{"k": 6}},
	"compare and swap": {redistest.MatchScript(mapstore.ChangeScript.Body()), redistest.MatchScript(mapstore.ChangeScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return m.CompareAndSwap(ctx, "k", 5, 6)
	}, true, map[string]int{"k": 6}},
	"compare and remove": {redistest.MatchScript(mapstore.ChangeScript.Body()), redistest.MatchScript(mapstore.ChangeScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return m.CompareAndRemove(ctx, "k", 5)
	}, true, map[string]int{}},
	"compute": {redistest.MatchScript(mapstore.ChangeScript.Body()), redistest.MatchScript(mapstore.ChangeScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		n, _, err := m.Compute(ctx, "k", PlusOne)
		return n, err
	}, 6, map[string]int{"k": 6}},
	"add": {redistest.Command("HINCRBY"), redistest.MatchScript(mapstore.AddScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return rmap.Add(ctx, m, "k", 2)
	}, 7, map[string]int{"k": 7}},
	"expire": {redistest.MatchScript(mapstore.ExpireScript.Body()), redistest.MatchScript(mapstore.ExpireScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return m.Expire(ctx, time.Hour)
	}, true, map[string]int{"k": 5}},
	"rename": {redistest.MatchScript(mapstore.RenameScript.Body()), redistest.MatchScript(mapstore.RenameScript.Body()), func(ctx context.Context, m Lossy) (any, error) {
		return m.Rename(ctx, m.Name()+"-gone")
	}, true, map[string]int{}},
}

// SourceMap is a map whose entries have times to live.
type SourceMap interface {
	rmap.Mapping[string, int]
	TTL(ctx context.Context, k string) (time.Duration, error)
	Touch(ctx context.Context, k string, opts ...rmap.PutOption) (bool, error)
}

// OnSourceMaps runs a test on the maps whose entries end by themselves.
func OnSourceMaps(t *testing.T, test func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...rmap.CacheOption) SourceMap)) {
	t.Helper()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for kind, of := range map[string]func(e *locking.Engine, name string, opts ...rmap.CacheOption) SourceMap{
		"cache": func(e *locking.Engine, name string, opts ...rmap.CacheOption) SourceMap {
			return rmap.NewCache[string, int](e, name, opts...)
		},
		"native": func(e *locking.Engine, name string, opts ...rmap.CacheOption) SourceMap {
			return rmap.NewTTLMap[string, int](e, name, maptest.As[rmap.TTLMapOption](opts)...)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := maptest.CacheNamed(t, raw)
			test(t, raw, func(e *locking.Engine, opts ...rmap.CacheOption) SourceMap { return of(e, name, opts...) })
		})
	}
}
