package timeseries_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/timeseries"
)

// exampleClient returns a client of the Redis or Valkey that a program has.
func exampleClient() (c *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	if c, err = rueidisson.New(s.ClientOption()); err != nil {
		panic(err)
	}
	return c, func() {
		c.Close(context.Background())
		s.Close()
	}
}

// noon is a time of the examples.
var noon = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	temperatures := timeseries.New[float64](c, "temperatures")
	for i, v := range []float64{18, 19.5, 21, 20} {
		if err := temperatures.Add(ctx, noon.Add(time.Duration(i)*time.Minute), v, timeseries.WithLabel("roof")); err != nil {
			panic(err)
		}
	}
	for e, err := range temperatures.Range(ctx, noon.Add(time.Minute), noon.Add(2*time.Minute)) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Time.UTC().Format(time.TimeOnly), e.Value, e.Label)
	}
	fmt.Println(temperatures.RemoveRange(ctx, timeseries.Earliest, noon.Add(time.Minute)))
	fmt.Println(temperatures.Len(ctx))
	// Output:
	// 12:01:00 19.5 roof
	// 12:02:00 21 roof
	// 2 <nil>
	// 2 <nil>
}

// The last entries come the last one first.
func ExampleSeries_Last() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	visits := timeseries.New[string](c, "visits", timeseries.WithTTL(30*24*time.Hour))
	for i, page := range []string{"/", "/cart", "/pay"} {
		if err := visits.Add(ctx, noon.Add(time.Duration(i)*time.Second), page); err != nil {
			panic(err)
		}
	}
	all, err := visits.Last(ctx, 2)
	if err != nil {
		panic(err)
	}
	for _, e := range all {
		fmt.Println(e.Time.UTC().Format(time.TimeOnly), e.Value)
	}
	// Output:
	// 12:00:02 /pay
	// 12:00:01 /cart
}

// A time that no entry can have is refused, and an entry that another codec wrote is told from the others.
func ExampleSeries_Get() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	names := timeseries.New[string](c, "names")
	if err := names.Add(ctx, noon, "ann"); err != nil {
		panic(err)
	}
	e, there, err := names.Get(ctx, noon)
	fmt.Println(e.Value, there, err)
	_, there, err = names.Get(ctx, noon.Add(time.Millisecond))
	fmt.Println(there, err)

	_, _, err = timeseries.New[int](c, "names").Get(ctx, noon)
	fmt.Println(errors.Is(err, timeseries.ErrDecode))
	err = names.Add(ctx, time.Unix(1<<50, 0), "bob")
	fmt.Println(errors.Is(err, timeseries.ErrInvalidArgument))
	// Output:
	// ann true <nil>
	// false <nil>
	// true
	// true
}
