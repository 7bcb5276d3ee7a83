//go:build interop

package interop

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/semaphore"
)

var multimapProofs = []proof{
	{row: "list_multimap/operations/go-java", test: func(t *testing.T, w *world) { goWritesAMultimap(t, w, "list") }},
	{row: "list_multimap/operations/java-go", test: func(t *testing.T, w *world) { javaWritesAMultimap(t, w, "list") }},
	{row: "list_multimap/times/go-java", test: func(t *testing.T, w *world) { goEndsAKey(t, w, "list") }},
	{row: "list_multimap/times/java-go", test: func(t *testing.T, w *world) { javaEndsAKey(t, w, "list") }},
	{row: "set_multimap/operations/go-java", test: func(t *testing.T, w *world) { goWritesAMultimap(t, w, "set") }},
	{row: "set_multimap/operations/java-go", test: func(t *testing.T, w *world) { javaWritesAMultimap(t, w, "set") }},
	{row: "set_multimap/times/go-java", test: func(t *testing.T, w *world) { goEndsAKey(t, w, "set") }},
	{row: "set_multimap/times/java-go", test: func(t *testing.T, w *world) { javaEndsAKey(t, w, "set") }},
	{row: "list_multimap/looks/both", test: func(t *testing.T, w *world) { bothLookAtAMultimap(t, w, "list") }},
	{row: "set_multimap/looks/both", test: func(t *testing.T, w *world) { bothLookAtAMultimap(t, w, "set") }},
	{row: "list_multimap/leftovers/java-go", test: func(t *testing.T, w *world) { whatJavaLeavesOfKeys(t, w, "list") }},
	{row: "multimap/times_of_the_server/both", test: theServerEndsKeys},
}

// aMultimap is what lists and sets have in common.
type aMultimap interface {
	Get(ctx context.Context, k string) ([]string, error)
	Has(ctx context.Context, k string) (bool, error)
	HasEntry(ctx context.Context, k, v string) (bool, error)
	Remove(ctx context.Context, k, v string) (bool, error)
	RemoveAll(ctx context.Context, k string) ([]string, error)
	RemoveKeys(ctx context.Context, ks ...string) (int64, error)
	Replace(ctx context.Context, k string, vs ...string) ([]string, error)
	Len(ctx context.Context) (int64, error)
	KeyLen(ctx context.Context) (int64, error)
	Expire(ctx context.Context, k string, d time.Duration) (bool, error)
	TTL(ctx context.Context, k string) (time.Duration, error)
	Values(ctx context.Context, opts ...multimap.ScanOption) iter.Seq2[string, error]
	HasValue(ctx context.Context, v string) (bool, error)
	Delete(ctx context.Context) (bool, error)
	Lock(k string) *lock.Lock
	Semaphore(k string) *semaphore.Semaphore
}

// sharedMultimap is a multimap of texts as both sides see it.
type sharedMultimap struct {
	t      *testing.T
	ctx    context.Context
	name   string
	mine   aMultimap
	put    func(k string, vs ...string)
	theirs peer.Multimap
}

func (w *world) sharedMultimap(t *testing.T, kind, java string, opts ...multimap.Option) *sharedMultimap {
	t.Helper()
	m := &sharedMultimap{t: t, ctx: within(t)}
	name, opts := redistest.Name(t), append(opts, multimap.WithCodec(codec.Text))
	m.name = name
	if c := w.client(t, answersMayTakeLong); kind == "list" {
		mine := multimap.NewList[string, string](c, name, opts...)
		m.mine, m.put = mine, func(k string, vs ...string) { t.Helper(); require.NoError(t, mine.PutAll(m.ctx, k, vs...)) }
	} else {
		mine := multimap.NewSet[string, string](c, name, opts...)
		m.mine, m.put = mine, func(k string, vs ...string) {
			t.Helper()
			_, err := mine.PutAll(m.ctx, k, vs...)
			require.NoError(t, err)
		}
	}
	m.theirs = w.java.Multimap(kind+java, name, name, "String")
	t.Cleanup(func() { // it has no end of its own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err := m.mine.Delete(ctx)
		assert.NoError(t, err)
		for _, left := range w.keys(ctx, t, name) {
			w.del(ctx, t, left)
		}
	})
	return m
}

// has is what a key has for both sides, in no order.
func (m *sharedMultimap) has(k string, want ...string) {
	m.t.Helper()
	got, err := m.mine.Get(m.ctx, k)
	require.NoError(m.t, err)
	require.ElementsMatch(m.t, want, got)
	theirs, err := m.theirs.GetAll(m.ctx, str(k))
	require.NoError(m.t, err)
	require.ElementsMatch(m.t, data(want), theirs)
	there, err := m.theirs.ContainsKey(m.ctx, str(k))
	require.NoError(m.t, err)
	require.Equal(m.t, len(want) > 0, there)
	there, err = m.mine.Has(m.ctx, k)
	require.NoError(m.t, err)
	require.Equal(m.t, len(want) > 0, there)
}

