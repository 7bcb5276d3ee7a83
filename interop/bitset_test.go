//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/rueidisson/rueidisson/bitset"
	"github.com/rueidisson/rueidisson/interop/peer"
)

var bitsetProofs = []proof{
	{row: "bitset/bits/go-java", test: goWritesBits},
	{row: "bitset/bits/java-go", test: javaWritesBits},
	{row: "bitset/numbers/go-java", test: goWritesNumbers},
	{row: "bitset/numbers/java-go", test: javaWritesNumbers},
	{row: "bitset/combined/go-java", test: goCombinesBits},
	{row: "bitset/combined/java-go", test: javaCombinesBits},
	{row: "bitset/numbers/both", test: bothAddToANumber},
}

// sharedBits is a bitset as both sides see it, and another one of the same slot.
type sharedBits struct {
	t             *testing.T
	ctx           context.Context
	mine, others  *bitset.Set
	theirs, their peer.BitSet
}

func (w *world) sharedBits(t *testing.T) *sharedBits {
	t.Helper()
	tag, c := "{"+w.bucketName(t)+"}", w.client(t)
	t.Cleanup(func() { w.del(context.Background(), t, tag+"a"); w.del(context.Background(), t, tag+"b") })
	return &sharedBits{
		t, within(t), bitset.New(c, tag+"a"), bitset.New(c, tag+"b"), w.java.BitSet(t.Name(), tag+"a"), w.java.BitSet(t.Name(), tag+"b"),
	}
}

// has is which bits both sides see, of the first ones.
func (b *sharedBits) has(want ...int64) {
	b.t.Helper()
	is, length := map[int64]bool{}, int64(0)
	for _, at := range want {
		is[at], length = true, max(length, at+1)
	}
	for at := range int64(40) {
		theirs, err := b.theirs.Get(b.ctx, at)
		require.NoError(b.t, err)
		assert.Equal(b.t, is[at], theirs, "bit %d of Java", at)
		mine, err := b.mine.Get(b.ctx, at)
		require.NoError(b.t, err)
		assert.Equal(b.t, is[at], mine[0], "bit %d of Go", at)
	}
	both := func(what string, want int64, mine func(context.Context) (int64, error), theirs func(context.Context) (int64, error)) {
		b.t.Helper()
		for side, ask := range map[string]func(context.Context) (int64, error){"Go": mine, "Java": theirs} {
			got, err := ask(b.ctx)
			require.NoError(b.t, err)
			assert.Equal(b.t, want, got, "%s of %s", what, side)
		}
	}
	both("count", int64(len(want)), b.mine.Count, b.theirs.Cardinality)
	both("length", length, b.mine.Len, b.theirs.Length)
}

func goWritesBits(t *testing.T, w *world) {
	b := w.sharedBits(t)
	b.has()
	_, err := b.mine.Set(b.ctx, 1)
	require.NoError(t, err)
	_, err = b.mine.Set(b.ctx, 7, 8, 30)
	require.NoError(t, err)
	b.has(1, 7, 8, 30)
	_, err = b.mine.Clear(b.ctx, 7, 30)
	require.NoError(t, err)
	b.has(1, 8)
	require.NoError(t, b.mine.SetRange(b.ctx, 6, 19))
	b.has(1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)
	require.NoError(t, b.mine.ClearRange(b.ctx, 2, 17))
	b.has(1, 17, 18)
	require.NoError(t, b.mine.SetRange(b.ctx, 0, 1_000_000))
	n, err := b.theirs.Cardinality(b.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_000, n)
}

func javaWritesBits(t *testing.T, w *world) {
	b := w.sharedBits(t)
	did(t, false)(b.theirs.Set(b.ctx, 1, true))
	did(t, false)(b.theirs.Set(b.ctx, 30, true))
	b.has(1, 30)
	did(t, true)(b.theirs.Set(b.ctx, 30, false))
	b.has(1)
	require.NoError(t, b.theirs.SetRange(b.ctx, 6, 12, true))
	require.NoError(t, b.theirs.SetRange(b.ctx, 7, 10, false))
	b.has(1, 6, 10, 11)
	require.NoError(t, b.theirs.SetAll(b.ctx, []byte{1, 1})) // whose lowest bits are the first ones
	b.has(0, 8)
	all, err := b.mine.Bytes(b.ctx)
	require.NoError(t, err)
	require.Equal(t, []byte{0x80, 0x80}, all)
}

