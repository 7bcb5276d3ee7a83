//go:build interop

package interop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

var bloomProofs = []proof{
	{row: "bloom_filter/shapes/both", test: shapesAreTheSame},
	{row: "bloom_filter/bits/both", test: bitsAreTheSame},
	{row: "bloom_filter/operations/go-java", test: goMakesAFilter},
	{row: "bloom_filter/operations/java-go", test: javaMakesAFilter},
	{row: "bloom_filter/left_over_bits/java-go", test: bitsThatJavaLeaves},
	{row: "bloom_filter/contention/both", test: bothFillAFilter, alone: true},
}

var bloomEssentials = []proof{
	{row: "bloom_filter/operations/go-java", test: goMakesAFilter},
	{row: "bloom_filter/operations/java-go", test: javaMakesAFilter},
}

// sieve is the name of a filter that is deleted when the test ends.
func (w *world) sieve(t *testing.T) string {
	t.Helper()
	name := redistest.Name(t) + fmt.Sprint(rand.Uint32())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
		w.del(ctx, t, "{"+name+"}:config")
	})
	return name
}

// yields checks what a call answers.
func yields[T any](t *testing.T, want T) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func (w *world) configOf(ctx context.Context, t *testing.T, name string) map[string]string {
	t.Helper()
	all, err := w.redis.Do(ctx, w.redis.B().Hgetall().Key("{"+name+"}:config").Build()).AsStrMap()
	require.NoError(t, err)
	return all
}

// bitmapOf returns the bits of a filter, without the zeros at its end: Java's has no more than it needs.
func (w *world) bitmapOf(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	bits, err := w.redis.Do(ctx, w.redis.B().Get().Key(name).Build()).ToString()
	require.NoError(t, err)
	return strings.TrimRight(bits, "\x00")
}

// shapesAreTheSame compares the configs that both sides write, text for text. The largest are made by Java alone in the tests of
// every day, and read by Go: Go takes the memory at once.
func shapesAreTheSame(t *testing.T, w *world) {
	ctx, c := within(t), w.client(t, answersMayTakeLong)
	soak := os.Getenv("RUEIDISSON_SOAK") == "1"
	ks := map[int]bool{}
	for _, of := range []struct {
		n int64
		p float64
	}{
		{1, 0.01}, {2, 0.5}, {10, 0.9}, {100, 0.7}, {7, 0.25}, {100, 0.125}, {100, 0.0625}, {100, 0.03}, {100, 0.015}, {1000, 0.0078}, {1000, 0.0039},
		{1000, 0.002}, {1000, 0.001}, {1000, 0.0005}, {1000, 0.00025}, {1_000_000, 0.0001}, {12_345, 1.0 / 3}, {12_345, 0.1 + 0.2}, {3, 1e-300},
		{55_000_000, 0.03}, {399_999_999, 0.01}, {447_000_000, 0.01},
	} {
		mine, theirs := w.sieve(t), w.sieve(t)
		java := w.java.BloomFilter(theirs, theirs, "String")
		yields(t, true)(java.TryInit(ctx, of.n, of.p))
		s, err := bloom.New[string](c, theirs).Shape(ctx)
		require.NoError(t, err)
		require.Equal(t, of.n, s.Insertions)
		require.Equal(t, of.p, s.FalseProbability)
		yields(t, []int64{s.Bits, int64(s.Hashes), s.Insertions})(java.Shape(ctx))
		ks[s.Hashes] = true
		if s.Bits < 1e8 || soak {
			yields(t, true)(bloom.New[string](c, mine).Init(ctx, of.n, of.p))
			require.Equal(t, w.configOf(ctx, t, theirs), w.configOf(ctx, t, mine))
			yields(t, []int64{s.Bits, int64(s.Hashes), s.Insertions})(w.java.BloomFilter(mine, mine, "String").Shape(ctx))
			w.del(ctx, t, mine)
		}
		yields(t, false)(bloom.New[string](c, theirs).Init(ctx, of.n, of.p))
	}
	for k := 1; k <= 13; k++ {
		require.True(t, ks[k], "k = %d", k)
	}
}

// sieved is one codec as both sides know it.
type sieved struct {
	java string
	add  func(ctx context.Context, c *rueidisson.Client, name string) error
	has  func(ctx context.Context, c *rueidisson.Client, name string) ([]bool, error)
	data []peer.Datum
}

func sieveOf[T any](java string, vs []T, datum func(T) peer.Datum, opts ...bloom.Option) sieved {
	s := sieved{java: java}
	s.add = func(ctx context.Context, c *rueidisson.Client, name string) error {
		return bloom.New[T](c, name, opts...).Add(ctx, vs...)
	}
	s.has = func(ctx context.Context, c *rueidisson.Client, name string) ([]bool, error) {
		return bloom.New[T](c, name, opts...).HasEach(ctx, vs...)
	}
	for _, v := range vs {
		s.data = append(s.data, datum(v))
	}
	return s
}

