//go:build interop

package interop

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/timeseries"
)

var seriesProofs = []proof{
	{row: "time_series/operations/go-java", test: goWritesASeries},
	{row: "time_series/operations/java-go", test: javaWritesASeries},
	{row: "time_series/codecs/go-java", test: goWritesSeriesValues},
	{row: "time_series/codecs/java-go", test: javaWritesSeriesValues},
	{row: "time_series/order/both", test: goGoesByTime},
}

var seriesWaits = []proof{{row: "time_series/sweeping/both", test: bothSweepASeries}}

// sharedSeries is a time series of texts as both sides see it.
type sharedSeries struct {
	*world
	t      *testing.T
	ctx    context.Context
	name   string
	mine   *timeseries.Series[string]
	theirs peer.TimeSeries
}

// seriesName returns a name that Java sweeps no more, and whose keys are deleted when the test ends.
func (w *world) seriesName(t *testing.T, as string) string {
	t.Helper()
	name := w.bucketName(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = w.java.TimeSeries(name, name, as).Destroy(ctx)
		w.forgetSeries(ctx, t, name)
	})
	return name
}

// forgetSeries deletes the keys of a series.
func (w *world) forgetSeries(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	for _, key := range append(keys.Series(name), keys.SweepLatch(name)) {
		w.del(ctx, t, key)
	}
}

func (w *world) sharedSeries(t *testing.T, f codec.Family, as string) *sharedSeries {
	t.Helper()
	name := w.seriesName(t, as)
	return &sharedSeries{w, t, within(t), name, timeseries.New[string](w.client(t), name, timeseries.WithCodec(f)), w.java.TimeSeries(name, name, as)}
}

// sample is an entry of both sides.
func sample(at int64, v, label string) peer.SeriesEntry {
	e := peer.SeriesEntry{Time: at, Value: peer.String(v)}
	if label != "" {
		e.Label = peer.String(label)
	}
	return e
}

func samplesOf(t *testing.T, all []timeseries.Entry[string], err error) (found []peer.SeriesEntry) {
	t.Helper()
	require.NoError(t, err)
	for _, e := range all {
		found = append(found, sample(e.Time.UnixMilli(), e.Value, e.Label))
	}
	return found
}

func walkedSamples(t *testing.T, s *timeseries.Series[string], ctx context.Context, opts ...timeseries.RangeOption) (found []peer.SeriesEntry) {
	t.Helper()
	for e, err := range s.Range(ctx, time.UnixMilli(-1000), time.UnixMilli(5000), opts...) {
		require.NoError(t, err)
		found = append(found, sample(e.Time.UnixMilli(), e.Value, e.Label))
	}
	return found
}

// has is what both sides see.
func (s *sharedSeries) has(want ...peer.SeriesEntry) {
	s.t.Helper()
	require.Equal(s.t, want, walkedSamples(s.t, s.mine, s.ctx))
	theirs, err := s.theirs.EntryRange(s.ctx, -1000, 5000)
	require.NoError(s.t, err)
	require.Equal(s.t, want, theirs)
	data, err := s.theirs.RangeReversed(s.ctx, -1000, 5000)
	require.NoError(s.t, err)
	var back []peer.Datum
	for _, e := range walkedSamples(s.t, s.mine, s.ctx, timeseries.WithDescending()) {
		back = append(back, e.Value)
	}
	require.Equal(s.t, len(back), len(data))
	for i := range back {
		require.Equal(s.t, data[i], back[i])
	}
	number(s.t, int64(len(want)))(s.mine.Len(s.ctx))
	number(s.t, int64(len(want)))(s.theirs.Size(s.ctx))
	for _, e := range want {
		entry, err := s.theirs.GetEntry(s.ctx, e.Time)
		require.NoError(s.t, err)
		got, there, err := s.mine.Get(s.ctx, time.UnixMilli(e.Time))
		require.True(s.t, there)
		require.Equal(s.t, entry, samplesOf(s.t, []timeseries.Entry[string]{got}, err))
	}
}

