//go:build interop

package interop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

var loadingProofs = []proof{
	{row: "loading/one_call/go-java", test: javaWaitsForWhatGoLoads},
	{row: "loading/one_call/java-go", test: goWaitsForWhatJavaLoads},
	{row: "loading/lease/go-java", test: javaSeesTheLeaseOfGo},
	{row: "loading/put_meanwhile/java-go", test: javaPutsWhileGoLoads},
	{row: "loading/put_meanwhile/go-java", test: goPutsWhileJavaLoads},
	{row: "loading/lease/java-go", test: goSeesTheLeaseOfJava},
}

// loadedMap is a map of texts in front of a store on each side.
type loadedMap struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *readthrough.Map[string, string]
	theirs peer.StoredMap
	cache  peer.MapCache // the same keys, without a loader

	loads atomic.Int64
	began chan struct{} // of each load
	open  chan string   // what the next load returns
}

// forgetting deletes what is left of a map, which has no end of its own.
func (w *world) forgetting(t *testing.T, name string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, left := range w.keys(ctx, t, name) {
			w.del(ctx, t, left)
		}
	})
}

var loadedKinds = []string{"loadedmap", "loadedcache"}

// loadedMap is of one kind; that of a cache takes the lock of the entry unless it is told otherwise.
func (w *world) loadedMap(t *testing.T, kind string, opts ...rmap.MapOption) *loadedMap {
	t.Helper()
	name := redistest.Name(t)
	m := &loadedMap{world: w, t: t, ctx: within(t), began: make(chan struct{}, 10), open: make(chan string)}
	m.theirs = w.java.StoredMap(kind, name, name, "String")
	m.cache = w.java.MapCache(name, name, "String")
	c := w.client(t, answersMayTakeLong)
	if kind == "loadedmap" {
		m.mine = readthrough.New(rmap.New[string, string](c, name, append(opts, rmap.WithCodec(codec.Text))...), m.load)
	} else {
		cached := []rmap.CacheOption{rmap.WithCodec(codec.Text)}
		for _, o := range opts {
			cached = append(cached, o)
		}
		m.mine = readthrough.New(rmap.NewCache[string, string](c, name, cached...), m.load)
	}
	w.forgetting(t, name)
	t.Cleanup(func() { // Java sweeps no more
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, m.cache.Destroy(ctx))
	})
	return m
}

func (m *loadedMap) load(ctx context.Context, _ string) (string, bool, error) {
	m.loads.Add(1)
	m.began <- struct{}{}
	select {
	case v := <-m.open:
		return v, true, nil
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

func (m *loadedMap) get() <-chan outcome[string] {
	return begin(func() (string, error) { v, _, err := m.mine.Get(m.ctx, "k"); return v, err })
}

func (m *loadedMap) getByJava() <-chan outcome[peer.Datum] {
	return begin(func() (peer.Datum, error) { return m.theirs.Get(m.ctx, str("k")) })
}

// haveLoaded is how many calls of the loaders there were.
func (m *loadedMap) haveLoaded(mine, theirs int) {
	m.t.Helper()
	n, err := m.theirs.On("looker").Loads(m.ctx)
	require.NoError(m.t, err)
	require.EqualValues(m.t, theirs, n, "calls of Java's loader")
	require.EqualValues(m.t, mine, m.loads.Load(), "calls of Go's loader")
}

// javaLoads waits until Java's loader was called.
func (m *loadedMap) javaLoads() {
	m.t.Helper()
	eventually(m.ctx, m.t, "Java's loader is called", func() bool {
		n, err := m.theirs.On("looker").Loads(m.ctx)
		return err == nil && n > 0
	})
}

func (m *loadedMap) letJavaLoad() {
	m.t.Helper()
	require.NoError(m.t, m.theirs.On("looker").LetLoad(m.ctx))
}

func javaWaitsForWhatGoLoads(t *testing.T, w *world) {
	for _, kind := range loadedKinds {
		m := w.loadedMap(t, kind, rmap.WithEntryLock())
		got := m.get()
		<-m.began
		theirs := m.getByJava()
		w.awaitListener(m.ctx, t, m.mine.Lock("k").Name()) // Java waits for the lock of the entry
		m.open <- "go"
		mine := <-got
		require.NoError(t, mine.err, kind)
		require.Equal(t, "go", mine.value, kind)
		his := <-theirs
		require.NoError(t, his.err, kind)
		require.Equal(t, str("go"), his.value, kind)
		m.haveLoaded(1, 0)
	}
}

func goWaitsForWhatJavaLoads(t *testing.T, w *world) {
	for _, kind := range loadedKinds {
		m := w.loadedMap(t, kind, rmap.WithEntryLock())
		theirs := m.getByJava()
		m.javaLoads()
		got := m.get()
		w.awaitListener(m.ctx, t, m.mine.Lock("k").Name())
		m.letJavaLoad()
		mine := <-got
		require.NoError(t, mine.err, kind)
		require.Equal(t, "java", mine.value, kind)
		require.NoError(t, (<-theirs).err, kind)
		m.haveLoaded(0, 1)
	}
}

// javaSeesTheLeaseOfGo on a cache whose loads take no lock.
func javaSeesTheLeaseOfGo(t *testing.T, w *world) {
	m := w.loadedMap(t, "loadedcache")
	got := m.get()
	<-m.began
	v, acquired, token, err := m.cache.GetWithLease(m.ctx, str("k"), longLease)
	require.NoError(t, err)
	require.True(t, v.IsNull())
	require.False(t, acquired)
	m.open <- "go"
	require.NoError(t, (<-got).err)
	v, acquired, _, err = m.cache.GetWithLease(m.ctx, str("k"), longLease)
	require.NoError(t, err)
	require.Equal(t, str("go"), v)
	require.False(t, acquired)
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) {
		return m.cache.PutWithLease(ctx, str("k"), str("late"), token)
	})
	require.Empty(t, w.keys(m.ctx, t, "redisson__map__lease:{"+m.mine.Name()+"}"))
}

