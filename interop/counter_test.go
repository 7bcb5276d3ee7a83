//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

var counterProofs = []proof{
	{row: "counter/operations/go-java", test: goUsesACounter},
	{row: "counter/operations/java-go", test: javaUsesACounter},
	{row: "counter/beyond_doubles/both", test: bothCountBeyondDoubles},
	{row: "counter/contention/both", test: bothCountAtOnce, alone: true},
	{row: "float/operations/both", test: bothUseAFloat},
	{row: "id_generator/operations/go-java", test: goNumbers},
	{row: "id_generator/operations/java-go", test: javaNumbers},
	{row: "id_generator/contention/both", test: fleetNumbers, alone: true},
	{row: "distinct_count/codecs/both", test: distinctCountsOfAnyCodec},
}

var counterEssentials = []proof{
	{row: "counter/operations/go-java", test: goUsesACounter},
	{row: "counter/operations/java-go", test: javaUsesACounter},
	{row: "id_generator/operations/go-java", test: goNumbers},
}

// tally is a name that is deleted, with what is derived from it, when the test ends.
func (w *world) tally(t *testing.T) string {
	t.Helper()
	name := redistest.Name(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, name)
		w.del(ctx, t, "{"+name+"}:allocation")
	})
	return name
}

// returns checks what a call answers.
func returns[T comparable](t *testing.T, want T) func(got T, err error) {
	return func(got T, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func goUsesACounter(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	c := w.client(t, answersMayTakeLong)
	theirs := w.java.AtomicLong(name, name)
	for _, mine := range []*counter.Counter{counter.New(c, name), counter.New(c, name, counter.WithRequestIDs())} {
		sees := func(n int64) { t.Helper(); returns(t, n)(theirs.Number(ctx, "get")) }
		sees(0)
		returns(t, int64(5))(mine.Add(ctx, 5))
		sees(5)
		returns(t, int64(5))(mine.Swap(ctx, -7))
		sees(-7)
		returns(t, true)(mine.CompareAndSwap(ctx, -7, 8))
		sees(8)
		returns(t, true)(mine.Raise(ctx, 9))
		sees(9)
		returns(t, true)(mine.Lower(ctx, -9))
		sees(-9)
		require.NoError(t, mine.Set(ctx, 3))
		sees(3)
		returns(t, int64(3))(mine.Take(ctx))
		sees(0)
		returns(t, true)(mine.SetIfAbsent(ctx, 4))
		sees(4)
		returns(t, true)(mine.CompareAndDelete(ctx, 4))
		sees(0)
	}
}

func javaUsesACounter(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	mine, theirs := counter.New(w.client(t, answersMayTakeLong), name), w.java.AtomicLong(name, name)
	sees := func(n int64) { t.Helper(); returns(t, n)(mine.Get(ctx)) }
	returns(t, int64(5))(theirs.Number(ctx, "addAndGet", 5))
	sees(5)
	returns(t, int64(5))(theirs.Number(ctx, "getAndAdd", -2))
	sees(3)
	returns(t, int64(4))(theirs.Number(ctx, "incrementAndGet"))
	returns(t, int64(3))(theirs.Number(ctx, "decrementAndGet"))
	sees(3)
	returns(t, int64(3))(theirs.Number(ctx, "getAndSet", 10))
	sees(10)
	returns(t, false)(theirs.Truth(ctx, "compareAndSet", 9, 11))
	returns(t, true)(theirs.Truth(ctx, "compareAndSet", 10, 11))
	sees(11)
	require.NoError(t, theirs.Set(ctx, math.MinInt64))
	sees(math.MinInt64)
	returns(t, int64(math.MinInt64))(theirs.Number(ctx, "getAndDelete"))
	sees(0)
	returns(t, true)(theirs.Truth(ctx, "compareAndSet", 0, 1))
	returns(t, true)(mine.CompareAndSwap(ctx, 1, 0))
	returns(t, true)(theirs.Truth(ctx, "compareAndSet", 0, 7))
	sees(7)
}

// bothCountBeyondDoubles: Java's comparisons are wrong above 2^53, and Go's are not.
func bothCountBeyondDoubles(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	mine, theirs := counter.New(w.client(t, answersMayTakeLong), name, counter.WithRequestIDs()), w.java.AtomicLong(name, name)
	for _, start := range []int64{1<<53 - 1, -(1<<53 + 3), math.MaxInt64 - 8} {
		require.NoError(t, theirs.Set(ctx, start))
		for i := range int64(4) {
			returns(t, start+2*i+1)(mine.Add(ctx, 1))
			returns(t, start+2*i+2)(theirs.Number(ctx, "incrementAndGet"))
		}
	}
	require.NoError(t, theirs.Set(ctx, 11))
	returns(t, true)(theirs.Truth(ctx, "setIfLess", 12, 12))
	returns(t, int64(12))(mine.Get(ctx))
	returns(t, true)(theirs.Truth(ctx, "setIfGreater", 2, 2))
	returns(t, int64(2))(mine.Get(ctx))
	require.NoError(t, theirs.Set(ctx, 1<<53+1))
	returns(t, false)(theirs.Truth(ctx, "setIfGreater", 1<<53, 1<<53))
	returns(t, true)(mine.Lower(ctx, 1<<53))
	returns(t, int64(1<<53))(theirs.Number(ctx, "get"))
}

// bothCountAtOnce: no add of either side is lost, and no sum comes twice.
func bothCountAtOnce(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	mine := counter.New(w.client(t, answersMayTakeLong), name, counter.WithRequestIDs())
	const goroutines, threads, each = 16, 2, 200
	var mu sync.Mutex
	seen := map[int64]bool{}
	saw := func(n int64, err error) {
		mu.Lock()
		defer mu.Unlock()
		assert.NoError(t, err)
		assert.False(t, seen[n], "%d came twice", n)
		seen[n] = true
	}
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range each {
				saw(mine.Add(ctx, 1))
			}
		})
	}
	for i := range threads {
		theirs := w.java.AtomicLong(fmt.Sprint(name, i), name)
		all.Go(func() {
			for range each {
				saw(theirs.Number(ctx, "incrementAndGet"))
			}
		})
	}
	all.Wait()
	returns(t, int64((goroutines+threads)*each))(mine.Get(ctx))
}

