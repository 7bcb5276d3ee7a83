//go:build interop

package interop

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/set"
)

var setProofs = []proof{
	{row: "set/operations/go-java", test: goWritesASet},
	{row: "set/operations/java-go", test: javaWritesASet},
	{row: "set/codecs/go-java", test: goWritesMembers},
	{row: "set/codecs/java-go", test: javaWritesMembers},
	{row: "set_cache/operations/go-java", test: goWritesASetCache},
	{row: "set_cache/operations/java-go", test: javaWritesASetCache},
	{row: "set_cache/leftovers/java-go", test: javaLeavesAKey},
}

var setEssentials = []proof{
	{row: "set/operations/go-java", test: goWritesASet},
	{row: "set/operations/java-go", test: javaWritesASet},
}

var setWaits = []proof{{row: "set_cache/sweeping/both", test: bothSweepASet}}

// sharedSet is a set of texts as both sides see it.
type sharedSet struct {
	*world
	t      *testing.T
	ctx    context.Context
	name   string
	mine   *set.Set[string]
	theirs peer.Set
}

func (w *world) sharedSet(t *testing.T) *sharedSet {
	t.Helper()
	name := w.bucketName(t)
	return &sharedSet{w, t, within(t), name, set.New[string](w.client(t), name), w.java.Set(name, name, "String")}
}

// has is what both sides see.
func (s *sharedSet) has(want ...string) {
	s.t.Helper()
	require.Equal(s.t, want, membersOf(s.t, s.mine.All(s.ctx)))
	data, err := s.theirs.ReadAll(s.ctx)
	require.NoError(s.t, err)
	require.Equal(s.t, want, textsOf(data))
	mine, err := s.mine.Len(s.ctx)
	require.NoError(s.t, err)
	theirs, err := s.theirs.Size(s.ctx)
	require.NoError(s.t, err)
	require.EqualValues(s.t, len(want), mine)
	require.EqualValues(s.t, len(want), theirs)
}

func membersOf[T any](t *testing.T, walk iter.Seq2[T, error]) (vs []T) {
	t.Helper()
	for v, err := range walk {
		require.NoError(t, err)
		vs = append(vs, v)
	}
	slices.SortFunc(vs, func(a, b T) int { return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b))) })
	return vs
}

func textsOf(data []peer.Datum) (vs []string) {
	for _, d := range data {
		vs = append(vs, d.Text)
	}
	slices.Sort(vs)
	return vs
}

