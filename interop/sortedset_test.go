//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/sortedset"
)

var sortedSetProofs = []proof{
	{row: "sorted_set/operations/go-java", test: goWritesASortedSet},
	{row: "sorted_set/operations/java-go", test: javaWritesASortedSet},
	{row: "sorted_set/codecs/go-java", test: goWritesScores},
	{row: "sorted_set/codecs/java-go", test: javaWritesScores},
	{row: "sorted_set/texts/both", test: bothWriteTexts},
}

var sortedSetEssentials = []proof{
	{row: "sorted_set/operations/go-java", test: goWritesASortedSet},
	{row: "sorted_set/operations/java-go", test: javaWritesASortedSet},
}

// sharedSortedSet is a sorted set of texts as both sides see it.
type sharedSortedSet struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *sortedset.Set[string]
	theirs peer.ScoredSet
}

func (w *world) sharedSortedSet(t *testing.T, name string) *sharedSortedSet {
	t.Helper()
	return &sharedSortedSet{w, t, within(t), sortedset.New[string](w.client(t), name, sortedset.WithCodec(codec.Text)), w.java.ScoredSet(name, name, "String")}
}

// has is what both sides see: members and scores, in their order.
func (s *sharedSortedSet) has(want string) {
	s.t.Helper()
	var mine, theirs []string
	for e, err := range s.mine.All(s.ctx) {
		require.NoError(s.t, err)
		mine = append(mine, fmt.Sprintf("%s=%s", e.Value, javaDouble(e.Score)))
		score, err := s.theirs.Score(s.ctx, peer.String(e.Value))
		require.NoError(s.t, err)
		require.Equal(s.t, javaDouble(e.Score), score)
	}
	all, err := s.theirs.EntryRange(s.ctx, 0, -1)
	require.NoError(s.t, err)
	for i := 0; i < len(all); i += 2 {
		theirs = append(theirs, all[i].Text+"="+all[i+1].Text)
	}
	require.Equal(s.t, want, strings.Join(mine, " "))
	require.Equal(s.t, want, strings.Join(theirs, " "))
}

// javaDouble returns a number as Java's Double does, as far as it is needed here.
func javaDouble(f float64) string {
	text := fmt.Sprint(f)
	if !strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text += ".0"
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "e+", "E"), "1E", "1.0E")
}

func number(t *testing.T, want int64) func(n int64, err error) {
	return func(n int64, err error) { t.Helper(); require.NoError(t, err); require.Equal(t, want, n) }
}

func goWritesASortedSet(t *testing.T, w *world) {
	s := w.sharedSortedSet(t, "{"+w.bucketName(t)+"}")
	other := w.sharedSortedSet(t, s.mine.Name()+"other")
	into := w.sharedSortedSet(t, s.mine.Name()+"into")
	for _, name := range []string{s.mine.Name(), other.mine.Name(), into.mine.Name()} {
		t.Cleanup(func() { w.del(context.Background(), t, name) })
	}
	s.has("")
	did(t, true)(s.mine.Add(s.ctx, -1.5, "a"))
	did(t, false)(s.mine.AddIfAbsent(s.ctx, 7, "a"))
	did(t, false)(s.mine.AddIfExists(s.ctx, 7, "b"))
	did(t, true)(s.mine.AddIfLess(s.ctx, 0.1, "b"))
	did(t, true)(s.mine.AddIfGreater(s.ctx, 1e18, "é\n"))
	s.has("a=-1.5 b=0.1 é\n=1.0E18")
	number(t, 2)(s.mine.AddMany(s.ctx, sortedset.Entry[string]{Value: "c", Score: 3}, sortedset.Entry[string]{Value: "d", Score: 4}, sortedset.Entry[string]{Value: "a", Score: 1}))
	_, err := s.mine.AddScore(s.ctx, -0.5, "b")
	require.NoError(t, err)
	s.has("b=-0.4 a=1.0 c=3.0 d=4.0 é\n=1.0E18")
	rank, err := s.theirs.Rank(s.ctx, peer.String("c"))
	require.NoError(t, err)
	mine, there, err := s.mine.Rank(s.ctx, "c")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, rank, mine)
	number(t, 1)(s.mine.RemoveByRank(s.ctx, -1, -1))
	number(t, 1)(s.mine.RemoveByScore(s.ctx, sortedset.Interval{Min: 1, Max: 3, Below: true}))
	s.has("b=-0.4 c=3.0 d=4.0")
	did(t, true)(other.mine.Add(s.ctx, 10, "c"))
	number(t, 3)(s.mine.UnionInto(s.ctx, into.mine.Name(), []string{other.mine.Name()}))
	into.has("b=-0.4 d=4.0 c=13.0")
	number(t, 1)(s.mine.InterInto(s.ctx, into.mine.Name(), []string{other.mine.Name()}))
	into.has("c=13.0")
	number(t, 2)(s.mine.DiffInto(s.ctx, into.mine.Name(), []string{other.mine.Name()}))
	into.has("b=-0.4 d=4.0")
	number(t, 2)(s.mine.RangeInto(s.ctx, into.mine.Name(), 1, 2))
	into.has("c=3.0 d=4.0")
	popped, err := s.mine.PopMax(s.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []sortedset.Entry[string]{{Value: "d", Score: 4}}, popped)
	number(t, 1)(s.mine.Remove(s.ctx, "b", "x"))
	s.has("c=3.0")
}