func bothUseAFloat(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	mine, theirs := counter.NewFloat(w.client(t, answersMayTakeLong), name), w.java.AtomicDouble(name, name)
	returns(t, 0.0)(theirs.Float(ctx, "get"))
	for _, v := range []float64{2, 0.1, -1.5, 1e-9, 1e21, 123456.789, 1 << 53} {
		require.NoError(t, theirs.Set(ctx, v))
		returns(t, v)(mine.Get(ctx))
		returns(t, true)(mine.CompareAndSwap(ctx, v, 7))
		require.NoError(t, mine.Set(ctx, v))
		returns(t, v)(theirs.Float(ctx, "get"))
		returns(t, true)(theirs.CompareAndSet(ctx, v, 8))
		returns(t, 8.0)(mine.Swap(ctx, v))
		returns(t, v)(theirs.Float(ctx, "getAndSet", 1))
		returns(t, 1.0)(mine.Get(ctx))
	}
	returns(t, 1.5)(mine.Add(ctx, 0.5))
	returns(t, 1.25)(theirs.Float(ctx, "addAndGet", -0.25))
	returns(t, 1.25)(mine.Get(ctx))
}

func goNumbers(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	mine, theirs := counter.NewIDs(w.client(t, answersMayTakeLong), name), w.java.IDGenerator(name, name)
	returns(t, true)(mine.Init(ctx, 10, 3))
	returns(t, false)(theirs.TryInit(ctx, 20, 4))
	ids, err := theirs.NextIDs(ctx, 4)
	require.NoError(t, err)
	require.Equal(t, []int64{10, 11, 12, 13}, ids)
	returns(t, int64(16))(mine.Next(ctx))
	from, to, err := mine.Range(ctx, 1000)
	require.NoError(t, err)
	require.EqualValues(t, 1000, to-from)
	ids, err = theirs.NextIDs(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []int64{14, 15}, ids[:2])
	require.True(t, ids[2] >= to || ids[2] < from, "%v, %d to %d", ids, from, to)
}

func javaNumbers(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	mine, theirs := counter.NewIDs(w.client(t, answersMayTakeLong), name), w.java.IDGenerator(name, name)
	ids, err := theirs.NextIDs(ctx, 2) // of a generator that nobody has begun
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, ids)
	returns(t, false)(mine.Init(ctx, 7, 7))
	returns(t, int64(5001))(mine.Next(ctx))

	name = w.tally(t)
	mine, theirs = counter.NewIDs(w.client(t, answersMayTakeLong), name), w.java.IDGenerator(name+"2", name)
	returns(t, true)(theirs.TryInit(ctx, 1, 0)) // which Java takes
	_, err = mine.Next(ctx)
	require.ErrorIs(t, err, counter.ErrDecode)
	returns(t, true)(mine.Delete(ctx))
	returns(t, true)(theirs.TryInit(ctx, math.MaxInt64-2, 100))
	_, err = mine.Next(ctx)
	require.ErrorIs(t, err, counter.ErrExhausted, "where Java waits for ever")
}

// numberer is a Go process that takes ids.
func numberer(p *redistest.Parent) {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: strings.Split(os.Getenv("ADDRS"), ",")})
	if err != nil {
		panic(err)
	}
	ids := counter.NewIDs(c, os.Getenv("NAME"))
	for {
		line, ok := p.Hear()
		n, err := strconv.Atoi(line)
		if !ok || err != nil {
			break
		}
		var all []string
		for range n {
			id, err := ids.Next(context.Background())
			if err != nil {
				panic(err)
			}
			all = append(all, strconv.FormatInt(id, 10))
		}
		p.Say("%s", strings.Join(all, " "))
	}
	if err := c.Close(context.Background()); err != nil {
		panic(err)
	}
}

