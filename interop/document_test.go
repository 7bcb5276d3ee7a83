//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

var documentProofs = []proof{
	{row: "json_bucket/operations/go-java", test: goWritesADocument},
	{row: "json_bucket/operations/java-go", test: javaWritesADocument},
	{row: "json_bucket/parts/go-java", test: goWritesParts},
	{row: "json_bucket/parts/java-go", test: javaWritesParts},
}

// citizen is Person of the Java peer. Java leaves out no field.
type citizen struct {
	Age    int               `json:"age"`
	Big    int64             `json:"big"`
	Boxed  *int64            `json:"boxed"`
	Friend map[string]string `json:"friend"`
	Name   string            `json:"name"`
	OK     bool              `json:"ok"`
	Score  float64           `json:"score"`
	Tags   []string          `json:"tags"`
}

func oneCitizen(name string) citizen {
	boxed := int64(1) << 60
	return citizen{7, 9007199254740993, &boxed, map[string]string{"name": "Zoë"}, name, true, 1.5, []string{"a", "<b>\u2028🙂"}}
}

// sharedDocument is a document of a citizen as both sides see it.
type sharedDocument struct {
	t      *testing.T
	ctx    context.Context
	mine   *bucket.JSON[citizen]
	theirs peer.Document
}

func (w *world) sharedDocument(t *testing.T) *sharedDocument {
	t.Helper()
	redistest.NeedJSON(t)
	name := w.bucketName(t)
	return &sharedDocument{t, within(t), bucket.NewJSON[citizen](w.client(t), name), w.java.Document(name, name, "rueidisson.interop.Person")}
}

// citizenInJava returns a citizen as the peer takes it.
func citizenInJava(t *testing.T, p citizen) peer.Datum {
	t.Helper()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	return peer.Datum{Class: "Person", Text: string(text)}
}

// has is what both sides see, and whether it has an end.
func (d *sharedDocument) has(want citizen, ends bool) {
	d.t.Helper()
	got, there, err := d.mine.Get(d.ctx)
	require.NoError(d.t, err)
	require.True(d.t, there)
	require.Equal(d.t, want, got)
	d.is(want)
	left, err := d.theirs.RemainTimeToLive(d.ctx)
	require.NoError(d.t, err)
	require.Equal(d.t, ends, left > 0)
}

// is what Java sees.
func (d *sharedDocument) is(want citizen) {
	d.t.Helper()
	theirs, err := d.theirs.Get(d.ctx)
	require.NoError(d.t, err)
	require.Equal(d.t, "Person", theirs.Class)
	text, err := json.Marshal(want)
	require.NoError(d.t, err)
	require.JSONEq(d.t, string(text), theirs.Text)
}

func (d *sharedDocument) hasNone() {
	d.t.Helper()
	_, there, err := d.mine.Get(d.ctx)
	require.NoError(d.t, err)
	require.False(d.t, there)
	theirs, err := d.theirs.Get(d.ctx)
	require.NoError(d.t, err)
	require.True(d.t, theirs.IsNull())
}

func goWritesADocument(t *testing.T, w *world) {
	d := w.sharedDocument(t)
	d.hasNone()
	a, b := oneCitizen("a"), oneCitizen("b")
	did(t, false)(d.mine.SetIfExists(d.ctx, a))
	did(t, true)(d.mine.SetIfAbsent(d.ctx, a, bucket.WithTTL(time.Minute)))
	d.has(a, true)
	require.NoError(t, d.mine.Set(d.ctx, b, bucket.WithKeepTTL()))
	d.has(b, true)
	require.NoError(t, d.mine.Set(d.ctx, a))
	d.has(a, false)
	did(t, false)(d.mine.CompareAndSwap(d.ctx, b, a))
	did(t, true)(d.mine.CompareAndSwap(d.ctx, a, b))
	d.has(b, false)
	old, had, err := d.mine.Swap(d.ctx, a)
	require.NoError(t, err)
	require.True(t, had)
	require.Equal(t, b, old)
	_, _, err = d.mine.Update(d.ctx, func(old citizen, _ bool) (citizen, bucket.Verdict, error) { return b, bucket.Store, nil })
	require.NoError(t, err)
	d.has(b, false)
	require.NoError(t, d.mine.Merge(d.ctx, map[string]any{"name": "c"}))
	d.has(oneCitizen("c"), false)
	did(t, true)(d.mine.CompareAndDelete(d.ctx, oneCitizen("c")))
	d.hasNone()
}

