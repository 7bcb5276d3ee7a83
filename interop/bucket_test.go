//go:build interop

package interop

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

var bucketProofs = []proof{
	{row: "bucket/operations/go-java", test: goWritesABucket},
	{row: "bucket/operations/java-go", test: javaWritesABucket},
	{row: "bucket/codecs/go-java", test: goWritesValues},
	{row: "bucket/codecs/java-go", test: javaWritesValues},
	{row: "bucket/update/both", test: bothUpdate, alone: true},
	{row: "bucket/many/go-java", test: goWritesManyBuckets},
	{row: "bucket/many/java-go", test: javaWritesManyBuckets},
	{row: "binary_stream/operations/go-java", test: goWritesBytes},
	{row: "binary_stream/operations/java-go", test: javaWritesBytes},
}

var bucketEssentials = []proof{
	{row: "bucket/operations/go-java", test: goWritesABucket},
	{row: "bucket/operations/java-go", test: javaWritesABucket},
}

// sharedBucket is a bucket of texts as both sides see it.
type sharedBucket struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *bucket.Bucket[string]
	theirs peer.Bucket
}

func (w *world) sharedBucket(t *testing.T) *sharedBucket {
	t.Helper()
	name := w.bucketName(t)
	return &sharedBucket{w, t, within(t), bucket.New[string](w.client(t), name, bucket.WithCodec(codec.Text)), w.java.Bucket(name, name, "String")}
}

// bucketName returns a name whose key is deleted when the test ends.
func (w *world) bucketName(t *testing.T) string {
	t.Helper()
	name := redistest.Name(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
	})
	return name
}

// has is what both sides see, and whether it has an end. An empty text is none.
func (b *sharedBucket) has(want string, ends bool) {
	b.t.Helper()
	got, there, err := b.mine.Get(b.ctx)
	require.NoError(b.t, err)
	require.Equal(b.t, want, got)
	require.Equal(b.t, want != "", there)
	theirs, err := b.theirs.Get(b.ctx)
	require.NoError(b.t, err)
	require.Equal(b.t, want == "", theirs.IsNull())
	require.Equal(b.t, want, theirs.Text)
	mySize, err := b.mine.Size(b.ctx)
	require.NoError(b.t, err)
	size, err := b.theirs.Size(b.ctx)
	require.NoError(b.t, err)
	require.Equal(b.t, mySize, size)
	left, err := b.theirs.RemainTimeToLive(b.ctx)
	require.NoError(b.t, err)
	require.Equal(b.t, ends, left > 0)
	mine, err := b.mine.Remaining(b.ctx)
	require.NoError(b.t, err)
	require.Equal(b.t, ends, mine > 0)
}

func did(t *testing.T, want bool) func(did bool, err error) {
	return func(did bool, err error) { t.Helper(); require.NoError(t, err); require.Equal(t, want, did) }
}

func goWritesABucket(t *testing.T, w *world) {
	b := w.sharedBucket(t)
	b.has("", false)
	did(t, false)(b.mine.SetIfExists(b.ctx, "x"))
	did(t, true)(b.mine.SetIfAbsent(b.ctx, "a", bucket.WithTTL(time.Minute)))
	b.has("a", true)
	did(t, false)(b.mine.SetIfAbsent(b.ctx, "x"))
	require.NoError(t, b.mine.Set(b.ctx, "\u00e9\n", bucket.WithKeepTTL()))
	b.has("\u00e9\n", true)
	require.NoError(t, b.mine.Set(b.ctx, "b"))
	b.has("b", false)
	_, _, err := b.mine.GetAndExpire(b.ctx, time.Minute)
	require.NoError(t, err)
	b.has("b", true)
	_, _, err = b.mine.GetAndPersist(b.ctx)
	require.NoError(t, err)
	b.has("b", false)
	did(t, false)(b.mine.CompareAndSwap(b.ctx, "a", "x"))
	did(t, true)(b.mine.CompareAndSwap(b.ctx, "b", "c", bucket.WithTTL(time.Minute)))
	b.has("c", true)
	old, had, err := b.mine.Swap(b.ctx, "d")
	require.NoError(t, err)
	require.True(t, had)
	require.Equal(t, "c", old)
	b.has("d", false)
	_, _, err = b.mine.Update(b.ctx, func(old string, _ bool) (string, bucket.Verdict, error) { return old + "!", bucket.Store, nil })
	require.NoError(t, err)
	b.has("d!", false)
	did(t, false)(b.mine.CompareAndDelete(b.ctx, "d"))
	did(t, true)(b.mine.CompareAndDelete(b.ctx, "d!"))
	b.has("", false)
	require.NoError(t, b.mine.Set(b.ctx, "e"))
	_, _, err = b.mine.Take(b.ctx)
	require.NoError(t, err)
	b.has("", false)
}