func javaWritesASortedSet(t *testing.T, w *world) {
	s := w.sharedSortedSet(t, "{"+w.bucketName(t)+"}")
	other := w.sharedSortedSet(t, s.mine.Name()+"other")
	for _, name := range []string{s.mine.Name(), other.mine.Name()} {
		t.Cleanup(func() { w.del(context.Background(), t, name) })
	}
	text := peer.String
	did(t, true)(s.theirs.Add(s.ctx, -1.5, text("a")))
	did(t, false)(s.theirs.AddIf(s.ctx, "tryAdd", 7, text("a")))
	did(t, false)(s.theirs.AddIf(s.ctx, "addIfExists", 7, text("b")))
	did(t, true)(s.theirs.AddIf(s.ctx, "addIfLess", 1e-10, text("b")))
	did(t, true)(s.theirs.AddIf(s.ctx, "addIfGreater", 1e18, text("é\n")))
	number(t, 2)(s.theirs.AddAll(s.ctx, map[peer.Datum]float64{text("c"): 3, text("d"): 4, text("a"): 1}))
	score, err := s.theirs.AddScore(s.ctx, -0.5, text("b"))
	require.NoError(t, err)
	require.Equal(t, "-0.4999999999", score)
	s.has("b=-0.4999999999 a=1.0 c=3.0 d=4.0 é\n=1.0E18")
	count, err := s.mine.Count(s.ctx, sortedset.Interval{Min: 1, Max: 4, Below: true})
	require.NoError(t, err)
	number(t, count)(s.theirs.Count(s.ctx, 1, 4))
	back, err := s.theirs.RevRank(s.ctx, text("a"))
	require.NoError(t, err)
	mine, _, err := s.mine.RevRank(s.ctx, "a")
	require.NoError(t, err)
	require.Equal(t, back, mine)
	within, err := s.theirs.EntryRangeByScore(s.ctx, 1, 4)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{text("a"), text("1.0"), text("c"), text("3.0")}, within)
	number(t, 1)(s.theirs.RemoveRangeByRank(s.ctx, -1, -1))
	number(t, 1)(s.theirs.RemoveRangeByScore(s.ctx, 1, 3))
	s.has("b=-0.4999999999 c=3.0 d=4.0")
	number(t, 3)(other.theirs.Combine(s.ctx, "union", s.mine.Name()))
	other.has("b=-0.4999999999 c=3.0 d=4.0")
	polled, err := s.theirs.PollFirstOf(s.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{text("b"), text("c")}, polled)
	s.has("d=4.0")
	number(t, 1)(other.theirs.Combine(s.ctx, "intersection", other.mine.Name(), s.mine.Name()))
	other.has("d=8.0")
	did(t, true)(s.theirs.Remove(s.ctx, text("d")))
	s.has("")
}

// member is a member of a sorted set as both sides know it.
type member struct {
	java  string
	value peer.Datum
	add   func(ctx context.Context, c *rueidisson.Client, name string) (bool, error)
	score func(ctx context.Context, c *rueidisson.Client, name string) (float64, bool, error)
	all   func(ctx context.Context, t *testing.T, c *rueidisson.Client, name string)
}