func goWritesASeries(t *testing.T, w *world) {
	s := w.sharedSeries(t, codec.Kryo5, "Kryo5")
	at := time.UnixMilli
	s.has()
	require.NoError(t, s.mine.Add(s.ctx, at(1000), "a"))
	require.NoError(t, s.mine.Add(s.ctx, at(-5), "é", timeseries.WithLabel("lab")))
	require.NoError(t, s.mine.Add(s.ctx, at(3000), "c", timeseries.WithTTL(time.Hour)))
	require.NoError(t, s.mine.Add(s.ctx, at(2500), "over", timeseries.WithTTL(time.Millisecond)))
	number(t, 2)(s.mine.AddMany(s.ctx, []timeseries.Entry[string]{{Time: at(2000), Value: "x", Label: "1"}, {Time: at(4000), Value: "y"}}, timeseries.WithLabel("2")))
	distinctTime(s.ctx, t)
	s.has(sample(-5, "é", "lab"), sample(1000, "a", ""), sample(2000, "x", "1"), sample(3000, "c", ""), sample(4000, "y", "2"))
	did(t, true)(s.theirs.Remove(s.ctx, 2000))
	did(t, false)(s.mine.Remove(s.ctx, at(2000)))
	did(t, true)(s.mine.Remove(s.ctx, at(1000)))
	s.has(sample(-5, "é", "lab"), sample(3000, "c", ""), sample(4000, "y", "2"))
	got, there, err := s.mine.Take(s.ctx, at(-5))
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, "lab", got.Label)
	number(t, 1)(s.theirs.RemoveRange(s.ctx, 3500, 9000))
	s.has(sample(3000, "c", ""))
	did(t, true)(s.mine.Expire(s.ctx, time.Hour))
	renamed := "other:{" + s.name + "}"
	t.Cleanup(func() { w.forgetSeries(context.Background(), t, renamed) })
	did(t, true)(s.mine.Rename(s.ctx, renamed))
	data, err := w.java.TimeSeries(s.name, renamed, "Kryo5").Range(s.ctx, 0, 5000)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("c")}, data)
	require.NoError(t, w.java.TimeSeries(s.name, renamed, "Kryo5").Destroy(s.ctx))
	s.has()
}

func javaWritesASeries(t *testing.T, w *world) {
	s := w.sharedSeries(t, codec.Kryo5, "Kryo5")
	at := time.UnixMilli
	require.NoError(t, s.theirs.Add(s.ctx, sample(1000, "a", "")))
	require.NoError(t, s.theirs.Add(s.ctx, sample(-5, "é", "lab")))
	require.NoError(t, s.theirs.Add(s.ctx, sample(3000, "c", ""), time.Hour))
	require.NoError(t, s.theirs.Add(s.ctx, sample(2000, "b", "l"), time.Hour))
	require.NoError(t, s.theirs.Add(s.ctx, sample(2500, "over", ""), time.Millisecond))
	distinctTime(s.ctx, t)
	all := []peer.SeriesEntry{sample(-5, "é", "lab"), sample(1000, "a", ""), sample(2000, "b", "l"), sample(3000, "c", "")}
	s.has(all...)
	first, err := s.mine.First(s.ctx, 2)
	require.Equal(t, all[:2], samplesOf(t, first, err))
	back, err := s.mine.Last(s.ctx, 1)
	require.Equal(t, all[3:], samplesOf(t, back, err))
	popped, err := s.mine.PopFirst(s.ctx, 1)
	require.Equal(t, all[:1], samplesOf(t, popped, err))
	popped, err = s.mine.PopLast(s.ctx, 1)
	require.Equal(t, all[3:], samplesOf(t, popped, err))
	s.has(all[1], all[2])
	value, err := s.theirs.GetAndRemove(s.ctx, 1000)
	require.NoError(t, err)
	require.Equal(t, peer.String("a"), value)
	number(t, 1)(s.mine.RemoveRange(s.ctx, at(1500), at(2000)))
	s.has()
	require.NoError(t, s.theirs.Add(s.ctx, sample(1000, "a", "")))
	did(t, true)(s.theirs.Expire(s.ctx, time.Hour))
	left, err := s.mine.Remaining(s.ctx)
	require.NoError(t, err)
	require.InDelta(t, time.Hour, left, float64(time.Minute))
	renamed := "other:{" + s.name + "}"
	t.Cleanup(func() { w.forgetSeries(context.Background(), t, renamed) })
	require.NoError(t, s.theirs.Rename(s.ctx, renamed))
	other := timeseries.New[string](w.client(t), renamed, timeseries.WithCodec(codec.Kryo5))
	require.Equal(t, []peer.SeriesEntry{sample(1000, "a", "")}, walkedSamples(t, other, s.ctx))
	did(t, true)(other.Delete(s.ctx))
	did(t, false)(s.theirs.Delete(s.ctx))
}

// seriesValue has a value as Go writes it and as Java does, of a codec.
type seriesValue struct {
	name  string
	value peer.Datum
	open  func(w *world, t *testing.T, name string) (add func(ctx context.Context) error, same func(ctx context.Context) (bool, error))
}

func valueIn[T any](codecName string, f codec.Family, v T, d peer.Datum, same func(a, b T) bool) seriesValue {
	return seriesValue{codecName, d, func(w *world, t *testing.T, name string) (func(context.Context) error, func(context.Context) (bool, error)) {
		s := timeseries.New[T](w.client(t), name, timeseries.WithCodec(codec.Text), timeseries.WithValueCodec(codec.For[T](f)))
		return func(ctx context.Context) error { return s.Add(ctx, time.UnixMilli(7), v) }, func(ctx context.Context) (bool, error) {
			got, there, err := s.Get(ctx, time.UnixMilli(7))
			return there && same(got.Value, v), err
		}
	}}
}

