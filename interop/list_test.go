//go:build interop

package interop

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/list"
)

var listProofs = []proof{
	{row: "list/operations/go-java", test: goWritesAList},
	{row: "list/operations/java-go", test: javaWritesAList},
	{row: "list/codecs/go-java", test: goWritesElements},
	{row: "list/codecs/java-go", test: javaWritesElements},
	{row: "list/operations/both", test: bothWriteAList},
}

// sharedList is a list of texts as both sides see it.
type sharedList struct {
	t      *testing.T
	ctx    context.Context
	mine   *list.List[string]
	theirs peer.List
}

func (w *world) sharedList(t *testing.T) *sharedList {
	t.Helper()
	name := w.bucketName(t)
	return &sharedList{t, within(t), list.New[string](w.client(t), name, list.WithCodec(codec.Text)), w.java.List(t.Name(), name, "String")}
}

// has is what both sides see.
func (l *sharedList) has(want ...string) {
	l.t.Helper()
	mine, err := l.mine.Range(l.ctx, 0, -1)
	require.NoError(l.t, err)
	require.True(l.t, slices.Equal(want, mine), "%q", mine)
	all, err := l.theirs.ReadAll(l.ctx)
	require.NoError(l.t, err)
	var theirs []string
	for _, v := range all {
		theirs = append(theirs, v.Text)
	}
	require.True(l.t, slices.Equal(want, theirs), "%q", theirs)
	n, err := l.theirs.Size(l.ctx)
	require.NoError(l.t, err)
	require.EqualValues(l.t, len(want), n)
	for i, v := range want {
		got, err := l.theirs.Get(l.ctx, i)
		require.NoError(l.t, err)
		require.Equal(l.t, v, got.Text)
		first, there, err := l.mine.Index(l.ctx, v)
		require.NoError(l.t, err)
		require.True(l.t, there)
		theirs, err := l.theirs.IndexOf(l.ctx, peer.String(v))
		require.NoError(l.t, err)
		require.Equal(l.t, theirs, first)
		last, _, err := l.mine.LastIndex(l.ctx, v)
		require.NoError(l.t, err)
		theirs, err = l.theirs.LastIndexOf(l.ctx, peer.String(v))
		require.NoError(l.t, err)
		require.Equal(l.t, theirs, last)
	}
}

func goWritesAList(t *testing.T, w *world) {
	l := w.sharedList(t)
	l.has()
	_, err := l.mine.Append(l.ctx, "a", "b")
	require.NoError(t, err)
	_, err = l.mine.Prepend(l.ctx, "c", "d")
	require.NoError(t, err)
	l.has("c", "d", "a", "b")
	did(t, true)(l.mine.Insert(l.ctx, 1, "e"))
	did(t, true)(l.mine.Insert(l.ctx, 4, "f", "a"))
	l.has("c", "e", "d", "a", "f", "a", "b")
	_, had, err := l.mine.Set(l.ctx, -1, "é")
	require.NoError(t, err)
	require.True(t, had)
	_, had, err = l.mine.RemoveAt(l.ctx, 2)
	require.NoError(t, err)
	require.True(t, had)
	l.has("c", "e", "a", "f", "a", "é")
	n, err := l.mine.Remove(l.ctx, "a", 0)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	require.NoError(t, l.mine.Trim(l.ctx, 1, -1))
	l.has("e", "f", "é")
}

func javaWritesAList(t *testing.T, w *world) {
	l, text := w.sharedList(t), peer.String
	for _, v := range []string{"a", "b", "c"} {
		did(t, true)(l.theirs.Add(l.ctx, text(v)))
	}
	require.NoError(t, l.theirs.AddAt(l.ctx, 1, text("d")))
	did(t, true)(l.theirs.AddAllAt(l.ctx, 0, text("e"), text("a")))
	l.has("e", "a", "a", "d", "b", "c")
	old, err := l.theirs.Set(l.ctx, 3, text("é"))
	require.NoError(t, err)
	require.Equal(t, text("d"), old)
	old, err = l.theirs.RemoveAt(l.ctx, 4)
	require.NoError(t, err)
	require.Equal(t, text("b"), old)
	l.has("e", "a", "a", "é", "c")
	did(t, true)(l.theirs.Remove(l.ctx, text("a"), 2))
	l.has("e", "é", "c")
	require.NoError(t, l.theirs.Trim(l.ctx, 0, 1))
	l.has("e", "é")
	some, err := l.theirs.Range(l.ctx, 1, 1)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{text("é")}, some)
}

// eachInList proves something of a list of each value that buckets have, with the same codecs.
func eachInList(t *testing.T, w *world, prove func(ctx context.Context, name string, v coded, mine *list.List[[]byte], theirs peer.List)) {
	t.Helper()
	c, ctx := w.client(t), within(t)
	for _, v := range inBuckets {
		name := w.bucketName(t)
		prove(ctx, name, v, list.New[[]byte](c, name, list.WithCodec(codec.Bytes)), w.java.List(t.Name(), name, v.java))
	}
}

// goWritesElements writes the bytes that a bucket with the codec has.
func goWritesElements(t *testing.T, w *world) {
	eachInList(t, w, func(ctx context.Context, name string, v coded, mine *list.List[[]byte], theirs peer.List) {
		_, err := mine.Append(ctx, bytesOf(t, w, v))
		require.NoError(t, err)
		got, err := theirs.Get(ctx, 0)
		require.NoError(t, err, v.java)
		require.Equal(t, v.value, got, v.java)
		did(t, true)(theirs.Remove(ctx, v.value, 1)) // bytes for bytes
	})
}

func javaWritesElements(t *testing.T, w *world) {
	eachInList(t, w, func(ctx context.Context, name string, v coded, mine *list.List[[]byte], theirs peer.List) {
		did(t, true)(theirs.Add(ctx, v.value))
		i, there, err := mine.Index(ctx, bytesOf(t, w, v))
		require.NoError(t, err, v.java)
		require.True(t, there, v.java)
		require.Zero(t, i)
	})
}

// bytesOf returns what Go writes for a value.
func bytesOf(t *testing.T, w *world, v coded) []byte {
	t.Helper()
	name := w.bucketName(t)
	require.NoError(t, v.set(within(t), w.client(t), name))
	all, err := w.redis.Do(within(t), w.redis.B().Get().Key(name).Build()).AsBytes()
	require.NoError(t, err)
	return all
}

// bothWriteAList inserts and removes from both sides: each element is there once, or was removed by one side.
func bothWriteAList(t *testing.T, w *world) {
	l := w.sharedList(t)
	const each = 100
	_, err := l.mine.Append(l.ctx, "first", "second") // so that Go always has one to remove
	require.NoError(t, err)
	var all errgroup.Group
	all.Go(func() error {
		for range each {
			if _, err := l.mine.Insert(l.ctx, 0, "go"); err != nil {
				return err
			}
			if _, _, err := l.mine.RemoveAt(l.ctx, 1); err != nil {
				return err
			}
		}
		return nil
	})
	all.Go(func() error {
		for range each {
			if _, err := l.theirs.Add(l.ctx, peer.String("java")); err != nil {
				return err
			}
			if _, err := l.theirs.Add(l.ctx, peer.String("java")); err != nil {
				return err
			}
			if _, err := l.theirs.RemoveAt(l.ctx, 0); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, all.Wait())
	n, err := l.mine.Len(l.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2+each, n)
}