func goSeesTheLeaseOfJava(t *testing.T, w *world) {
	m := w.loadedMap(t, "loadedcache")
	_, acquired, token, err := m.cache.GetWithLease(m.ctx, str("k"), longLease)
	require.NoError(t, err)
	require.True(t, acquired)
	got := m.get()
	ours := "rueidisson_map_loaded:{" + m.mine.Name() + "}"
	eventually(m.ctx, t, "Go waits for Java", func() bool { return w.listensTo(m.ctx, t, ours) })
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) {
		return m.cache.PutWithLease(ctx, str("k"), str("java"), token)
	})
	mine := <-got // by its next look: Java tells nobody
	require.NoError(t, mine.err)
	require.Equal(t, "java", mine.value)
	m.haveLoaded(0, 0)

	// Another lease ends with what Go writes.
	require.NoError(t, m.mine.Put(m.ctx, "l", "x"))
	_, err = m.mine.Remove(m.ctx, "l")
	require.NoError(t, err)
	_, acquired, token, err = m.cache.GetWithLease(m.ctx, str("l"), longLease)
	require.NoError(t, err)
	require.True(t, acquired)
	require.NoError(t, m.mine.Put(m.ctx, "l", "newer"))
	requireTruth(m.ctx, t, false, func(ctx context.Context) (bool, error) {
		return m.cache.PutWithLease(ctx, str("l"), str("stale"), token)
	})
	v, _, err := m.mine.Get(m.ctx, "l")
	require.NoError(t, err)
	require.Equal(t, "newer", v)
}

// listensTo says whether somebody listens to a channel that begins so.
func (w *world) listensTo(ctx context.Context, t *testing.T, prefix string) bool {
	t.Helper()
	for _, node := range w.redis.Nodes() {
		for _, how := range []string{"CHANNELS", "SHARDCHANNELS"} {
			if how == "SHARDCHANNELS" && !w.cluster {
				continue
			}
			found, err := node.Do(ctx, node.B().Arbitrary("PUBSUB", how, prefix+"*").Build()).AsStrSlice()
			require.NoError(t, err)
			if len(found) > 0 {
				return true
			}
		}
	}
	return false
}

// javaPutsWhileGoLoads: what Go has loaded is older, and is not written. Redisson's fastPut leaves the lease of a load,
// and so do its removals of what is not there, which therefore Go cannot see.
func javaPutsWhileGoLoads(t *testing.T, w *world) {
	k, v := str("k"), str("newer")
	for _, kind := range loadedKinds {
		for what, put := range map[string]func(m *loadedMap) error{
			"put":     func(m *loadedMap) error { _, err := m.other().Put(m.ctx, k, v); return err },
			"fastPut": func(m *loadedMap) error { _, err := m.other().FastPut(m.ctx, k, v); return err },
			"putAll":  func(m *loadedMap) error { return m.other().PutAll(m.ctx, k, v) },
			"putIfAbsent": func(m *loadedMap) error {
				_, err := m.other().PutIfAbsent(m.ctx, k, v)
				return err
			},
		} {
			m := w.loadedMap(t, kind)
			got := m.get()
			<-m.began
			require.NoError(t, put(m), what)
			m.open <- "older"
			mine := <-got
			require.NoError(t, mine.err, what)
			require.Equal(t, "newer", mine.value, "%s of a %s", what, kind)
			theirs, err := m.other().Get(m.ctx, k)
			require.NoError(t, err)
			require.Equal(t, v, theirs, "%s of a %s", what, kind)
			m.haveLoaded(1, 0)
		}
	}
}

// other is the map as another thread of Java uses it.
func (m *loadedMap) other() peer.Map { return m.theirs.On("other").Map }

// goPutsWhileJavaLoads: Redisson writes what it has loaded whatever is there, what Java has put meanwhile, too. Who holds
// the lock of the entry puts behind it.
func goPutsWhileJavaLoads(t *testing.T, w *world) {
	for _, kind := range loadedKinds {
		m := w.loadedMap(t, kind, rmap.WithEntryLock())
		theirs := m.getByJava()
		m.javaLoads()
		require.NoError(t, m.mine.Put(m.ctx, "k", "newer"))
		put := begin(func() (string, error) {
			hold, err := m.mine.Lock("k").Lock(m.ctx)
			if err != nil {
				return "", err
			}
			v, _, err := m.mine.Get(m.ctx, "k") // what Java has made of the first one
			return v, errors.Join(err, m.mine.Put(m.ctx, "k", "newest"), hold.Unlock(m.ctx))
		})
		w.awaitListener(m.ctx, t, m.mine.Lock("k").Name())
		m.letJavaLoad()
		his := <-theirs
		require.NoError(t, his.err, kind)
		require.Equal(t, str("java"), his.value, kind)
		between := <-put
		require.NoError(t, between.err, kind)
		require.Equal(t, "java", between.value, "Redisson has not overwritten a newer value of a %s", kind)
		now, err := m.other().Get(m.ctx, str("k"))
		require.NoError(t, err)
		require.Equal(t, str("newest"), now, kind)
		m.haveLoaded(0, 1)
	}
}