func alike[T comparable](a, b T) bool { return a == b }

var seriesValues = []seriesValue{
	valueIn("String", codec.Text, "é", peer.String("é"), alike),
	valueIn("Long", codec.Text, int64(1<<60), peer.Long(1<<60), alike),
	valueIn("ByteArray", codec.Bytes, []byte{0, 255}, peer.Bytes([]byte{0, 255}), slices.Equal),
	valueIn("MsgPackJackson", codec.Msgpack, "a", peer.String("a"), alike),
	valueIn("Double", codec.Text, 21.5, peer.Double(21.5), alike),
}

func goWritesSeriesValues(t *testing.T, w *world) {
	for _, v := range seriesValues {
		ctx, name := within(t), w.seriesName(t, v.name)
		add, _ := v.open(w, t, name)
		require.NoError(t, add(ctx), v.name)
		theirs := w.java.TimeSeries(name, name, v.name)
		got, err := theirs.Get(ctx, 7)
		require.NoError(t, err, v.name)
		require.Equal(t, v.value, got, v.name)
		data, err := theirs.Range(ctx, 0, 9)
		require.NoError(t, err, v.name)
		require.Equal(t, []peer.Datum{v.value}, data, v.name)
	}
}

func javaWritesSeriesValues(t *testing.T, w *world) {
	for _, v := range seriesValues {
		ctx, name := within(t), w.seriesName(t, v.name)
		require.NoError(t, w.java.TimeSeries(name, name, v.name).Add(ctx, peer.SeriesEntry{Time: 7, Value: v.value}), v.name)
		_, same := v.open(w, t, name)
		answers(t, true)(same(ctx))
	}
}

// goGoesByTime where Redisson's first, last and poll go by when entries expire. What Go adds comes after what Java has added, also for Java.
func goGoesByTime(t *testing.T, w *world) {
	s := w.sharedSeries(t, codec.Text, "String")
	require.NoError(t, s.theirs.Add(s.ctx, sample(1000, "first", "")))
	require.NoError(t, s.mine.Add(s.ctx, time.UnixMilli(500), "earlier"))
	require.NoError(t, s.theirs.Add(s.ctx, sample(2000, "brief", "l"), time.Hour))
	require.NoError(t, s.mine.Add(s.ctx, time.UnixMilli(700), "last added"))
	data, err := s.theirs.First(s.ctx, 9)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("brief"), peer.String("first"), peer.String("earlier"), peer.String("last added")}, data, "by their ends, and then as they were added")
	first, err := s.mine.First(s.ctx, 9)
	require.Equal(t, []peer.SeriesEntry{sample(500, "earlier", ""), sample(700, "last added", ""), sample(1000, "first", ""), sample(2000, "brief", "l")}, samplesOf(t, first, err))
	data, err = s.theirs.Last(s.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("earlier"), peer.String("last added")}, data)
	_, err = s.theirs.EntryRange(s.ctx, 0, 5000)
	require.Error(t, err, "with StringCodec")
	popped, err := s.mine.PopLast(s.ctx, 1)
	require.Equal(t, []peer.SeriesEntry{sample(2000, "brief", "l")}, samplesOf(t, popped, err))
	data, err = s.theirs.PollFirst(s.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("first")}, data)
	data, err = s.theirs.PollLast(s.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("last added")}, data)
	popped, err = s.mine.PopFirst(s.ctx, 9)
	require.Equal(t, []peer.SeriesEntry{sample(500, "earlier", "")}, samplesOf(t, popped, err))
}

// bothSweepASeries: what either side adds goes, whoever sweeps it, and nothing else does.
func bothSweepASeries(t *testing.T, w *world) {
	s := w.sharedSeries(t, codec.Kryo5, "Kryo5")
	require.NoError(t, s.mine.Add(s.ctx, time.UnixMilli(1), "ever"))
	require.NoError(t, s.theirs.Add(s.ctx, sample(2, "hour", ""), time.Hour))
	for i := range 60 {
		ttl := time.Duration(1+i*20) * time.Millisecond
		if i%2 == 0 {
			require.NoError(t, s.mine.Add(s.ctx, time.UnixMilli(int64(10+i)), "mine", timeseries.WithTTL(ttl)))
		} else {
			require.NoError(t, s.theirs.Add(s.ctx, sample(int64(10+i), "theirs", ""), ttl))
		}
	}
	for _, key := range keys.Series(s.name)[:2] {
		eventually(s.ctx, t, "all that has expired is gone", func() bool {
			n, err := w.redis.Do(s.ctx, w.redis.B().Zcard().Key(key).Build()).AsInt64()
			require.NoError(t, err)
			return n == 2
		})
	}
	s.has(sample(1, "ever", ""), sample(2, "hour", ""))
}
