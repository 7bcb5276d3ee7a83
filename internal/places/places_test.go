package places

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// word is a place that remembers until it is told not to.
type word struct {
	Entry
	key      string
	busy     bool
	told     int // how often the last reference went
	reusable bool
}

type words = Places[string, *word]

func table() *words {
	return &words{
		Make:  func(key string) *word { return &word{key: key} },
		Left:  func(w *word) { w.told++ },
		Idle:  func(w *word) bool { return !w.busy },
		Reuse: func(w *word) bool { return w.reusable },
	}
}

func TestAPlaceGoesWithItsLastReference(t *testing.T) {
	t.Parallel()
	ps := table()
	first, second := ps.Get("a"), ps.Get("a")
	require.Same(t, first, second)
	ps.Put("a", first)
	assert.Zero(t, first.told)
	assert.Equal(t, 1, ps.Len())
	ps.Put("a", second)
	assert.Equal(t, 1, first.told)
	assert.Zero(t, ps.Len())
	assert.NotSame(t, first, ps.Get("a"))
}

func TestAPlaceThatRemembersIsFoundAgain(t *testing.T) {
	t.Parallel()
	ps := table()
	p := ps.Get("a")
	p.busy = true
	for range 3 {
		ps.Put("a", p)
		require.Equal(t, 1, ps.Len())
		require.Same(t, p, ps.Get("a"))
	}
	assert.Equal(t, 3, p.told)
	p.busy = false
	ps.Put("a", p)
	assert.LessOrEqual(t, ps.Len(), 1)
}

func TestEachPlaceIsShownOnce(t *testing.T) {
	t.Parallel()
	ps := table()
	want := make(map[*word]int)
	for i := range 100 {
		want[ps.Get(fmt.Sprint(i))] = 1
	}
	ps.Put("gone", ps.Get("gone"))
	shown := make(map[*word]int)
	ps.Each(func(w *word) { shown[w]++ })
	assert.Equal(t, want, shown)
}

// One that never becomes idle does not hold up those behind it, and what has
// become idle goes with calls for other keys.
func TestTheSweepKeepsUp(t *testing.T) {
	t.Parallel()
	ps := table()
	forever := ps.Get("forever")
	forever.busy = true
	ps.Put("forever", forever)
	const names = 50_000
	var last []*word
	for i := range names {
		key := fmt.Sprint(i)
		p := ps.Get(key)
		p.busy = true
		ps.Put(key, p)
		if last = append(last, p); len(last) > 1000 { // what it remembers is over after a thousand others
			last[0].busy = false
			last = last[1:]
		}
	}
	assert.Less(t, ps.Len(), 4000)
	for _, p := range last {
		p.busy = false
	}
	for i := range 4000 {
		key := fmt.Sprint("other", i)
		ps.Put(key, ps.Get(key))
	}
	assert.Equal(t, 1, ps.Len())
	assert.Same(t, forever, ps.Get("forever"))
}

func TestAPlaceIsUsedAgainForAnotherKeyIfItMayBe(t *testing.T) {
	t.Parallel()
	for _, reusable := range []bool{true, false} {
		made := 0
		ps := &Places[int, *word]{
			Make:  func(int) *word { made++; return &word{reusable: reusable} },
			Reuse: func(w *word) bool { return w.reusable },
		}
		for i := range 10_000 {
			ps.Put(i, ps.Get(i))
		}
		if reusable {
			assert.LessOrEqual(t, made, len(ps.shards), "one for each shard")
		} else {
			assert.Equal(t, 10_000, made)
		}
	}
}

func TestOneReferenceEachGoroutine(t *testing.T) {
	t.Parallel()
	ps := table()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 5000 {
				key := fmt.Sprint((g + i) % 7)
				p := ps.Get(key)
				assert.Equal(t, key, p.key)
				ps.Put(key, p)
			}
		})
	}
	all.Wait()
	assert.Zero(t, ps.Len())
}

func TestNamesThatWereUsedLeaveNothing(t *testing.T) {
	ps := table()
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	for i := range 200_000 {
		key := fmt.Sprint(i)
		ps.Put(key, ps.Get(key))
	}
	after := used()
	runtime.KeepAlive(ps)
	assert.Less(t, after, before+(1<<20))
}

func BenchmarkGetPut(b *testing.B) {
	type key struct{ kind, name string }
	spare := Places[key, *word]{
		Make:  func(key) *word { return new(word) },
		Reuse: func(*word) bool { return true },
	}
	k := key{"lock", "order:42"}
	b.ReportAllocs()
	for b.Loop() {
		spare.Put(k, spare.Get(k))
	}
}
