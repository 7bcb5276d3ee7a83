//go:build interop

package interop

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
)

var mapProofs = []proof{
	{row: "map/operations/go-java", test: goWritesAMap},
	{row: "map/operations/java-go", test: javaWritesAMap},
	{row: "map/add/both", test: bothAdd},
	{row: "map/lock_of_an_entry/both", test: bothLockAnEntry},
	{row: "map/compute/both", test: bothCompute, alone: true},
	{row: "map/the_whole_of_it/both", test: theWholeOfAMap},
	{row: "native_map/times_to_live/both", test: bothGiveTimes},
}

var mapEssentials = []proof{
	{row: "map/operations/go-java", test: goWritesAMap},
	{row: "map/operations/java-go", test: javaWritesAMap},
}

// sharedMap is a map of texts as both sides see it.
type sharedMap struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *rmap.Map[string, string]
	theirs peer.Map
}

func (w *world) sharedMap(t *testing.T, opts ...rmap.MapOption) *sharedMap {
	t.Helper()
	m := &sharedMap{world: w, t: t, ctx: within(t)}
	name := redistest.Name(t)
	m.mine = rmap.New[string, string](w.client(t, answersMayTakeLong), name, append(opts, rmap.WithCodec(codec.Text))...)
	m.theirs = w.java.Map(name, name, "String")
	t.Cleanup(func() { // it has no end of its own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
	})
	return m
}

// holds is what both sides, and the server, have.
func (m *sharedMap) holds(want map[string]string) {
	m.t.Helper()
	require.Equal(m.t, want, m.hash(m.ctx, m.t, m.mine.Name()))
	got := map[string]string{}
	for e, err := range m.mine.All(m.ctx) {
		require.NoError(m.t, err)
		got[e.Key] = e.Value
	}
	require.Equal(m.t, want, got)
	theirs, err := m.theirs.ReadAllMap(m.ctx)
	require.NoError(m.t, err)
	require.Len(m.t, theirs, len(want))
	for k, v := range want {
		require.Equal(m.t, peer.String(v), theirs[peer.String(k)])
	}
}

func goWritesAMap(t *testing.T, w *world) {
	m := w.sharedMap(t)
	require.NoError(t, m.mine.Put(m.ctx, "a", "1"))
	require.NoError(t, m.mine.PutMany(m.ctx, map[string]string{"b": "2", "é\n": "ü"}))
	m.holds(map[string]string{"a": "1", "b": "2", "é\n": "ü"})
	v, err := m.theirs.Get(m.ctx, peer.String("é\n"))
	require.NoError(t, err)
	require.Equal(t, peer.String("ü"), v)
	old, had, err := m.mine.Swap(m.ctx, "a", "3")
	require.NoError(t, err)
	require.True(t, had)
	require.Equal(t, "1", old)
	did, err := m.mine.CompareAndSwap(m.ctx, "b", "2", "4")
	require.NoError(t, err)
	require.True(t, did)
	_, did, err = m.mine.PutIfAbsent(m.ctx, "c", "5")
	require.NoError(t, err)
	require.True(t, did)
	did, err = m.mine.Replace(m.ctx, "c", "6")
	require.NoError(t, err)
	require.True(t, did)
	m.holds(map[string]string{"a": "3", "b": "4", "c": "6", "é\n": "ü"})
	_, _, err = m.mine.Take(m.ctx, "a")
	require.NoError(t, err)
	_, err = m.mine.Remove(m.ctx, "b", "é\n")
	require.NoError(t, err)
	did, err = m.mine.CompareAndRemove(m.ctx, "c", "6")
	require.NoError(t, err)
	require.True(t, did)
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) { return m.theirs.ContainsKey(ctx, peer.String("a")) })
	m.holds(map[string]string{})
}

func javaWritesAMap(t *testing.T, w *world) {
	m := w.sharedMap(t)
	k, v := peer.String("a"), peer.String("1")
	_, err := m.theirs.Put(m.ctx, k, v)
	require.NoError(t, err)
	require.NoError(t, m.theirs.PutAll(m.ctx, peer.String("b"), peer.String("2"), peer.String("c"), peer.String("3")))
	m.holds(map[string]string{"a": "1", "b": "2", "c": "3"})
	got, err := m.mine.GetMany(m.ctx, "a", "c", "none")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1", "c": "3"}, got)
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) {
		return m.theirs.ReplaceExact(ctx, k, v, peer.String("4"))
	})
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) { return m.theirs.FastPutIfAbsent(ctx, k, v) })
	text, there, err := m.mine.Get(m.ctx, "a")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "4", text)
	n, err := m.theirs.FastRemove(m.ctx, k, peer.String("b"))
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	there, err = m.mine.Has(m.ctx, "a")
	require.NoError(t, err)
	require.False(t, there)
	n, err = m.mine.Len(m.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	requireTruth(m.ctx, t, true, m.theirs.Delete)
	m.holds(map[string]string{})
}

