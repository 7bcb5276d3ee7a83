package peer

import (
	"context"
	"strconv"
	"time"
)

// TimeSeries is an RTimeSeries of Redisson, as one Java thread uses it. Times are in ms.
type TimeSeries struct{ object }

// TimeSeries returns the time series of that name with a codec of its own; see [Peer.Map].
func (p *Peer) TimeSeries(thread, name, codec string) TimeSeries {
	return TimeSeries{p.mapOf("timeseries", thread, name, codec)}
}

// SeriesEntry is an entry of a time series.
type SeriesEntry struct {
	Time         int64
	Value, Label Datum // a label may be null
}

// Add adds an entry, perhaps with a time to live.
func (s TimeSeries) Add(ctx context.Context, e SeriesEntry, ttl ...time.Duration) error {
	return s.void(ctx, "add", withTTL(ttl, e.Time, e.Value, e.Label)...)
}

// Get returns the value of a time, null if there is none.
func (s TimeSeries) Get(ctx context.Context, at int64) (Datum, error) { return s.one(ctx, "get", at) }

// GetAndRemove removes the value of a time, and returns it, null if there is none.
func (s TimeSeries) GetAndRemove(ctx context.Context, at int64) (Datum, error) {
	return s.one(ctx, "getAndRemove", at)
}

// GetEntry returns the entry of a time, if there is one.
func (s TimeSeries) GetEntry(ctx context.Context, at int64) ([]SeriesEntry, error) {
	return s.entries(ctx, "getEntry", at)
}

// EntryRange returns the entries from one time through another.
func (s TimeSeries) EntryRange(ctx context.Context, from, to int64) ([]SeriesEntry, error) {
	return s.entries(ctx, "entryRange", from, to)
}

// Range returns the values from one time through another.
func (s TimeSeries) Range(ctx context.Context, from, to int64) ([]Datum, error) {
	return s.some(ctx, "range", from, to)
}

// RangeReversed returns the values from one time through another, the last one first.
func (s TimeSeries) RangeReversed(ctx context.Context, from, to int64) ([]Datum, error) {
	return s.some(ctx, "rangeReversed", from, to)
}

// First returns n values.
func (s TimeSeries) First(ctx context.Context, n int) ([]Datum, error) {
	return s.some(ctx, "first", n)
}

// Last returns n values.
func (s TimeSeries) Last(ctx context.Context, n int) ([]Datum, error) { return s.some(ctx, "last", n) }

// PollFirst removes n values, and returns them.
func (s TimeSeries) PollFirst(ctx context.Context, n int) ([]Datum, error) {
	return s.some(ctx, "pollFirst", n)
}

// PollLast removes n values, and returns them.
func (s TimeSeries) PollLast(ctx context.Context, n int) ([]Datum, error) {
	return s.some(ctx, "pollLast", n)
}

// Remove removes an entry of a time, and says whether there was one.
func (s TimeSeries) Remove(ctx context.Context, at int64) (bool, error) {
	return s.truth(ctx, "remove", at)
}

// RemoveRange removes the entries from one time through another, and returns how many there were.
func (s TimeSeries) RemoveRange(ctx context.Context, from, to int64) (int64, error) {
	return s.number(ctx, "removeRange", from, to)
}

// Size returns how many entries there are.
func (s TimeSeries) Size(ctx context.Context) (int64, error) { return s.number(ctx, "size") }

// Rename gives the series another name.
func (s TimeSeries) Rename(ctx context.Context, to string) error { return s.void(ctx, "rename", to) }

// Expire gives the whole series a time to live.
func (s TimeSeries) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return s.truth(ctx, "expire", d)
}

// Delete says whether there was such a series.
func (s TimeSeries) Delete(ctx context.Context) (bool, error) { return s.truth(ctx, "delete") }

// Destroy has Java sweep it no more.
func (s TimeSeries) Destroy(ctx context.Context) error { return s.void(ctx, "destroy") }

func (s TimeSeries) one(ctx context.Context, operation string, args ...any) (Datum, error) {
	return s.datum(ctx, operation, args...)
}

func (s TimeSeries) some(ctx context.Context, operation string, args ...any) ([]Datum, error) {
	return ScoredSet(s).list(ctx, operation, args...)
}

func (s TimeSeries) entries(ctx context.Context, operation string, args ...any) (all []SeriesEntry, err error) {
	data, err := s.some(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	for i := 0; i+2 < len(data); i += 3 {
		at, err := strconv.ParseInt(data[i].Text, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, SeriesEntry{at, data[i+1], data[i+2]})
	}
	return all, nil
}