func javaWritesABucket(t *testing.T, w *world) {
	b := w.sharedBucket(t)
	text := peer.String
	did(t, false)(b.theirs.SetIfExists(b.ctx, text("x")))
	did(t, true)(b.theirs.SetIfAbsent(b.ctx, text("a"), time.Minute))
	b.has("a", true)
	did(t, false)(b.theirs.SetIfAbsent(b.ctx, text("x")))
	require.NoError(t, b.theirs.SetAndKeepTTL(b.ctx, text("\u00e9\n")))
	b.has("\u00e9\n", true)
	require.NoError(t, b.theirs.Set(b.ctx, text("b")))
	b.has("b", false)
	require.NoError(t, b.theirs.Set(b.ctx, text("b"), time.Minute))
	b.has("b", true)
	_, err := b.theirs.GetAndClearExpire(b.ctx)
	require.NoError(t, err)
	b.has("b", false)
	_, err = b.theirs.GetAndExpire(b.ctx, time.Minute)
	require.NoError(t, err)
	b.has("b", true)
	did(t, false)(b.theirs.CompareAndSet(b.ctx, text("a"), text("x")))
	did(t, true)(b.theirs.CompareAndSet(b.ctx, text("b"), text("c")))
	b.has("c", false) // the time is dropped, as by CompareAndSwap without an option
	old, err := b.theirs.GetAndSet(b.ctx, text("d"))
	require.NoError(t, err)
	require.Equal(t, text("c"), old)
	b.has("d", false)
	did(t, true)(b.theirs.CompareAndSet(b.ctx, text("d"), peer.Datum{}))
	b.has("", false)
	did(t, true)(b.theirs.CompareAndSet(b.ctx, peer.Datum{}, text("e")))
	b.has("e", false)
	_, err = b.theirs.GetAndDelete(b.ctx)
	require.NoError(t, err)
	b.has("", false)
}

// coded is a value of a bucket as both sides know it.
type coded struct {
	java  string
	value peer.Datum
	set   func(ctx context.Context, c *rueidisson.Client, name string) error
	is    func(ctx context.Context, t *testing.T, c *rueidisson.Client, name string)
	swap  func(ctx context.Context, c *rueidisson.Client, name string) (bool, error) // with itself
}

func inBucket[T any](java string, f codec.Family, v T, value peer.Datum) coded {
	of := func(c *rueidisson.Client, name string) *bucket.Bucket[T] {
		return bucket.New[T](c, name, bucket.WithCodec(f))
	}
	return coded{
		java, value,
		func(ctx context.Context, c *rueidisson.Client, name string) error { return of(c, name).Set(ctx, v) },
		func(ctx context.Context, t *testing.T, c *rueidisson.Client, name string) {
			t.Helper()
			got, there, err := of(c, name).Get(ctx)
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, v, got)
		},
		func(ctx context.Context, c *rueidisson.Client, name string) (bool, error) {
			return of(c, name).CompareAndSwap(ctx, v, v)
		},
	}
}

var inBuckets = []coded{
	inBucket("String", codec.Text, spelled, peer.String(spelled)),
	inBucket("Long", codec.Text, int64(-42), peer.Long(-42)),
	inBucket("ByteArray", codec.Bytes, []byte{0, 0xff, 'a'}, peer.Bytes([]byte{0, 0xff, 'a'})),
	inBucket("TypedJson:java.lang.String", codec.JSON, spelled, peer.String(spelled)),
	inBucket("TypedJson:rueidisson.interop.Point", codec.JSON, point{1, 2}, peer.Datum{Class: "Point", Text: `{"x":1,"y":2}`}),
	inBucket("MsgPackJackson", codec.Msgpack, spelled, peer.String(spelled)),
	inBucket("MsgPackJackson", codec.Msgpack, 40000, peer.Integer(40000)),
	inBucket("Kryo5", codec.Kryo5, spelled, peer.String(spelled)),
	inBucket("Kryo5", codec.Kryo5, int64(7), peer.Long(7)),
}

func goWritesValues(t *testing.T, w *world) {
	c, ctx := w.client(t), within(t)
	for _, v := range inBuckets {
		name := w.bucketName(t)
		require.NoError(t, v.set(ctx, c, name), v.java)
		theirs := w.java.Bucket(t.Name(), name, v.java)
		got, err := theirs.Get(ctx)
		require.NoError(t, err, v.java)
		require.Equal(t, v.value, got, v.java)
		did(t, true)(theirs.CompareAndSet(ctx, v.value, v.value)) // bytes for bytes
		many, err := w.java.Buckets(t.Name(), v.java).Get(ctx, name)
		require.NoError(t, err)
		require.Equal(t, map[string]peer.Datum{name: v.value}, many, v.java)
	}
}

func javaWritesValues(t *testing.T, w *world) {
	c, ctx := w.client(t), within(t)
	for _, v := range inBuckets {
		name := w.bucketName(t)
		require.NoError(t, w.java.Bucket(t.Name(), name, v.java).Set(ctx, v.value), v.java)
		v.is(ctx, t, c, name)
		did(t, true)(v.swap(ctx, c, name))
	}
}