func javaWritesADocument(t *testing.T, w *world) {
	d := w.sharedDocument(t)
	a, b := oneCitizen("a"), oneCitizen("b")
	did(t, false)(d.theirs.SetIfExists(d.ctx, citizenInJava(t, a)))
	did(t, true)(d.theirs.SetIfAbsent(d.ctx, citizenInJava(t, a)))
	d.has(a, false)
	require.NoError(t, d.theirs.Set(d.ctx, citizenInJava(t, b), time.Minute))
	d.has(b, true)
	require.NoError(t, d.theirs.Set(d.ctx, citizenInJava(t, a)))
	d.has(a, true) // Redisson's keeps the time
	old, err := d.theirs.GetAndSet(d.ctx, citizenInJava(t, b))
	require.NoError(t, err)
	require.JSONEq(t, citizenInJava(t, a).Text, old.Text)
	did(t, true)(d.mine.CompareAndSwap(d.ctx, b, a))
	d.has(a, false)
	got, err := d.theirs.GetAndDelete(d.ctx)
	require.NoError(t, err)
	require.JSONEq(t, citizenInJava(t, a).Text, got.Text)
	d.hasNone()
}

func goWritesParts(t *testing.T, w *world) {
	d := w.sharedDocument(t)
	p := oneCitizen("a")
	require.NoError(t, d.mine.Set(d.ctx, p))
	big, ok, name, tags := bucket.NumberAt[int64](d.mine, "$.big"), bucket.At[bool](d.mine, "$.ok"), bucket.TextAt(d.mine, "$.name"), bucket.ArrayAt[string](d.mine, "$.tags")
	sum, there, err := big.Add(d.ctx, 2)
	require.NoError(t, err)
	require.True(t, there)
	require.EqualValues(t, 9007199254740995, sum)
	_, _, err = ok.Toggle(d.ctx)
	require.NoError(t, err)
	_, _, err = name.Append(d.ctx, "é🙂")
	require.NoError(t, err)
	_, _, err = tags.Append(d.ctx, "c", "d")
	require.NoError(t, err)
	_, _, err = tags.Pop(d.ctx, 0)
	require.NoError(t, err)
	did(t, true)(bucket.At[*int64](d.mine, "$.boxed").Set(d.ctx, nil))
	p.Big, p.OK, p.Name, p.Tags, p.Boxed = 9007199254740995, false, "aé🙂", []string{"<b>\u2028🙂", "c", "d"}, nil
	got, _, err := d.mine.Get(d.ctx)
	require.NoError(t, err)
	require.Equal(t, p, got)
	theirs, err := d.theirs.GetAt(d.ctx, "$.tags")
	require.NoError(t, err)
	require.JSONEq(t, `[["<b>\u2028🙂","c","d"]]`, theirs.Text)
	size, err := d.theirs.ArraySize(d.ctx, "tags")
	require.NoError(t, err)
	require.EqualValues(t, 3, size)
	theirs, err = d.theirs.GetAt(d.ctx, "$.big")
	require.NoError(t, err)
	require.JSONEq(t, `[9007199254740995]`, theirs.Text)
}

func javaWritesParts(t *testing.T, w *world) {
	d := w.sharedDocument(t)
	p := oneCitizen("a")
	require.NoError(t, d.theirs.Set(d.ctx, citizenInJava(t, p)))
	n, err := d.theirs.Add(d.ctx, "age", 35) // these fail on a path with $, after they have written
	require.NoError(t, err)
	require.EqualValues(t, 42, n)
	_, err = d.theirs.StringAppend(d.ctx, "name", peer.String("é🙂"))
	require.NoError(t, err)
	_, err = d.theirs.ArrayAppend(d.ctx, "tags", peer.String("c"))
	require.NoError(t, err)
	_, err = d.theirs.ArrayInsert(d.ctx, "tags", 0, peer.String("0"))
	require.NoError(t, err)
	now, err := d.theirs.ToggleMulti(d.ctx, "$.ok")
	require.NoError(t, err)
	require.False(t, now)
	require.NoError(t, d.theirs.SetAt(d.ctx, "$.score", peer.Double(2.5)))
	did(t, true)(d.theirs.CompareAndSetAt(d.ctx, "$.score", peer.Double(2.5), peer.Double(3.5)))
	require.NoError(t, d.theirs.Merge(d.ctx, "$.friend", peer.Datum{Class: "HashMap", Text: `{"name":"Ann"}`}))
	p.Age, p.Name, p.Tags, p.OK, p.Score, p.Friend = 42, "aé🙂", []string{"0", "a", "<b>\u2028🙂", "c"}, false, 3.5, map[string]string{"name": "Ann"}
	d.has(p, false)
	score, there, err := bucket.At[float64](d.mine, "$.score").Get(d.ctx)
	require.NoError(t, err)
	require.True(t, there)
	require.InDelta(t, 3.5, score, 0)
	deleted, err := d.theirs.DeleteAt(d.ctx, "$.friend")
	require.NoError(t, err)
	require.EqualValues(t, 1, deleted)
	_, there, err = bucket.At[any](d.mine, "$.friend").Get(d.ctx)
	require.NoError(t, err)
	require.False(t, there)
}