// sizes is how many keys and values both sides count.
func (m *sharedMultimap) sizes(keys, values int64) {
	m.t.Helper()
	for _, count := range []func(context.Context) (int64, error){m.mine.KeyLen, m.theirs.KeySize} {
		n, err := count(m.ctx)
		require.NoError(m.t, err)
		require.Equal(m.t, keys, n)
	}
	for _, count := range []func(context.Context) (int64, error){m.mine.Len, m.theirs.Size} {
		n, err := count(m.ctx)
		require.NoError(m.t, err)
		require.Equal(m.t, values, n)
	}
}

func data(texts []string) (all []peer.Datum) {
	for _, text := range texts {
		all = append(all, str(text))
	}
	return all
}

func goWritesAMultimap(t *testing.T, w *world, kind string) {
	m := w.sharedMultimap(t, kind, "multimap")
	m.put("k", "a", "b", "é\n")
	m.put("", "1")
	m.has("k", "a", "b", "é\n")
	m.has("", "1")
	m.sizes(2, 4)
	had, err := m.mine.Remove(m.ctx, "k", "b")
	require.NoError(t, err)
	require.True(t, had)
	m.has("k", "a", "é\n")
	old, err := m.mine.Replace(m.ctx, "k", "x")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "é\n"}, old)
	m.has("k", "x")
	there, err := m.theirs.ContainsEntry(m.ctx, str("k"), str("x"))
	require.NoError(t, err)
	require.True(t, there)
	had, err = m.mine.Remove(m.ctx, "k", "x")
	require.NoError(t, err)
	require.True(t, had)
	m.has("k")
	m.sizes(1, 1)
	old, err = m.mine.RemoveAll(m.ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, old)
	m.sizes(0, 0)
	m.put("k", "a")
	n, err := m.mine.RemoveKeys(m.ctx, "k", "no such")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	m.sizes(0, 0)
	hold, err := m.mine.Lock("k").Lock(m.ctx)
	require.NoError(t, err)
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) { return m.theirs.IsEntryLocked(ctx, str("k")) })
	require.NoError(t, hold.Unlock(m.ctx))
	m.put("k", "a")
	there, err = m.mine.Delete(m.ctx)
	require.NoError(t, err)
	require.True(t, there)
	m.has("k")
}