// bothUpdate counts by Updates of two Go clients and by compareAndSet of Java: nothing is lost.
func bothUpdate(t *testing.T, w *world) {
	b := w.sharedBucket(t)
	const each = 100
	other := bucket.New[string](w.client(t), b.mine.Name(), bucket.WithCodec(codec.Text))
	var all sync.WaitGroup
	for _, one := range []*bucket.Bucket[string]{b.mine, b.mine, other} {
		all.Go(func() {
			for range each {
				_, _, err := one.Update(b.ctx, func(old string, _ bool) (string, bucket.Verdict, error) { return plusOne(old), bucket.Store, nil })
				assert.NoError(t, err)
			}
		})
	}
	all.Go(func() { assert.NoError(t, b.theirs.Increment(b.ctx, each)) })
	all.Wait()
	b.has("400", false)
}

func plusOne(text string) string {
	n, _ := strconv.Atoi(text) // an empty one is 0
	return strconv.Itoa(n + 1)
}

func goWritesManyBuckets(t *testing.T, w *world) {
	ctx, many, theirs := within(t), bucket.NewMany[string](w.client(t), bucket.WithCodec(codec.Text)), w.java.Buckets(t.Name(), "String")
	a, b, tag := w.bucketName(t), w.bucketName(t), "{"+w.bucketName(t)+"}"
	c, d := tag+"c", tag+"d"
	t.Cleanup(func() { w.del(context.Background(), t, c); w.del(context.Background(), t, d) })
	require.NoError(t, many.Set(ctx, map[string]string{a: "1", b: "2"}))
	did(t, true)(many.SetAllIfAbsent(ctx, map[string]string{c: "3", d: "4"}))
	did(t, false)(many.SetAllIfAbsent(ctx, map[string]string{c: "5", tag + "e": "6"}))
	got, err := theirs.Get(ctx, a, b, c, d, tag+"e")
	require.NoError(t, err)
	require.Equal(t, map[string]peer.Datum{a: peer.String("1"), b: peer.String("2"), c: peer.String("3"), d: peer.String("4")}, got)
}

func javaWritesManyBuckets(t *testing.T, w *world) {
	ctx, many, theirs := within(t), bucket.NewMany[string](w.client(t), bucket.WithCodec(codec.Text)), w.java.Buckets(t.Name(), "String")
	a, b, tag := w.bucketName(t), w.bucketName(t), "{"+w.bucketName(t)+"}"
	c, d := tag+"c", tag+"d"
	t.Cleanup(func() { w.del(context.Background(), t, c); w.del(context.Background(), t, d) })
	require.NoError(t, theirs.Set(ctx, map[string]peer.Datum{a: peer.String("1"), b: peer.String("2")}))
	did(t, true)(theirs.TrySet(ctx, map[string]peer.Datum{c: peer.String("3"), d: peer.String("4")}))
	did(t, false)(theirs.TrySet(ctx, map[string]peer.Datum{c: peer.String("5"), tag + "e": peer.String("6")}))
	got, err := many.Get(ctx, a, b, c, d, tag+"e")
	require.NoError(t, err)
	require.Equal(t, map[string]string{a: "1", b: "2", c: "3", d: "4"}, got)
}

func goWritesBytes(t *testing.T, w *world) {
	ctx, name := within(t), w.bucketName(t)
	mine, theirs := bucket.NewBytes(w.client(t), name), w.java.BinaryStream(t.Name(), name)
	_, err := mine.Append(ctx, []byte("0123456789"))
	require.NoError(t, err)
	_, err = mine.WriteAt(ctx, []byte{0xff, 'x'}, 3)
	require.NoError(t, err)
	_, err = mine.Truncate(ctx, 8)
	require.NoError(t, err)
	got, err := theirs.Read(ctx)
	require.NoError(t, err)
	require.Equal(t, peer.Bytes([]byte("012\xffx567")), got)
	got, err = theirs.ReadAt(ctx, 5, 3)
	require.NoError(t, err)
	require.Equal(t, peer.Bytes([]byte("567")), got)
}

func javaWritesBytes(t *testing.T, w *world) {
	ctx, name := within(t), w.bucketName(t)
	mine, theirs := bucket.NewBytes(w.client(t), name), w.java.BinaryStream(t.Name(), name)
	long := strings.Repeat("0123456789", 2000) // more than a piece of Java's
	require.NoError(t, theirs.Write(ctx, []byte(long)))
	n, err := theirs.WriteAt(ctx, 3, []byte{0xff, 'x'})
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	all, err := io.ReadAll(mine.Reader(ctx))
	require.NoError(t, err)
	require.Equal(t, "012\xffx"+long[5:], string(all))
	_, err = mine.Expire(ctx, time.Minute)
	require.NoError(t, err)
	require.NoError(t, theirs.Truncate(ctx, 8))
	all, err = io.ReadAll(mine.Reader(ctx))
	require.NoError(t, err)
	require.Equal(t, "012\xffx567", string(all))
	left, err := mine.Remaining(ctx)
	require.NoError(t, err)
	require.Equal(t, time.Duration(-1), left, "which Go's keeps")
}
