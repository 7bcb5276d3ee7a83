//go:build interop

package interop

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

var writingProofs = []proof{
	{row: "writing/through/go-java", test: javaComputesWhenGoHasWrittenThrough},
	{row: "writing/through/java-go", test: goWritesThroughWhenJavaHasComputed},
	{row: "writing/stores_of_both/both", test: eachStoreHasItsOwn},
}

// writtenMap is a map of texts whose changes go to a store, on each side to one of its own.
type writtenMap struct {
	*world
	ctx    context.Context
	mine   *writethrough.Map[string, string]
	theirs peer.StoredMap

	mu    sync.Mutex
	store []peer.Write
	began chan struct{} // of each write, if anybody wants to know
	open  chan struct{}
}

func (w *world) writtenMap(t *testing.T, java *peer.Peer, kind string, opts ...writethrough.Option) *writtenMap {
	t.Helper()
	name := redistest.Name(t)
	m := &writtenMap{world: w, ctx: within(t), theirs: java.StoredMap(kind, name, name, "String")}
	c := w.client(t, answersMayTakeLong)
	m.mine = writethrough.New(rmap.New[string, string](c, name, rmap.WithCodec(codec.Text)), m.write, opts...)
	w.forgetting(t, name)
	return m
}

func (m *writtenMap) write(_ context.Context, changes []writethrough.Change[string, string]) error {
	if m.began != nil {
		m.began <- struct{}{}
		<-m.open
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range changes {
		v := str(c.Value)
		if c.Removed {
			v = peer.Datum{}
		}
		m.store = append(m.store, peer.Write{Key: str(c.Key), Value: v})
	}
	return nil
}

// javaComputesWhenGoHasWrittenThrough: its compute takes the lock of the entry, under which Go writes both.
func javaComputesWhenGoHasWrittenThrough(t *testing.T, w *world) {
	m := w.writtenMap(t, w.java, "writtenmap")
	m.began, m.open = make(chan struct{}), make(chan struct{})
	put := begin(func() (string, error) { return "", m.mine.Put(m.ctx, "k", "1") })
	<-m.began
	computed := begin(func() (peer.Datum, error) { return m.theirs.Increment(m.ctx, str("k"), 1) })
	w.awaitListener(m.ctx, t, m.mine.Lock("k").Name())
	close(m.open)
	require.NoError(t, (<-put).err)
	got := <-computed
	require.NoError(t, got.err)
	require.Equal(t, str("2"), got.value)
}

func goWritesThroughWhenJavaHasComputed(t *testing.T, w *world) {
	m := w.writtenMap(t, w.java, "writtenmap")
	computed := begin(func() (peer.Datum, error) {
		return m.theirs.Compute(m.ctx, str("k"), str("java"), 500*time.Millisecond)
	})
	eventually(m.ctx, t, "Java has the lock", func() bool {
		locked, err := m.mine.Lock("k").Locked(m.ctx)
		return err == nil && locked
	})
	old, had, err := m.mine.Swap(m.ctx, "k", "go")
	require.NoError(t, err)
	require.True(t, had)
	require.Equal(t, "java", old)
	require.NoError(t, (<-computed).err)
	v, err := m.theirs.Get(m.ctx, str("k"))
	require.NoError(t, err)
	require.Equal(t, str("go"), v)
}

// eachStoreHasItsOwn: a writer is told of what its own process has changed, in Java, and its own fleet, here; through and
// behind, and the queues do not meet.
func eachStoreHasItsOwn(t *testing.T, w *world) {
	jvm := w.jvm
	jvm.Codec = "Kryo5" // of Redisson's queue, whatever that of the map is: with texts, nothing comes out of it
	java := peer.Start(t, jvm)
	for kind, opts := range map[string][]writethrough.Option{
		"writtenmap": nil,
		"behindmap":  {writethrough.WithBehind(10), writethrough.WithWriteDelay(10 * time.Millisecond)},
	} {
		m := w.writtenMap(t, java, kind, opts...)
		theirs := func(want map[peer.Datum]peer.Datum) {
			t.Helper()
			eventually(m.ctx, t, "Java has written", func() bool {
				all, err := m.theirs.Written(m.ctx)
				require.NoError(t, err)
				return maps.Equal(want, storeAfter(all))
			})
		}
		require.NoError(t, m.mine.Put(m.ctx, "mine", "1"))
		_, err := m.theirs.FastPut(m.ctx, str("theirs"), str("2"))
		require.NoError(t, err)
		require.NoError(t, m.mine.Put(m.ctx, "both", "go"))
		_, err = m.theirs.Put(m.ctx, str("both"), str("java"))
		require.NoError(t, err)
		theirs(map[peer.Datum]peer.Datum{str("theirs"): str("2"), str("both"): str("java")})
		// Of one batch Redisson writes the removals first, so that one of what was put just now does nothing: what is
		// put here is written first.
		_, err = m.mine.Remove(m.ctx, "mine")
		require.NoError(t, err)
		_, err = m.theirs.FastRemove(m.ctx, str("theirs"))
		require.NoError(t, err)
		theirs(map[peer.Datum]peer.Datum{str("theirs"): {}, str("both"): str("java")})
		require.NoError(t, m.mine.Close(m.ctx))
		require.Equal(t, map[peer.Datum]peer.Datum{str("mine"): {}, str("both"): str("go")}, storeAfter(m.store), kind)
		require.Equal(t, map[string]string{"both": "java"}, w.hash(m.ctx, t, m.mine.Name()), kind)
	}
}

// storeAfter is what a store has when it was told all of that.
func storeAfter(all []peer.Write) map[peer.Datum]peer.Datum {
	at := map[peer.Datum]peer.Datum{}
	for _, one := range all {
		at[one.Key] = one.Value
	}
	return at
}
