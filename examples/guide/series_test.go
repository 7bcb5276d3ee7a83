package guide

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/timeseries"
)

// sensor is the temperatures of a place, which are kept for a day.
func sensor(c *rueidisson.Client, place string) *timeseries.Series[float64] {
	return timeseries.New[float64](c, "temperature:"+place, timeseries.WithTTL(24*time.Hour))
}

// warmest returns the highest temperature from one time through another, and when that was.
func warmest(ctx context.Context, c *rueidisson.Client, place string, from, to time.Time) (most timeseries.Entry[float64], err error) {
	for e, err := range sensor(c, place).Range(ctx, from, to) {
		if err != nil {
			return most, err
		}
		if most.Time.IsZero() || e.Value > most.Value {
			most = e
		}
	}
	return most, nil
}

// latest returns the last n temperatures, the last one first.
func latest(ctx context.Context, c *rueidisson.Client, place string, n int) (all []float64, err error) {
	entries, err := sensor(c, place).Last(ctx, n)
	for _, e := range entries {
		all = append(all, e.Value)
	}
	return all, err
}

// archive takes what was measured before a time, for storage elsewhere.
func archive(ctx context.Context, c *rueidisson.Client, place string, before time.Time) (all []timeseries.Entry[float64], err error) {
	s := sensor(c, place)
	for {
		some, err := s.First(ctx, 1)
		if err != nil || len(some) == 0 || !some[0].Time.Before(before) {
			return all, err
		}
		e, there, err := s.Take(ctx, some[0].Time) // another process may have been faster
		if err != nil {
			return all, err
		}
		if there {
			all = append(all, e)
		}
	}
}

func Example_timeSeries() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	day := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	for hour, v := range map[int]float64{7: 14, 8: 17.5, 10: 21.5, 11: 19} {
		if err := sensor(c, "roof").Add(ctx, day.Add(time.Duration(hour)*time.Hour), v); err != nil {
			panic(err)
		}
	}
	e, err := warmest(ctx, c, "roof", day, day.Add(24*time.Hour))
	fmt.Println(e.Value, "at", e.Time.UTC().Format("15:04"), err)
	fmt.Println(latest(ctx, c, "roof", 2))
	old, err := archive(ctx, c, "roof", day.Add(9*time.Hour))
	fmt.Println(len(old), err)
	fmt.Println(sensor(c, "roof").Len(ctx))
	// Output:
	// 21.5 at 10:00 <nil>
	// [19 21.5] <nil>
	// 2 <nil>
	// 2 <nil>
}
