package mapcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

func (r *rig) bound(n int, mode string) {
	r.t.Helper()
	r.run(SetBound, []string{r.n.Options, r.n.Accesses}, strconv.Itoa(n), mode)
}

func (r *rig) fields() []string {
	r.t.Helper()
	msg := r.do("HKEYS", r.n.Hash)
	names, err := msg.AsStrSlice()
	require.NoError(r.t, err)
	slices.Sort(names)
	return names
}

func (r *rig) members(key string) []string {
	r.t.Helper()
	msg := r.do("ZRANGE", key, "0", "-1")
	names, err := msg.AsStrSlice()
	require.NoError(r.t, err)
	return names
}

func (r *rig) used(key, mode string) { r.t.Helper(); r.run(Get, r.n.All()[:4], r.now(), mode, key) }

func TestABoundedCacheLosesWhatWasNotUsedForLongest(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.bound(3, "LRU")
		for _, key := range []string{"a", "b", "c"} {
			assert.Zero(t, r.put(key, key, Life{TTL: time.Hour, Idle: time.Hour}))
			r.clock.forward(time.Millisecond)
		}
		heard := r.listen()
		r.used("a", "LRU")
		r.clock.forward(time.Millisecond)
		assert.Zero(t, r.put("d", "d", Life{TTL: time.Hour}))
		assert.Equal(t, []string{"a", "c", "d"}, r.fields())
		assert.Equal(t, []string{"c", "a", "d"}, r.members(r.n.Accesses))
		assert.ElementsMatch(t, []string{"a", "c", "d"}, r.members(r.n.Times))
		assert.ElementsMatch(t, []string{"a", "c"}, r.members(r.n.Rests))
		heard.expect(Event{Removed, "b", "b", ""}, Event{Created, "d", "d", ""})
		r.clock.forward(time.Millisecond)
		r.put("c", "C", Life{TTL: time.Minute})
		assert.Equal(t, []string{"a", "c", "d"}, r.fields(), "D5: what was there takes no room")
		assert.Equal(t, []string{"a", "d", "c"}, r.members(r.n.Accesses))
	})
}

// Redisson may leave a key in the order of which it has removed the entry.
func TestWhatHasJustComeIsNotEvictedByItsOwnPast(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.bound(2, "LRU")
	r.put("a", "v", Life{})
	r.put("b", "v", Life{})
	r.do("ZADD", r.n.Accesses, "1", "c")
	assert.EqualValues(t, 2, r.put("c", "v", Life{}), "the sweeper has to see to it")
	assert.Equal(t, []string{"a", "b", "c"}, r.fields())
	sweeperOn(r.e, nil).Expect(&r.n, r.e.Wall())
	require.Eventually(t, func() bool { return r.count("HLEN", r.n.Hash) == 2 }, soon, time.Millisecond)
	assert.Contains(t, r.fields(), "c")
}

func TestABoundedCacheLosesWhatWasUsedLeast(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.bound(2, "LFU")
		r.put("a", "1", Life{})
		r.put("b", "1", Life{})
		r.used("a", "LFU")
		r.used("b", "LFU")
		r.used("b", "LFU")
		r.put("c", "1", Life{})
		assert.Equal(t, []string{"b", "c"}, r.fields(), "never the one that has just come")
		r.put("d", "1", Life{})
		assert.Equal(t, []string{"b", "d"}, r.fields())
		assert.EqualValues(t, 3, r.count("ZSCORE", r.n.Accesses, "b"))
	})
}

// D23: where a bound comes to a filled cache, Redisson never evicts what was there, and each new entry pushes out the one
// before it.
func TestEntriesFromBeforeTheBoundAreLeftToTheSweeperToPutInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 20 {
		r.put(fmt.Sprint("old", i), "v", Life{})
	}
	r.do("HSET", r.n.Options, "max-size", "5", "mode", "LRU") // as Java does
	for i := range 10 {
		assert.EqualValues(t, 2, r.put(fmt.Sprint("new", i), "v", Life{}), "the sweeper is asked for")
		r.clock.forward(time.Millisecond)
	}
	assert.Len(t, r.fields(), 30, "none that is new has gone meanwhile")
	s := sweeperOn(r.e, nil)
	s.Expect(&r.n, r.e.Wall())
	require.Eventually(t, func() bool { return r.count("HLEN", r.n.Hash) == 5 }, soon, 5*time.Millisecond)
	assert.Equal(t, []string{"new5", "new6", "new7", "new8", "new9"}, r.fields())
	require.Eventually(t, func() bool { return s.Len() == 0 }, soon, time.Millisecond, "and the cache is left alone")
}

func TestAFarTooLargeCacheGoesAPageAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	heard := r.listen()
	r.bound(100_000, "LRU")
	for i := range 2000 {
		r.put(fmt.Sprint(i), "v", Life{})
	}
	r.do("HSET", r.n.Options, "max-size", "10")
	assert.EqualValues(t, 2, r.put("new", "v", Life{}))
	assert.EqualValues(t, 2001-100, r.count("HLEN", r.n.Hash), "one write does not do the work of a sweeper")
	seen := make(chan core.Sweep, 1000)
	s := sweeperOn(r.e, func(v core.Sweep) { seen <- v })
	s.Expect(&r.n, r.e.Wall())
	require.Eventually(t, func() bool { return r.count("HLEN", r.n.Hash) == 10 }, soon, 5*time.Millisecond)
	require.Eventually(t, func() bool { return s.Len() == 0 }, soon, time.Millisecond)
	close(seen)
	evicted := int64(0)
	for v := range seen {
		assert.LessOrEqual(t, v.Evicted, int64(batch))
		evicted += v.Evicted
	}
	assert.EqualValues(t, 2001-100-10, evicted)
	assert.Contains(t, r.fields(), "new")
	require.Eventually(t, func() bool { heard.mu.Lock(); defer heard.mu.Unlock(); return len(heard.events) == 2001+1991 }, soon, 5*time.Millisecond)
}