// fleetNumbers: 3 Go and 2 Java processes, and no id comes twice.
func fleetNumbers(t *testing.T, w *world) {
	ctx, name := within(t), w.tally(t)
	returns(t, true)(counter.NewIDs(w.client(t, answersMayTakeLong), name).Init(ctx, 1<<53-1000, 7))
	rounds := redistest.Count(t, 20, 200) // of 1,000 ids for each of the five
	var mu sync.Mutex
	seen := map[int64]bool{}
	saw := func(id int64) {
		mu.Lock()
		defer mu.Unlock()
		if seen[id] {
			assert.Fail(t, "an id came twice", "%d", id)
		}
		seen[id] = true
	}
	var all sync.WaitGroup
	for range 3 {
		child := redistest.StartChild(t, "numberer", "ADDRS="+strings.Join(w.addrs, ","), "NAME="+name)
		all.Go(func() {
			for range rounds {
				child.Send("1000")
				for _, word := range strings.Fields(child.Next()) {
					id, err := strconv.ParseInt(word, 10, 64)
					assert.NoError(t, err)
					saw(id)
				}
			}
			child.CloseInput()
			assert.Zero(t, child.Wait())
		})
	}
	for _, jvm := range []*peer.Peer{w.java, w.second} {
		theirs := jvm.IDGenerator(name, name)
		all.Go(func() {
			for range rounds {
				ids, err := theirs.NextIDs(ctx, 1000)
				assert.NoError(t, err)
				for _, id := range ids {
					saw(id)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, seen, 5*1000*rounds)
}

// distinctCountsOfAnyCodec: a value that both sides have added counts once.
func distinctCountsOfAnyCodec(t *testing.T, w *world) {
	ctx := within(t)
	c := w.client(t, answersMayTakeLong)
	sameText := func(name, java string, opts ...counter.DistinctOption) error {
		mine, theirs := counter.NewDistinct[string](c, name, opts...), w.java.HyperLogLog(name, name, java)
		return sameValues(ctx, mine, theirs, "é", func(v string) peer.Datum { return peer.String(v) }, []string{"a", "é", ""})
	}
	require.NoError(t, sameText(w.tally(t), "String"))
	require.NoError(t, sameText(w.tally(t), "JsonJackson", counter.WithCodec(codec.JSON)))
	require.NoError(t, sameText(w.tally(t), "MsgPackJackson", counter.WithCodec(codec.Msgpack)))
	require.NoError(t, sameText(w.tally(t), "Kryo5", counter.WithCodec(codec.Kryo5)))

	name := w.tally(t)
	long := func(v int64) peer.Datum { return peer.Long(v) }
	require.NoError(t, sameValues(ctx, counter.NewDistinct[int64](c, name), w.java.HyperLogLog(name, name, "Long"), 7, long, []int64{1, 7, math.MinInt64}))
	name = w.tally(t)
	raw := func(v []byte) peer.Datum { return peer.Bytes(v) }
	require.NoError(t, sameValues(ctx, counter.NewDistinct[[]byte](c, name, counter.WithCodec(codec.Bytes)),
		w.java.HyperLogLog(name, name, "ByteArray"), []byte{0xff, 0}, raw, [][]byte{{1}, {0xff, 0}, {}}))

	one, other := "{"+w.tally(t)+"}a", ""
	other = strings.TrimSuffix(one, "a") + "b"
	t.Cleanup(func() { w.del(context.Background(), t, one); w.del(context.Background(), t, other) })
	mine, theirs := counter.NewDistinct[string](c, one), w.java.HyperLogLog(one, other, "String")
	require.NoError(t, mine.Add(ctx, "a", "b"))
	_, err := theirs.Add(ctx, peer.String("b"))
	require.NoError(t, err)
	_, err = theirs.Add(ctx, peer.String("c"))
	require.NoError(t, err)
	returns(t, int64(3))(mine.CountWith(ctx, other))
	returns(t, int64(3))(theirs.Count(ctx, one))
	require.NoError(t, mine.Merge(ctx, other))
	returns(t, int64(3))(mine.Count(ctx))
	require.NoError(t, theirs.MergeWith(ctx, one))
	returns(t, int64(3))(mine.CountWith(ctx, other))
}

// sameValues adds values on both sides, and returns an error if one of them counts twice.
func sameValues[T any](ctx context.Context, mine *counter.Distinct[T], theirs peer.HyperLogLog, known T, datum func(T) peer.Datum, vs []T) error {
	_, err := theirs.Add(ctx, datum(known))
	if err != nil {
		return err
	}
	if err = mine.Add(ctx, vs...); err != nil {
		return err
	}
	for _, v := range vs {
		if changed, err := theirs.Add(ctx, datum(v)); err != nil || changed {
			return errors.Join(err, fmt.Errorf("%v was no value that Go has added: %v", v, changed))
		}
	}
	n, err := mine.Count(ctx)
	if err == nil && n != int64(len(vs)) {
		err = fmt.Errorf("%d of %d values", n, len(vs))
	}
	return err
}