func sievedCodecs() []sieved {
	texts, longs, raw := []string{"", "é", spelled, long}, []int64{0, -1, 1 << 62}, [][]byte{{}, {0}, {0xff, 0x41}}
	for i := range int64(60) {
		texts, longs, raw = append(texts, fmt.Sprint("value ", i)), append(longs, i*i*1001), append(raw, []byte{byte(i), 1, 2})
	}
	text := func(v string) peer.Datum { return peer.String(v) }
	return []sieved{
		sieveOf("String", texts, text),
		sieveOf("Long", longs, func(v int64) peer.Datum { return peer.Long(v) }),
		sieveOf("ByteArray", raw, func(v []byte) peer.Datum { return peer.Bytes(v) }, bloom.WithCodec(codec.Bytes)),
		sieveOf("JsonJackson", texts, text, bloom.WithCodec(codec.JSON)),
		sieveOf("TypedJson:java.lang.String", texts, text, bloom.WithCodec(codec.JSON)),
		sieveOf("MsgPackJackson", texts, text, bloom.WithCodec(codec.Msgpack)),
		sieveOf("Kryo5", texts, text, bloom.WithCodec(codec.Kryo5)),
	}
}

// bitsAreTheSame compares bitmaps bit by bit: filters that each side has filled by itself, of 7 codecs, and of sizes from 9 bits to
// 3.8 thousand million with one of them.
func bitsAreTheSame(t *testing.T, w *world) {
	ctx, c := within(t), w.client(t, answersMayTakeLong)
	same := func(s sieved, n int64, p float64) {
		t.Helper()
		mine, theirs := w.sieve(t), w.sieve(t)
		java := w.java.BloomFilter(theirs, theirs, s.java)
		yields(t, true)(java.TryInit(ctx, n, p))
		yields(t, true)(bloom.New[string](c, mine).Init(ctx, n, p))
		require.NoError(t, s.add(ctx, c, mine))
		_, err := java.AddEach(ctx, s.data...)
		require.NoError(t, err)
		require.Equal(t, w.bitmapOf(ctx, t, theirs), w.bitmapOf(ctx, t, mine), "%s n=%d p=%v", s.java, n, p)
		has, err := s.has(ctx, c, theirs)
		require.NoError(t, err)
		require.NotContains(t, has, false)
		goes := w.java.BloomFilter(mine, mine, s.java)
		yields(t, int64(len(s.data)))(goes.ContainsEach(ctx, s.data...))
	}
	all := sievedCodecs()
	for _, s := range all {
		same(s, 1000, 0.001)
	}
	for _, of := range []struct {
		n int64
		p float64
	}{{1, 0.01}, {5, 0.5}, {100, 0.7}, {100, 0.25}, {1000, 0.0001}, {100_000, 0.03}} {
		same(all[0], of.n, of.p)
	}

	// A few values in a filter of 3.8 thousand million bits: single bits are compared, since nobody reads 480 MB.
	if os.Getenv("RUEIDISSON_SOAK") != "1" {
		return
	}
	name := w.sieve(t)
	yields(t, true)(bloom.New[string](c, name).Init(ctx, 400_000_000, 0.01))
	require.NoError(t, all[0].add(ctx, c, name))
	java := w.java.BloomFilter(name, name, "String")
	yields(t, int64(len(all[0].data)))(java.ContainsEach(ctx, all[0].data...))
	n, err := w.redis.Do(ctx, w.redis.B().Bitcount().Key(name).Build()).AsInt64()
	require.NoError(t, err)
	_, err = java.AddEach(ctx, all[0].data...)
	require.NoError(t, err)
	yields(t, n)(w.redis.Do(ctx, w.redis.B().Bitcount().Key(name).Build()).AsInt64())
}

func goMakesAFilter(t *testing.T, w *world) {
	ctx, name := within(t), w.sieve(t)
	c := w.client(t, answersMayTakeLong)
	mine, theirs := bloom.New[string](c, name), w.java.BloomFilter(name, name, "String")
	yields(t, true)(mine.Init(ctx, 1000, 0.01))
	yields(t, true)(theirs.Exists(ctx))
	yields(t, false)(theirs.TryInit(ctx, 1000, 0.01))
	yields(t, "0.01")(theirs.FalseProbability(ctx))
	require.NoError(t, mine.Add(ctx, "a", "b", "c"))
	yields(t, int64(2))(theirs.ContainsEach(ctx, peer.String("a"), peer.String("c"), peer.String("d")))
	yields(t, int64(3))(theirs.Count(ctx))
	yields(t, false)(theirs.Add(ctx, peer.String("a")))
	yields(t, true)(theirs.Add(ctx, peer.String("e")))
	yields(t, []bool{false, true})(mine.AddNew(ctx, "e", "f"))
	yields(t, true)(mine.Delete(ctx))
	yields(t, false)(theirs.Exists(ctx))
}