// answers requires an answer of either side.
func answers(t *testing.T, want bool) func(got bool, err error) {
	return func(got bool, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func goWritesASet(t *testing.T, w *world) {
	s := w.sharedSet(t)
	n, err := s.mine.Add(s.ctx, "a", "b", "é")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	s.has("a", "b", "é")
	answers(t, true)(s.theirs.Contains(s.ctx, peer.String("é")))
	answers(t, true)(s.theirs.ContainsAll(s.ctx, peer.String("a"), peer.String("b")))
	answers(t, false)(s.theirs.TryAdd(s.ctx, peer.String("c"), peer.String("a")))
	answers(t, false)(s.mine.AddAllIfAbsent(s.ctx, "c", "a"))
	answers(t, true)(s.mine.AddAllIfAbsent(s.ctx, "c", "d"))
	n, err = s.mine.Retain(s.ctx, "a", "c", "x")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	s.has("a", "c")
	other := "other:{" + s.name + "}"
	t.Cleanup(func() { w.del(context.Background(), t, other) })
	answers(t, true)(s.mine.Move(s.ctx, other, "a"))
	data, err := w.java.Set(s.name, other, "String").ReadAll(s.ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, textsOf(data))
	n, err = s.mine.UnionInto(s.ctx, other, other)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	data, err = s.theirs.Read(s.ctx, "readDiff", other)
	require.NoError(t, err)
	require.Empty(t, data)
	popped, err := s.mine.Pop(s.ctx, 5)
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, popped)
	n, err = s.mine.Add(s.ctx, "z")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	answers(t, true)(s.mine.Delete(s.ctx))
	s.has()
}

func javaWritesASet(t *testing.T, w *world) {
	s := w.sharedSet(t)
	for _, v := range []string{"a", "b", "é"} {
		answers(t, true)(s.theirs.Add(s.ctx, peer.String(v)))
	}
	answers(t, false)(s.theirs.Add(s.ctx, peer.String("a")))
	s.has("a", "b", "é")
	answers(t, true)(s.mine.Has(s.ctx, "é"))
	answers(t, false)(s.mine.Has(s.ctx, "e"))
	answers(t, true)(s.theirs.Remove(s.ctx, peer.String("b")))
	answers(t, true)(s.theirs.TryAdd(s.ctx, peer.String("c"), peer.String("d")))
	s.has("a", "c", "d", "é")
	answers(t, true)(s.theirs.RetainAll(s.ctx, peer.String("a"), peer.String("c")))
	s.has("a", "c")
	other := "other:{" + s.name + "}"
	t.Cleanup(func() { w.del(context.Background(), t, other) })
	answers(t, true)(s.theirs.Move(s.ctx, other, peer.String("a")))
	require.Equal(t, []string{"a"}, membersOf(t, set.New[string](w.client(t), other).All(s.ctx)))
	answers(t, true)(s.theirs.Add(s.ctx, peer.String("a")))
	for operation, mine := range map[string]iter.Seq2[string, error]{
		"readUnion": s.mine.Union(s.ctx, other), "readIntersection": s.mine.Inter(s.ctx, other), "readDiff": s.mine.Diff(s.ctx, other),
	} {
		data, err := s.theirs.Read(s.ctx, operation, other)
		require.NoError(t, err)
		require.Equal(t, textsOf(data), membersOf(t, mine), operation)
	}
	data, err := s.theirs.RemoveRandom(s.ctx, 5)
	require.NoError(t, err)
	require.Len(t, data, 2)
	s.has()
}

// memberOf has a member as Go writes it and as Java does, of a codec.
type memberOf struct {
	name   string
	member peer.Datum
	open   func(w *world, t *testing.T, name string) (add func(ctx context.Context) error, has func(ctx context.Context) (bool, error))
}

func memberIn[T any](codecName string, f codec.Family, v T, d peer.Datum) memberOf {
	return memberOf{codecName, d, func(w *world, t *testing.T, name string) (func(context.Context) error, func(context.Context) (bool, error)) {
		s := set.New[T](w.client(t), name, set.WithCodec(f))
		return func(ctx context.Context) error { _, err := s.Add(ctx, v); return err }, func(ctx context.Context) (bool, error) { return s.Has(ctx, v) }
	}}
}

var memberCodecs = []memberOf{
	memberIn("String", codec.Text, "é", peer.String("é")),
	memberIn("Long", codec.Text, int64(1<<60), peer.Long(1<<60)),
	memberIn("ByteArray", codec.Bytes, []byte{0, 255}, peer.Bytes([]byte{0, 255})),
	memberIn("Kryo5", codec.Kryo5, "a", peer.String("a")),
	memberIn("MsgPackJackson", codec.Msgpack, "a", peer.String("a")),
}

func goWritesMembers(t *testing.T, w *world) {
	for _, m := range memberCodecs {
		ctx, name := within(t), w.bucketName(t)
		add, _ := m.open(w, t, name)
		require.NoError(t, add(ctx), m.name)
		answers(t, true)(w.java.Set(name, name, m.name).Contains(ctx, m.member))
	}
}

func javaWritesMembers(t *testing.T, w *world) {
	for _, m := range memberCodecs {
		ctx, name := within(t), w.bucketName(t)
		answers(t, true)(w.java.Set(name, name, m.name).Add(ctx, m.member))
		_, has := m.open(w, t, name)
		answers(t, true)(has(ctx))
	}
}

// sharedSetCache is a set with times to live as both sides see it.
type sharedSetCache struct {
	sharedSet
	mine   *set.Cache[string]
	theirs peer.SetCache
}

func (w *world) sharedSetCache(t *testing.T) *sharedSetCache {
	t.Helper()
	name := w.bucketName(t)
	return &sharedSetCache{sharedSet{world: w, t: t, ctx: within(t), name: name}, set.NewCache[string](w.client(t), name), w.java.SetCache(name, name, "String")}
}

// has is what both sides see.
func (s *sharedSetCache) has(want ...string) {
	s.t.Helper()
	require.Equal(s.t, want, membersOf(s.t, s.mine.All(s.ctx)))
	data, err := s.theirs.ReadAll(s.ctx)
	require.NoError(s.t, err)
	require.Equal(s.t, want, textsOf(data))
	for _, v := range want {
		answers(s.t, true)(s.mine.Has(s.ctx, v))
		answers(s.t, true)(s.theirs.Contains(s.ctx, peer.String(v)))
	}
	mine, err := s.mine.Len(s.ctx)
	require.NoError(s.t, err)
	theirs, err := s.theirs.Size(s.ctx)
	require.NoError(s.t, err)
	require.EqualValues(s.t, len(want), mine)
	require.EqualValues(s.t, len(want), theirs)
}

func goWritesASetCache(t *testing.T, w *world) {
	s := w.sharedSetCache(t)
	answers(t, true)(s.mine.Add(s.ctx, "ever"))
	answers(t, true)(s.mine.Add(s.ctx, "hour", set.WithTTL(time.Hour)))
	answers(t, true)(s.mine.Add(s.ctx, "over", set.WithTTL(time.Millisecond)))
	distinctTime(s.ctx, t)
	s.has("ever", "hour")
	answers(t, false)(s.theirs.Add(s.ctx, peer.String("ever")))
	answers(t, false)(s.theirs.Add(s.ctx, peer.String("hour")))
	n, err := s.mine.AddMany(s.ctx, []string{"hour", "a", "b"})
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	s.has("a", "b", "ever", "hour")
	n, err = s.mine.Retain(s.ctx, "a")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	answers(t, true)(s.mine.AddIfPresent(s.ctx, "a", set.WithTTL(time.Hour)))
	s.has("a")
}

func javaWritesASetCache(t *testing.T, w *world) {
	s := w.sharedSetCache(t)
	answers(t, true)(s.theirs.Add(s.ctx, peer.String("ever")))
	answers(t, true)(s.theirs.Add(s.ctx, peer.String("hour"), time.Hour))
	answers(t, true)(s.theirs.Add(s.ctx, peer.String("over"), time.Millisecond))
	answers(t, true)(s.theirs.AddAll(s.ctx, peer.String("many")))
	answers(t, true)(s.theirs.TryAdd(s.ctx, peer.String("tried")))
	distinctTime(s.ctx, t)
	s.has("ever", "hour", "many", "tried")
	for _, v := range []string{"ever", "many", "tried"} {
		left, err := s.mine.Remaining(s.ctx, v)
		require.NoError(t, err)
		require.EqualValues(t, -1, left, v)
	}
	left, err := s.mine.Remaining(s.ctx, "hour")
	require.NoError(t, err)
	require.InDelta(t, time.Hour, left, float64(time.Minute))
	answers(t, false)(s.mine.Add(s.ctx, "many"))
	answers(t, true)(s.theirs.Remove(s.ctx, peer.String("hour")))
	s.has("ever", "many", "tried")
}

// javaLeavesAKey: a retainAll of Redisson that fails leaves its temporary key, and Go's does not look at it.
func javaLeavesAKey(t *testing.T, w *world) {
	s := w.sharedSetCache(t)
	stray := "redisson_temp__{" + s.name + "}"
	t.Cleanup(func() { w.del(context.Background(), t, stray) })
	for _, v := range []string{"n", "o", "q"} {
		answers(t, true)(s.theirs.Add(s.ctx, peer.String(v)))
	}
	_, err := s.theirs.RetainAll(s.ctx, peer.String("n"), peer.String("o"), peer.String("q"))
	require.Error(t, err, "which is Redisson's")
	n, err := s.mine.Retain(s.ctx, "n", "x")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	s.has("n")
}

// bothSweepASet: a listener of each side is told of each member that ends, whoever wrote it and whoever sweeps it, once.
func bothSweepASet(t *testing.T, w *world) {
	s := w.sharedSetCache(t)
	require.NoError(t, s.theirs.Listen(s.ctx))
	told := s.mine.Expired(s.ctx)
	var want []string
	answers(t, true)(s.mine.Add(s.ctx, "ever"))
	answers(t, true)(s.mine.Add(s.ctx, "hour", set.WithTTL(time.Hour)))
	for i := range 100 {
		v := strconv.Itoa(1000 + i)
		if want = append(want, v); i%2 == 0 {
			answers(t, true)(s.theirs.Add(s.ctx, peer.String(v), time.Duration(1+i*50)*time.Millisecond))
		} else {
			answers(t, true)(s.mine.Add(s.ctx, v, set.WithTTL(time.Duration(1+i*50)*time.Millisecond)))
		}
	}
	var mine []string
	for v, err := range told {
		require.NoError(t, err)
		if mine = append(mine, v); len(mine) == len(want) {
			break
		}
	}
	slices.Sort(mine)
	require.Equal(t, want, mine)
	eventually(s.ctx, t, "Java was told of all", func() bool {
		data, err := s.theirs.Heard(s.ctx)
		require.NoError(t, err)
		return slices.Equal(want, textsOf(data))
	})
	s.has("ever", "hour")
}