func goWritesNumbers(t *testing.T, w *world) {
	b := w.sharedBits(t)
	for _, one := range []struct {
		f      bitset.Field
		kind   string
		size   int
		offset int64
		v, add int64
		sum    int64
	}{
		{b.mine.Int(5, 3), "Signed", 5, 3, -16, -1, 15},
		{b.mine.Int(8, 8), "Signed", 8, 8, 127, 1, -128},
		{b.mine.Int(64, 17), "Signed", 64, 17, -1 << 63, -1, 1<<63 - 1},
		{b.mine.Uint(4, 90), "Unsigned", 4, 90, 15, 3, 2},
		{b.mine.Uint(63, 101), "Unsigned", 63, 101, 1<<63 - 1, 1, 0},
	} {
		_, err := one.f.Set(b.ctx, one.v)
		require.NoError(t, err)
		got, err := b.theirs.Number(b.ctx, "get"+one.kind, one.size, one.offset)
		require.NoError(t, err)
		require.Equal(t, one.v, got)
		sum, err := one.f.Add(b.ctx, one.add)
		require.NoError(t, err)
		require.Equal(t, one.sum, sum)
		got, err = b.theirs.Number(b.ctx, "get"+one.kind, one.size, one.offset)
		require.NoError(t, err)
		require.Equal(t, sum, got)
	}
}

func javaWritesNumbers(t *testing.T, w *world) {
	b := w.sharedBits(t)
	for _, one := range []struct {
		f      bitset.Field
		kind   string
		size   int
		offset int64
		v, sum int64
	}{
		{b.mine.Int(5, 3), "Signed", 5, 3, -16, -15},
		{b.mine.Int(8, 8), "Signed", 8, 8, 127, -128},
		{b.mine.Int(64, 17), "Signed", 64, 17, -1 << 63, -1<<63 + 1},
		{b.mine.Uint(4, 90), "Unsigned", 4, 90, 15, 0},
	} {
		_, err := b.theirs.Number(b.ctx, "set"+one.kind, one.size, one.offset, one.v)
		require.NoError(t, err)
		got, err := one.f.Get(b.ctx)
		require.NoError(t, err)
		require.Equal(t, one.v, got)
		sum, err := b.theirs.Number(b.ctx, "incrementAndGet"+one.kind, one.size, one.offset, int64(1))
		require.NoError(t, err)
		require.Equal(t, one.sum, sum)
		got, err = one.f.Get(b.ctx)
		require.NoError(t, err)
		require.Equal(t, sum, got)
	}
}

func goCombinesBits(t *testing.T, w *world) {
	b := w.sharedBits(t)
	for how, one := range map[string]struct {
		do   func() error
		want []int64
	}{
		"and": {func() error { return b.mine.And(b.ctx, b.others.Name()) }, []int64{2}},
		"or":  {func() error { return b.mine.Or(b.ctx, b.others.Name()) }, []int64{1, 2, 9}},
		"xor": {func() error { return b.mine.Xor(b.ctx, b.others.Name()) }, []int64{1, 9}},
		"not": {func() error { return b.mine.Not(b.ctx) }, []int64{0, 3, 4, 5, 6, 7}},
	} {
		_, err := b.mine.Delete(b.ctx)
		require.NoError(t, err)
		did(t, false)(b.theirs.Set(b.ctx, 1, true))
		did(t, false)(b.theirs.Set(b.ctx, 2, true))
		_, err = b.their.Set(b.ctx, 2, true)
		require.NoError(t, err)
		_, err = b.their.Set(b.ctx, 9, true)
		require.NoError(t, err)
		_, err = b.mine.Expire(b.ctx, time.Minute)
		require.NoError(t, err)
		require.NoError(t, one.do(), how)
		b.has(one.want...)
		left, err := b.theirs.RemainTimeToLive(b.ctx)
		require.NoError(t, err)
		require.Positive(t, left, how)
	}
}

func javaCombinesBits(t *testing.T, w *world) {
	b := w.sharedBits(t)
	for how, want := range map[string][]int64{"and": {2}, "or": {1, 2, 9}, "xor": {1, 9}, "not": {0, 3, 4, 5, 6, 7}} {
		_, err := b.mine.Delete(b.ctx)
		require.NoError(t, err)
		_, err = b.mine.Set(b.ctx, 1, 2)
		require.NoError(t, err)
		_, err = b.others.Set(b.ctx, 2, 9)
		require.NoError(t, err)
		_, err = b.mine.Expire(b.ctx, time.Minute)
		require.NoError(t, err)
		if how == "not" {
			require.NoError(t, b.theirs.Combine(b.ctx, how))
		} else {
			require.NoError(t, b.theirs.Combine(b.ctx, how, b.others.Name()))
		}
		b.has(want...)
		left, err := b.mine.Remaining(b.ctx)
		require.NoError(t, err)
		require.Equal(t, time.Duration(-1), left, "%s of Java drops it, which Go's keeps", how)
	}
}

// bothAddToANumber adds to one number from both sides: nothing is lost.
func bothAddToANumber(t *testing.T, w *world) {
	b := w.sharedBits(t)
	const each = 100
	var all errgroup.Group
	for range 2 {
		all.Go(func() error {
			for range each {
				if _, err := b.mine.Uint(16, 3).Add(b.ctx, 1); err != nil {
					return err
				}
			}
			return nil
		})
	}
	all.Go(func() error {
		for range each {
			if _, err := b.theirs.Number(b.ctx, "incrementAndGetUnsigned", 16, int64(3), int64(1)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, all.Wait())
	n, err := b.mine.Uint(16, 3).Get(b.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3*each, n)
}