func inSortedSet[T any](java string, f codec.Family, v T, value peer.Datum) member {
	of := func(c *rueidisson.Client, name string) *sortedset.Set[T] {
		return sortedset.New[T](c, name, sortedset.WithCodec(f))
	}
	return member{
		java, value,
		func(ctx context.Context, c *rueidisson.Client, name string) (bool, error) {
			return of(c, name).Add(ctx, 1, v)
		},
		func(ctx context.Context, c *rueidisson.Client, name string) (float64, bool, error) {
			return of(c, name).Score(ctx, v)
		},
		func(ctx context.Context, t *testing.T, c *rueidisson.Client, name string) {
			t.Helper()
			for e, err := range of(c, name).All(ctx) {
				require.NoError(t, err)
				require.Equal(t, v, e.Value)
			}
		},
	}
}

var inSortedSets = []member{
	inSortedSet("String", codec.Text, spelled, peer.String(spelled)),
	inSortedSet("Long", codec.Text, int64(-42), peer.Long(-42)),
	inSortedSet("ByteArray", codec.Bytes, []byte{0, 0xff, 'a'}, peer.Bytes([]byte{0, 0xff, 'a'})),
	inSortedSet("TypedJson:java.lang.String", codec.JSON, spelled, peer.String(spelled)),
	inSortedSet("TypedJson:rueidisson.interop.Point", codec.JSON, point{1, 2}, peer.Datum{Class: "Point", Text: `{"x":1,"y":2}`}),
	inSortedSet("MsgPackJackson", codec.Msgpack, spelled, peer.String(spelled)),
	inSortedSet("MsgPackJackson", codec.Msgpack, 40000, peer.Integer(40000)),
	inSortedSet("Kryo5", codec.Kryo5, spelled, peer.String(spelled)),
	inSortedSet("Kryo5", codec.Kryo5, int64(7), peer.Long(7)),
}

func goWritesScores(t *testing.T, w *world) {
	c, ctx := w.client(t), within(t)
	for _, m := range inSortedSets {
		name := w.bucketName(t)
		did(t, true)(m.add(ctx, c, name))
		theirs := w.java.ScoredSet(t.Name(), name, m.java)
		all, err := theirs.ReadAll(ctx)
		require.NoError(t, err, m.java)
		require.Equal(t, []peer.Datum{m.value}, all, m.java)
		did(t, false)(theirs.Add(ctx, 2, m.value)) // bytes for bytes
	}
}

func javaWritesScores(t *testing.T, w *world) {
	c, ctx := w.client(t), within(t)
	for _, m := range inSortedSets {
		name := w.bucketName(t)
		did(t, true)(w.java.ScoredSet(t.Name(), name, m.java).Add(ctx, 2.5, m.value))
		score, there, err := m.score(ctx, c, name)
		require.NoError(t, err, m.java)
		require.True(t, there, m.java)
		require.Equal(t, 2.5, score)
		m.all(ctx, t, c, name)
		did(t, false)(m.add(ctx, c, name))
	}
}

// bothWriteTexts uses a set of texts from both sides by turns.
func bothWriteTexts(t *testing.T, w *world) {
	ctx, name := within(t), w.bucketName(t)
	mine, theirs := sortedset.NewLex(w.client(t), name), w.java.LexSet(name, name)
	number(t, 3)(mine.Add(ctx, "b", "a", "é"))
	did(t, true)(theirs.AddAll(ctx, "ab", "c", "a"))
	var all []string
	for text, err := range mine.Range(ctx, sortedset.Span{}) {
		require.NoError(t, err)
		all = append(all, text)
	}
	require.Equal(t, []string{"a", "ab", "b", "c", "é"}, all)
	got, err := theirs.Range(ctx, "a", "b")
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("a"), peer.String("ab")}, got)
	got, err = theirs.RangeTail(ctx, "b")
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("c"), peer.String("é")}, got)
	number(t, 2)(mine.Count(ctx, sortedset.Prefix("a")))
	number(t, 2)(theirs.Count(ctx, "a", "b"))
	rank, there, err := mine.Rank(ctx, "c")
	require.NoError(t, err)
	require.True(t, there)
	number(t, rank)(theirs.Rank(ctx, "c"))
	number(t, 1)(theirs.RemoveRange(ctx, "ab", "b"))
	number(t, 1)(mine.RemoveRange(ctx, sortedset.Span{From: "d"}))
	first, err := theirs.PollFirst(ctx)
	require.NoError(t, err)
	require.Equal(t, peer.String("a"), first)
	popped, err := mine.PopMin(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, popped)
	did(t, true)(theirs.Remove(ctx, "c"))
	number(t, 0)(mine.Len(ctx))
}
