package bench

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/timeseries"
)

// seriesRows: entries of a few bytes, which end in an hour. The floor is a script that writes what has to be there: the entry, and when it
// ends.
var seriesRows = []row{
	{"time series, Add, 1 goroutine, by two ZADDs of a script", "us/call", goal{}, besideScript("series add", "series floor", 1, microseconds)},
	{"time series, Add, 64 goroutines, by two ZADDs of a script", "calls/s", goal{}, besideScript("series add", "series floor", 64, asIs)},
	{"time series, the last 10, 1 goroutine, by ZREVRANGE", "us/call", goal{}, besideScript("series last", "series zrevrange", 1, microseconds)},
}

// KEYS[1] entries; KEYS[2] their ends; ARGV[1] time; ARGV[2] entry; ARGV[3] end.
var seriesFloor = rueidis.NewLuaScript(`
redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])
return redis.call('zadd', KEYS[2], ARGV[3], ARGV[2])`)

func init() {
	ours := func(of func(s *timeseries.Series[string]) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
			return seriesImpl{c, of}, err
		}
	}
	impls["series add"] = ours(func(s *timeseries.Series[string]) call {
		return func(ctx context.Context, i int) error {
			return s.Add(ctx, moment(i), member(i), timeseries.WithTTL(time.Hour))
		}
	})
	impls["series last"] = ours(func(s *timeseries.Series[string]) call {
		return func(ctx context.Context, i int) error {
			_, err := s.Last(ctx, 10)
			return err
		}
	})
	floor := func(of func(c rueidis.Client, name string) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return bareSeries{c, of}, err
		}
	}
	impls["series floor"] = floor(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error { return addToSeries(ctx, c, name, i) }
	})
	impls["series zrevrange"] = floor(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			_, err := c.Do(ctx, c.B().Zrevrange().Key(name).Start(0).Stop(9).Withscores().Build()).AsZScores()
			return err
		}
	})
}

// moment returns the time of the i-th entry.
func moment(i int) time.Time { return time.UnixMilli(int64(1_700_000_000_000 + i)) }

func addToSeries(ctx context.Context, c rueidis.Client, name string, i int) error {
	at := strconv.FormatInt(moment(i).UnixMilli(), 10)
	end := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
	return seriesFloor.Exec(ctx, c, []string{name, name + ":ends"}, []string{at, member(i) + at, end}).Error()
}

// seriesFilled counts the entries that a series has at first.
const seriesFilled = 1000

type seriesImpl struct {
	c  *rueidisson.Client
	of func(s *timeseries.Series[string]) call
}

func (i seriesImpl) locker(name string) locker {
	s, all := timeseries.New[string](i.c, "series:"+name), make([]timeseries.Entry[string], seriesFilled)
	for n := range all {
		all[n] = timeseries.Entry[string]{Time: moment(n), Value: member(n)}
	}
	if _, err := s.AddMany(context.Background(), all, timeseries.WithTTL(time.Hour)); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return i.of(s).locker()
}

func (i seriesImpl) close() { _ = i.c.Close(context.Background()) }

type bareSeries struct {
	c  rueidis.Client
	of func(c rueidis.Client, name string) call
}

func (i bareSeries) locker(name string) locker {
	name = "bare-series:" + name
	for n := range seriesFilled {
		if err := addToSeries(context.Background(), i.c, name, n); err != nil {
			return func(context.Context) (unlock, error) { return nil, err }
		}
	}
	return i.of(i.c, name).locker()
}

func (i bareSeries) close() { i.c.Close() }
