package sortedset_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/sortedset"
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

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	scores := sortedset.New[string](c, "scores")
	_, err := scores.AddMany(ctx, sortedset.Entry[string]{Value: "ann", Score: 7}, sortedset.Entry[string]{Value: "bob", Score: 5})
	fmt.Println(err)
	fmt.Println(scores.AddScore(ctx, 3, "bob"))
	for e, err := range scores.Range(ctx, 0, 9, sortedset.WithDescending()) {
		fmt.Println(e.Value, e.Score, err)
	}
	_, err = scores.Add(ctx, math.Inf(1), "eve")
	fmt.Println(err, errors.Is(err, sortedset.ErrInvalidArgument))
	// Output:
	// <nil>
	// 8 <nil>
	// bob 8 <nil>
	// ann 7 <nil>
	// add to sorted set "scores": invalid argument: score +Inf true
}

func ExampleSet_AddScore() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	scores := sortedset.New[string](c, "scores")
	now, err := scores.AddScore(ctx, 3, "ann")
	switch {
	case errors.Is(err, sortedset.ErrOutcomeUnknown):
		now, _, err = scores.Score(ctx, "ann") // it may have been added: look, and decide
	case err != nil:
		fmt.Println(err)
	}
	fmt.Println(now, err)
	// Output: 3 <nil>
}

func ExampleSet_ByScore() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	prices := sortedset.New[string](c, "prices")
	for name, price := range map[string]float64{"tea": 3.5, "coffee": 4, "cake": 6} {
		if _, err := prices.Add(ctx, price, name); err != nil {
			fmt.Println(err)
		}
	}
	for e, err := range prices.ByScore(ctx, sortedset.Between(3, 5), sortedset.WithLimit(10)) {
		fmt.Println(e, err)
	}
	fmt.Println(prices.Count(ctx, sortedset.AtLeast(5)))
	// Output:
	// {tea 3.5} <nil>
	// {coffee 4} <nil>
	// 1 <nil>
}

func ExampleSet_PopMin() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	due := sortedset.New[int](c, "due")
	if _, err := due.AddMany(ctx, sortedset.Entry[int]{Value: 42, Score: 2}, sortedset.Entry[int]{Value: 43, Score: 1}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(due.PopMin(ctx, 1))
	fmt.Println(due.PopMin(ctx, 10))
	fmt.Println(due.PopMin(ctx, 10))
	// Output:
	// [{43 1}] <nil>
	// [{42 2}] <nil>
	// [] <nil>
}

func ExampleGeo_Within() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	cities := sortedset.NewGeo[string](c, "cities")
	_, err := cities.AddMany(ctx,
		sortedset.Place[string]{Value: "Palermo", Position: sortedset.Position{Longitude: 13.361389, Latitude: 38.115556}},
		sortedset.Place[string]{Value: "Catania", Position: sortedset.Position{Longitude: 15.087269, Latitude: 37.502669}},
	)
	fmt.Println(err)
	here := sortedset.Position{Longitude: 15, Latitude: 37}
	for city, err := range cities.Within(ctx, here, sortedset.Radius(200*sortedset.Kilometre)) {
		fmt.Printf("%s %.1f km %v\n", city.Value, city.Distance/sortedset.Kilometre, err)
	}
	fmt.Println(cities.Hash(ctx, "Palermo"))
	for _, err := range cities.WithinOf(ctx, "Rome", sortedset.Radius(sortedset.Kilometre)) {
		fmt.Println(err, errors.Is(err, sortedset.ErrNotFound))
	}
	_, err = cities.Add(ctx, sortedset.Position{Longitude: 13, Latitude: 90}, "pole")
	fmt.Println(errors.Is(err, sortedset.ErrInvalidArgument))
	// Output:
	// <nil>
	// Catania 56.4 km <nil>
	// Palermo 190.4 km <nil>
	// sqc8b49rny0 true <nil>
	// search set of places "cities": no such member true
	// true
}