func javaWritesAMultimap(t *testing.T, w *world, kind string) {
	m := w.sharedMultimap(t, kind, "multimap")
	_, err := m.theirs.PutAll(m.ctx, str("k"), data([]string{"a", "b", "é\n"})...)
	require.NoError(t, err)
	_, err = m.theirs.Put(m.ctx, str(""), str("1"))
	require.NoError(t, err)
	m.has("k", "a", "b", "é\n")
	m.has("", "1")
	m.sizes(2, 4)
	has, err := m.mine.HasEntry(m.ctx, "k", "b")
	require.NoError(t, err)
	require.True(t, has)
	did, err := m.theirs.Remove(m.ctx, str("k"), str("b"))
	require.NoError(t, err)
	require.True(t, did)
	old, err := m.theirs.ReplaceValues(m.ctx, str("k"), str("x"))
	require.NoError(t, err)
	require.ElementsMatch(t, data([]string{"a", "é\n"}), old)
	m.has("k", "x")
	// What Redisson leaves of a key that it gives no values is none here, and goes with the next write of the key.
	_, err = m.theirs.ReplaceValues(m.ctx, str("k"))
	require.NoError(t, err)
	m.has("k")
	n, err := m.mine.Len(m.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	m.sizes(2, 1) // reads write nothing: the field without values counts on both sides, until the key is written
	m.put("k", "new")
	m.sizes(2, 2)
	_, err = m.mine.RemoveAll(m.ctx, "k")
	require.NoError(t, err)
	m.sizes(1, 1)
	old, err = m.theirs.RemoveAll(m.ctx, str(""))
	require.NoError(t, err)
	require.Equal(t, data([]string{"1"}), old)
	m.sizes(0, 0)
	m.put("k", "a")
	n, err = m.theirs.FastRemove(m.ctx, str("k"))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	m.put("k", "a")
	m.has("k", "a")
	did, err = m.theirs.Delete(m.ctx)
	require.NoError(t, err)
	require.True(t, did)
	m.has("k")
}

// bothLookAtAMultimap: at all its values, at how long a key has, and at some of the values of a list.
func bothLookAtAMultimap(t *testing.T, w *world, kind string) {
	m := w.sharedMultimap(t, kind, "multimapcache")
	m.put("k", "a", "b", "c", "d")
	_, err := m.theirs.Put(m.ctx, str("other"), str("é\n"))
	require.NoError(t, err)
	var values []string
	for v, err := range m.mine.Values(m.ctx) {
		require.NoError(t, err)
		values = append(values, v)
	}
	theirs, err := m.theirs.Values(m.ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, data([]string{"a", "b", "c", "d", "é\n"}), theirs)
	require.ElementsMatch(t, data(values), theirs)
	for v, want := range map[string]bool{"d": true, "é\n": true, "none": false} {
		requireTruth(m.ctx, t, want, func(ctx context.Context) (bool, error) { return m.mine.HasValue(ctx, v) })
		requireTruth(m.ctx, t, want, func(ctx context.Context) (bool, error) { return m.theirs.ContainsValue(ctx, str(v)) })
	}
	there, err := m.theirs.ExpireKey(m.ctx, str("k"), time.Hour)
	require.NoError(t, err)
	require.True(t, there)
	left, err := m.mine.TTL(m.ctx, "k")
	require.NoError(t, err)
	require.InDelta(t, time.Hour, left, float64(time.Minute))
	left, err = m.mine.TTL(m.ctx, "other")
	require.NoError(t, err)
	require.EqualValues(t, -1, left)
	name, err := m.theirs.NameOfEntryObject(m.ctx, "getSemaphore", str("k"))
	require.NoError(t, err)
	require.Equal(t, name, m.mine.Semaphore("k").Name())
	list, ok := m.mine.(*multimap.List[string, string])
	if !ok {
		return
	}
	for _, at := range [][2]int{{1, 2}, {-2, -1}, {2, 9}, {5, 9}} {
		some, err := list.Range(m.ctx, "k", int64(at[0]), int64(at[1]))
		require.NoError(t, err)
		theirs, err := m.theirs.Range(m.ctx, str("k"), at[0], at[1])
		require.NoError(t, err)
		require.ElementsMatch(t, data(some), theirs, at)
	}
}

// goEndsAKey for Java, by the clock and by the server.
func goEndsAKey(t *testing.T, w *world, kind string) {
	m := w.sharedMultimap(t, kind, "multimapcache")
	m.put("k", "a", "b")
	m.put("stays", "c")
	there, err := m.mine.Expire(m.ctx, "stays", time.Hour)
	require.NoError(t, err)
	require.True(t, there)
	m.has("stays", "c")
	there, err = m.mine.Expire(m.ctx, "k", 50*time.Millisecond)
	require.NoError(t, err)
	require.True(t, there)
	eventually(m.ctx, t, "it has ended", func() bool {
		there, err := m.theirs.ContainsKey(m.ctx, str("k"))
		return err == nil && !there
	})
	m.has("k")
	eventually(m.ctx, t, "it is swept", func() bool { n, err := m.theirs.KeySize(m.ctx); return err == nil && n == 1 })
	m.put("k", "new")
	m.has("k", "new")
}

func javaEndsAKey(t *testing.T, w *world, kind string) {
	m := w.sharedMultimap(t, kind, "multimapcache")
	_, err := m.theirs.PutAll(m.ctx, str("k"), str("a"), str("b"))
	require.NoError(t, err)
	there, err := m.theirs.ExpireKey(m.ctx, str("k"), time.Hour)
	require.NoError(t, err)
	require.True(t, there)
	m.has("k", "a", "b")
	there, err = m.theirs.ExpireKey(m.ctx, str("k"), 50*time.Millisecond)
	require.NoError(t, err)
	require.True(t, there)
	eventually(m.ctx, t, "it has ended", func() bool { there, err := m.mine.Has(m.ctx, "k"); return err == nil && !there })
	m.has("k")
	// What Java adds to it now is not seen by either, and what Go puts is.
	_, err = m.theirs.Put(m.ctx, str("k"), str("late"))
	require.NoError(t, err)
	m.put("k", "new")
	got, err := m.mine.Get(m.ctx, "k")
	require.NoError(t, err)
	require.Contains(t, got, "new")
	m.has("k", got...)
}

// whatJavaLeavesOfKeys: of a key that it gives no values (D17) the field of the index, and a key that has ended is ended
// still when it has been added to (D18). Go sees neither, and begins anew.
func whatJavaLeavesOfKeys(t *testing.T, w *world, kind string) {
	for what, empties := range map[string]func(m *sharedMultimap) error{
		"replaceValues": func(m *sharedMultimap) error { _, err := m.theirs.ReplaceValues(m.ctx, str("k")); return err },
		"fastRemoveValue": func(m *sharedMultimap) error {
			_, err := m.theirs.FastRemoveValue(m.ctx, str("a"))
			if kind == "list" && err != nil && strings.Contains(err.Error(), "ClassCastException") {
				err = nil // it has removed it
			}
			return err
		},
	} {
		m := w.sharedMultimap(t, kind, "multimap")
		_, err := m.theirs.Put(m.ctx, str("k"), str("a"))
		require.NoError(t, err)
		require.NoError(t, empties(m), what)
		if kind == "list" {
			require.Contains(t, w.hash(m.ctx, t, m.name), "k", "or Redisson is mended: %s", what)
		}
		m.has("k")
		n, err := m.mine.Len(m.ctx) // which is a walk, and writes nothing
		require.NoError(t, err)
		require.Zero(t, n, what)
		if kind == "list" {
			m.sizes(1, 0) // the field without values counts on both sides, until the key is written
		} else {
			m.sizes(0, 0)
		}
		m.put("k", "new")
		m.has("k", "new")
		m.sizes(1, 1)
	}
	m := w.sharedMultimap(t, kind, "multimapcache")
	_, err := m.theirs.Put(m.ctx, str("k"), str("old"))
	require.NoError(t, err)
	_, err = m.theirs.ExpireKey(m.ctx, str("k"), time.Millisecond)
	require.NoError(t, err)
	eventually(m.ctx, t, "it has ended", func() bool { there, err := m.mine.Has(m.ctx, "k"); return err == nil && !there })
	_, err = m.theirs.Put(m.ctx, str("k"), str("late"))
	require.NoError(t, err)
	m.has("k") // its sweeper comes five seconds after the first use
	m.put("k", "new")
	m.has("k", "new")
	m.sizes(1, 1)
}

// theServerEndsKeys needs a server that does; that of the world does not, and says so.
func theServerEndsKeys(t *testing.T, w *world) {
	ctx := within(t)
	if w.cluster {
		m := w.sharedMultimap(t, "list", "multimap", multimap.WithNativeExpiry())
		m.put("k", "a")
		_, err := m.mine.Expire(ctx, "k", time.Hour)
		require.ErrorContains(t, err, "Redis 7.4")
		return
	}
	server := redistest.Start(t, redistest.Version("8.0"))
	raw := server.Client(t)
	java := peer.Start(t, peer.Options{Addr: server.Addr()})
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	opts := []multimap.Option{multimap.WithCodec(codec.Text), multimap.WithNativeExpiry()}
	for kind, mine := range map[string]aMultimap{
		"list": multimap.NewList[string, string](c, "list", opts...), "set": multimap.NewSet[string, string](c, "set", opts...),
	} {
		theirs := java.Multimap(kind+"multimapcachenative", "t", kind, "String")
		for _, k := range []string{"a", "b"} {
			_, err := theirs.PutAll(ctx, str(k), str("1"), str("2"))
			require.NoError(t, err)
		}
		did, err := mine.Expire(ctx, "a", time.Hour)
		require.NoError(t, err)
		require.True(t, did)
		did, err = theirs.ExpireKey(ctx, str("b"), time.Hour)
		require.NoError(t, err)
		require.True(t, did)
		ends := func(k string) (left []int64) {
			id, err := raw.Do(ctx, raw.B().Hget().Key(kind).Field(k).Build()).ToString()
			require.NoError(t, err)
			fields, err := raw.Do(ctx, raw.B().Arbitrary("HPTTL").Keys(kind).Args("FIELDS", "1", k).Build()).AsIntSlice()
			require.NoError(t, err)
			values, err := raw.Do(ctx, raw.B().Pttl().Key("{"+kind+"}:"+id).Build()).AsInt64()
			require.NoError(t, err)
			return append(fields, values)
		}
		for _, k := range []string{"a", "b"} { // both in the same way
			for _, left := range ends(k) {
				require.Greater(t, time.Duration(left)*time.Millisecond, 50*time.Minute)
			}
		}
		_, err = theirs.ExpireKey(ctx, str("b"), time.Millisecond)
		require.NoError(t, err)
		eventually(ctx, t, "it has ended", func() bool { there, err := mine.Has(ctx, "b"); return err == nil && !there })
		_, err = mine.Expire(ctx, "a", time.Millisecond)
		require.NoError(t, err)
		eventually(ctx, t, "it has ended", func() bool { there, err := theirs.ContainsKey(ctx, str("a")); return err == nil && !there })
		eventually(ctx, t, "the server has swept it", func() bool { n, err := mine.KeyLen(ctx); return err == nil && n == 0 })
	}
}