func bothAdd(t *testing.T, w *world) {
	m := w.sharedMap(t)
	numbers := rmap.New[string, int64](w.client(t, answersMayTakeLong), m.mine.Name(), rmap.WithCodec(codec.Text))
	theirs := w.java.Map(m.mine.Name(), m.mine.Name(), "String,Long")
	n, err := rmap.Add(m.ctx, numbers, "k", 5)
	require.NoError(t, err)
	require.EqualValues(t, 5, n)
	d, err := theirs.AddAndGet(m.ctx, peer.String("k"), peer.Long(2))
	require.NoError(t, err)
	require.Equal(t, peer.Long(7), d)
	n, err = rmap.Add(m.ctx, numbers, "k", -10)
	require.NoError(t, err)
	require.EqualValues(t, -3, n)
	d, err = theirs.Get(m.ctx, peer.String("k"))
	require.NoError(t, err)
	require.Equal(t, peer.Long(-3), d)
}

func bothLockAnEntry(t *testing.T, w *world) {
	m := w.sharedMap(t)
	k := peer.String("abc")
	name, err := m.theirs.NameOfEntryLock(m.ctx, k)
	require.NoError(t, err)
	require.Equal(t, name, m.mine.Lock("abc").Name())
	hold, err := m.mine.Lock("abc").Lock(m.ctx)
	require.NoError(t, err)
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) { return m.theirs.IsEntryLocked(ctx, k) })
	require.NoError(t, hold.Unlock(m.ctx))
	require.NoError(t, m.theirs.LockEntry(m.ctx, k))
	locked, err := m.mine.Lock("abc").Locked(m.ctx)
	require.NoError(t, err)
	require.True(t, locked)
	require.NoError(t, m.theirs.UnlockEntry(m.ctx, k))
}

// bothCompute counts from two processes of Java and two clients of Go, under the
// lock of the entry: none is lost.
func bothCompute(t *testing.T, w *world) {
	m := w.sharedMap(t)
	each := redistest.Count(t, 50, 2500)
	var all sync.WaitGroup
	for i, java := range []*peer.Peer{w.java, w.second} {
		all.Go(func() {
			theirs := java.Map(m.mine.Name()+strconv.Itoa(i), m.mine.Name(), "String")
			for left := each; left > 0; left -= min(left, 50) { // a call has an end
				_, err := theirs.Increment(m.ctx, peer.String("k"), min(left, 50))
				assert.NoError(t, err)
			}
		})
	}
	// A value that is missing is a Long for Java, which its codec writes as a text.
	count := func(old string, _ bool) (string, rmap.Verdict, error) {
		n, _ := strconv.Atoi(old)
		return strconv.Itoa(n + 1), rmap.Store, nil
	}
	for range 2 {
		mine := rmap.New[string, string](w.client(t, answersMayTakeLong), m.mine.Name(), rmap.WithCodec(codec.Text), rmap.WithEntryLock())
		all.Go(func() {
			for range each {
				_, _, err := mine.Compute(m.ctx, "k", count)
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	m.holds(map[string]string{"k": strconv.Itoa(4 * each)})
}

func theWholeOfAMap(t *testing.T, w *world) {
	m := w.sharedMap(t)
	require.NoError(t, m.mine.Put(m.ctx, "a", "1"))
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) { return m.theirs.Expire(ctx, time.Hour) })
	left, err := m.mine.Remaining(m.ctx)
	require.NoError(t, err)
	require.Greater(t, left, 50*time.Minute)
	did, err := m.mine.Persist(m.ctx)
	require.NoError(t, err)
	require.True(t, did)
	did, err = m.mine.Expire(m.ctx, time.Hour)
	require.NoError(t, err)
	require.True(t, did)
	requireTruth(m.ctx, t, true, m.theirs.ClearExpire)
	require.NoError(t, m.theirs.Clear(m.ctx))
	there, err := m.mine.Exists(m.ctx)
	require.NoError(t, err)
	require.False(t, there)
}

// bothGiveTimes needs a server that has them; that of the world has not, and both
// sides say so.
func bothGiveTimes(t *testing.T, w *world) {
	ctx := within(t)
	if w.cluster {
		name := redistest.Name(t)
		err := rmap.NewTTLMap[string, string](w.client(t, answersMayTakeLong), name).Put(ctx, "a", "1", rmap.WithTTL(time.Hour))
		require.ErrorContains(t, err, "Redis 7.4")
		require.False(t, w.exists(ctx, t, name))
		return
	}
	server := redistest.Start(t, redistest.Version("8.0"))
	java := peer.Start(t, peer.Options{Addr: server.Addr()})
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	mine := rmap.NewTTLMap[string, string](c, "native", rmap.WithCodec(codec.Text))
	theirs := java.MapCacheNative("t", "native", "String")
	require.NoError(t, mine.Put(ctx, "a", "1", rmap.WithTTL(time.Hour)))
	ms, err := theirs.RemainTimeToLive(ctx, peer.String("a"))
	require.NoError(t, err)
	require.Greater(t, time.Duration(ms)*time.Millisecond, 50*time.Minute)
	_, err = theirs.FastPutFor(ctx, peer.String("b"), peer.String("2"), time.Hour)
	require.NoError(t, err)
	left, err := mine.TTL(ctx, "b")
	require.NoError(t, err)
	require.Greater(t, left, 50*time.Minute)
	v, there, err := mine.Get(ctx, "b")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "2", v)
	did, err := mine.Touch(ctx, "b")
	require.NoError(t, err)
	require.True(t, did)
	ms, err = theirs.RemainTimeToLive(ctx, peer.String("b"))
	require.NoError(t, err)
	require.Greater(t, ms, (50 * time.Minute).Milliseconds(), "without times it changes nothing")
	n, err := mine.ClearExpire(ctx, "b")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	ms, err = theirs.RemainTimeToLive(ctx, peer.String("b"))
	require.NoError(t, err)
	require.EqualValues(t, -1, ms)
	requireTruth(ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.ClearExpireEntry(ctx, peer.String("a")) })
	left, err = mine.TTL(ctx, "a")
	require.NoError(t, err)
	require.EqualValues(t, -1, left)
	bothEndNativeEntries(ctx, t, c, mine, theirs)
}