func javaMakesAFilter(t *testing.T, w *world) {
	ctx, name := within(t), w.sieve(t)
	c := w.client(t, answersMayTakeLong)
	mine, theirs := bloom.New[string](c, name), w.java.BloomFilter(name, name, "String")
	require.ErrorIs(t, mine.Add(ctx, "a"), bloom.ErrNotSet)
	yields(t, true)(theirs.TryInit(ctx, 1000, 0.01))
	yields(t, true)(mine.Exists(ctx))
	yields(t, false)(mine.Has(ctx, "a")) // which has no bitmap yet
	yields(t, int64(0))(mine.Count(ctx))
	yields(t, false)(mine.Init(ctx, 1000, 0.01))
	_, err := mine.Init(ctx, 2000, 0.01) // Java's handle would be of no use any more
	require.ErrorIs(t, err, bloom.ErrOtherShape)
	yields(t, true)(theirs.Add(ctx, peer.String("a")))
	yields(t, []bool{true, false})(mine.HasEach(ctx, "a", "b"))
	yields(t, []bool{false, true})(mine.AddNew(ctx, "a", "b"))
	yields(t, int64(2))(theirs.ContainsEach(ctx, peer.String("a"), peer.String("b")))

	yields(t, true)(theirs.Delete(ctx))
	require.ErrorIs(t, mine.Add(ctx, "a"), bloom.ErrNotSet)
	other := w.java.BloomFilter(name+"-other", name, "String")
	yields(t, true)(other.TryInit(ctx, 50, 0.5)) // made anew, with another shape
	require.NoError(t, mine.Add(ctx, "a"))
	yields(t, int64(1))(other.ContainsEach(ctx, peer.String("a")))
}

// bitsThatJavaLeaves of a filter that expired before its first add are not those of the next filter, and Go's add gives its bitmap the
// end of the config.
func bitsThatJavaLeaves(t *testing.T, w *world) {
	ctx, name := within(t), w.sieve(t)
	c := w.client(t, answersMayTakeLong)
	mine, theirs := bloom.New[string](c, name), w.java.BloomFilter(name, name, "String")
	ends := func() time.Duration {
		ms, err := w.redis.Do(ctx, w.redis.B().Pttl().Key(name).Build()).AsInt64()
		require.NoError(t, err)
		return time.Duration(ms) * time.Millisecond
	}
	yields(t, true)(theirs.TryInit(ctx, 1000, 0.01))
	yields(t, true)(theirs.Expire(ctx, time.Hour))
	yields(t, true)(theirs.Add(ctx, peer.String("a")))
	require.Negative(t, ends(), "Java's bitmap stays")
	w.del(ctx, t, "{"+name+"}:config") // it expires
	require.ErrorIs(t, mine.Add(ctx, "b"), bloom.ErrNotSet)
	yields(t, true)(mine.Init(ctx, 1000, 0.01))
	yields(t, []bool{false})(mine.HasEach(ctx, "a"))
	yields(t, true)(mine.Delete(ctx))

	yields(t, true)(theirs.TryInit(ctx, 1000, 0.01))
	yields(t, true)(theirs.Expire(ctx, time.Hour))
	require.NoError(t, mine.Add(ctx, "a"))
	require.Greater(t, ends(), 50*time.Minute)
	yields(t, int64(1))(theirs.ContainsEach(ctx, peer.String("a")))
}

// bothFillAFilter at once, and both find all.
func bothFillAFilter(t *testing.T, w *world) {
	ctx, name := within(t), w.sieve(t)
	c := w.client(t, answersMayTakeLong)
	mine := bloom.New[string](c, name)
	yields(t, true)(mine.Init(ctx, 5000, 0.0001))
	const sides, each = 4, 300
	var filling sync.WaitGroup
	for side := range sides {
		filling.Go(func() {
			for i := range each {
				v := fmt.Sprint(side, " ", i)
				var err error
				if side%2 == 0 {
					err = mine.Add(ctx, v)
				} else {
					_, err = w.java.BloomFilter(fmt.Sprint(name, side), name, "String").Add(ctx, peer.String(v))
				}
				assert.NoError(t, err)
			}
		})
	}
	filling.Wait()
	var all []string
	var data []peer.Datum
	for side := range sides {
		for i := range each {
			all, data = append(all, fmt.Sprint(side, " ", i)), append(data, peer.String(fmt.Sprint(side, " ", i)))
		}
	}
	has, err := mine.HasEach(ctx, all...)
	require.NoError(t, err)
	require.NotContains(t, has, false)
	yields(t, int64(len(data)))(w.java.BloomFilter(name, name, "String").ContainsEach(ctx, data...))
}