func TestOptionsThatNobodyUnderstandsAreNone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		for _, most := range []string{"", "-5", "many", "nan", "inf", "1e300", "0x", "9223372036854775808000"} {
			for _, mode := range []string{"", "FIFO", "lfu"} {
				r.do("HSET", r.n.Options, "max-size", most, "mode", mode, "has-listeners", "yes", "other", "x")
				for i := range 3 {
					assert.Zero(t, r.put(fmt.Sprint(i), "v", Life{}), most)
				}
				assert.Len(t, r.fields(), 3, most)
				assert.Zero(t, r.count("EXISTS", r.n.Accesses), most)
			}
		}
		r.do("HSET", r.n.Options, "max-size", "2.9", "mode", "FIFO")
		s := sweeperOn(r.e, nil)
		s.Expect(&r.n, r.e.Wall())
		require.Eventually(t, func() bool { return r.count("HLEN", r.n.Hash) == 2 }, soon, 5*time.Millisecond)
	})
}

func TestAnotherOrderStartsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.bound(5, "LRU")
	r.put("a", "v", Life{})
	r.bound(5, "LFU")
	assert.Zero(t, r.count("EXISTS", r.n.Accesses), "times are no counts")
	r.put("a", "v", Life{})
	r.bound(6, "LFU")
	assert.EqualValues(t, 1, r.count("ZCARD", r.n.Accesses))
	r.bound(0, "LFU")
	assert.Zero(t, r.count("EXISTS", r.n.Accesses))
}

// dump is all of a cache but its name.
func (r *rig) dump() map[string][]string {
	r.t.Helper()
	all := map[string][]string{}
	for what, cmd := range map[string][]string{
		"times": {"ZRANGE", r.n.Times, "0", "-1", "WITHSCORES"}, "rests": {"ZRANGE", r.n.Rests, "0", "-1", "WITHSCORES"},
		"accesses": {"ZRANGE", r.n.Accesses, "0", "-1", "WITHSCORES"},
	} {
		msg := r.do(cmd...)
		texts, err := msg.AsStrSlice()
		require.NoError(r.t, err)
		all[what] = texts
	}
	for _, key := range r.fields() {
		all["entries"] = append(all["entries"], key, r.entry(key).packed)
	}
	all["lease"] = []string{strconv.FormatInt(r.count("EXISTS", r.n.Lease("k")), 10)}
	return all
}

// The short script is written out where the long one has functions.
func TestBothPutsOfABoundedCacheAreOne(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		name := redistest.Name(t)
		short, long := rigOn(t, raw, name+"short"), rigOn(t, raw, name+"long")
		random := rand.New(rand.NewPCG(1, 2))
		both := func(args ...string) {
			for _, r := range []*rig{short, long} {
				keys := map[string]string{"O": r.n.Options, "A": r.n.Accesses, "T": r.n.Times, "I": r.n.Rests, "L": r.n.Lease("k")}
				r.do(append([]string{args[0], keys[args[1]]}, args[2:]...)...)
			}
		}
		for step := range redistest.Count(t, 600, 20_000) {
			key, mode := "k"+[]string{"", "1", "2", "3", "4", "5", "6", "7"}[random.IntN(8)], []string{"LRU", "LFU", "FIFO"}[random.IntN(3)]
			switch random.IntN(12) {
			case 0:
				both("HSET", "O", "max-size", strconv.Itoa(random.IntN(6)), "mode", mode)
			case 1:
				both("ZADD", "A", "1", key) // what Redisson leaves there
			case 2:
				both("ZREM", "A", key)
			case 3:
				both("ZADD", "A", []string{"-1", "92233720368547758"}[random.IntN(2)], "redisson__expiretag")
			case 4:
				both("ZADD", []string{"T", "I"}[random.IntN(2)], "1", key)
			case 5:
				both("SET", "L", "somebody")
			case 6:
				both("DEL", []string{"O", "A", "T", "I"}[random.IntN(4)])
			default:
				l := Life{TTL: time.Duration(random.IntN(2)) * time.Minute, Idle: time.Duration(random.IntN(2)) * time.Second}
				for _, r := range []*rig{short, long} {
					r.clock.forward(time.Millisecond)
				}
				lefts, _ := short.stored(PutBounded, key, fmt.Sprint(step), l)
				leftl := long.put(key, fmt.Sprint(step), l)
				require.Equal(t, leftl, lefts, step)
				require.Equal(t, long.dump(), short.dump(), step)
			}
		}
	})
}

// An entry that has the name of the tag is in no order, whatever is done: nobody hurries round in circles for it.
func TestAnEntryNamedAsTheTagKeepsNobodyBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.bound(1, "LRU")
	r.put("redisson__expiretag", "v", Life{})
	assert.EqualValues(t, 2, r.put("k", "v", Life{}), "it is not evicted")
	v := sweeperOn(r.e, nil).target(nil, &r.n).(*visited)
	got := v.Visit()
	for range 3 {
		got = v.Visit()
	}
	assert.True(t, got.More)
	assert.GreaterOrEqual(t, got.Wait, sweep.Period)
	r.do("HDEL", r.n.Hash, "redisson__expiretag")
	r.do("ZREM", r.n.Accesses, "redisson__expiretag")
	v.Visit()
	assert.Zero(t, v.rounds)
}