// bothEndNativeEntries: several at once, under conditions, by each side.
func bothEndNativeEntries(ctx context.Context, t *testing.T, c *rueidisson.Client, mine *rmap.TTLMap[string, string], theirs peer.MapCacheNative) {
	require.NoError(t, mine.PutMany(ctx, map[string]string{"a": "1", "b": "2"}))
	require.NoError(t, mine.Put(ctx, "c", "3", rmap.WithTTL(2*time.Hour)))
	expire := func(want int64, in time.Duration, when rmap.ExpireIf, java string, javaKeys ...string) {
		t.Helper()
		n, err := mine.ExpireEntries(ctx, []string{"a", "b", "c", "no such"}, in, when)
		require.NoError(t, err)
		require.Equal(t, want, n)
		n, err = theirs.ExpireEntries(ctx, java, in+time.Hour, data(javaKeys)...)
		require.NoError(t, err)
		require.EqualValues(t, 0, n)
	}
	javas := func() map[string]int64 { t.Helper(); return entryTimes(ctx, t, theirs.RemainTimeToLive, "a", "b", "c") }
	expire(2, time.Hour, rmap.IfNotSet, "IfNotSet", "a", "c")
	require.Equal(t, map[string]int64{"a": 60, "b": 60, "c": 120}, javas())
	expire(2, 90*time.Minute, rmap.IfGreater, "IfLess", "a", "c")
	require.Equal(t, map[string]int64{"a": 90, "b": 90, "c": 120}, javas())
	n, err := theirs.ExpireEntries(ctx, "", 3*time.Hour, str("a"), str("c"))
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	times, err := mine.TTLMany(ctx, "a", "b", "no such")
	require.NoError(t, err)
	require.Len(t, times, 2)
	require.InDelta(t, 3*time.Hour, times["a"], float64(time.Minute))
	e, there, err := mine.Peek(ctx, "b")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "2", e.Value)
	require.InDelta(t, 90*time.Minute, e.TTL, float64(time.Minute))

	_, _, err = mine.Compute(ctx, "b", func(string, bool) (string, rmap.Verdict, error) { return "4", rmap.Store, nil }, rmap.WithTTL(4*time.Hour))
	require.NoError(t, err)
	_, _, err = mine.ComputeIfAbsent(ctx, "d", func() (string, error) { return "5", nil }, rmap.WithTTL(time.Hour))
	require.NoError(t, err)
	numbers := rmap.NewTTLMap[string, int64](c, mine.Name(), rmap.WithCodec(codec.Text))
	_, err = rmap.Add(ctx, numbers, "a", 4, rmap.WithTTL(5*time.Hour))
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"a": 300, "b": 240, "c": 180, "d": 60}, entryTimes(ctx, t, theirs.RemainTimeToLive, "a", "b", "c", "d"))
}
