package guide

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/sortedset"
)

// points is the leaderboard of a game.
func points(c *rueidisson.Client, game string) *sortedset.Set[string] {
	return sortedset.New[string](c, "points:"+game)
}

// win gives a player points, and returns the place, from 1, and the points.
func win(ctx context.Context, c *rueidisson.Client, game, player string, n float64) (place int64, total float64, err error) {
	total, err = points(c, game).AddScore(ctx, n, player)
	if err != nil {
		return 0, 0, err
	}
	rank, _, err := points(c, game).RevRank(ctx, player)
	return rank + 1, total, err
}

// best returns the n players with most points.
func best(ctx context.Context, c *rueidisson.Client, game string, n int64) (all []string, err error) {
	for e, err := range points(c, game).Range(ctx, 0, n-1, sortedset.WithDescending()) {
		if err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%s: %v", e.Value, e.Score))
	}
	return all, nil
}

// relegate removes all players who have less than least points.
func relegate(ctx context.Context, c *rueidisson.Client, game string, least float64) (int64, error) {
	below := sortedset.AtMost(least)
	below.Below = true // without least itself
	return points(c, game).RemoveByScore(ctx, below)
}

func Example_sortedSets() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	fmt.Println(win(ctx, c, "chess", "ann", 3))
	fmt.Println(win(ctx, c, "chess", "bob", 5))
	fmt.Println(win(ctx, c, "chess", "ann", 3))
	fmt.Println(win(ctx, c, "chess", "eve", 1))
	fmt.Println(best(ctx, c, "chess", 2))
	fmt.Println(relegate(ctx, c, "chess", 5))
	// Output:
	// 1 3 <nil>
	// 1 5 <nil>
	// 1 6 <nil>
	// 3 1 <nil>
	// [ann: 6 bob: 5] <nil>
	// 1 <nil>
}

// nearest returns the three open shops that are nearest to a customer, within 5 km, and how far away they are.
func nearest(ctx context.Context, c *rueidisson.Client, customer sortedset.Position) (all []string, err error) {
	shops := sortedset.NewGeo[string](c, "open shops")
	for shop, err := range shops.Within(ctx, customer, sortedset.Radius(5*sortedset.Kilometre), sortedset.WithLimit(3)) {
		if err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%s: %.0f m", shop.Value, shop.Distance))
	}
	return all, nil
}

func Example_places() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	shops := sortedset.NewGeo[string](c, "open shops")
	for name, at := range map[string]sortedset.Position{
		"baker": {Longitude: 13.41, Latitude: 52.523}, "butcher": {Longitude: 13.39, Latitude: 52.511},
		"cobbler": {Longitude: 13.5, Latitude: 52.6}, "tailor": {Longitude: 13.06, Latitude: 52.4},
	} {
		if _, err := shops.Add(ctx, at, name); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(nearest(ctx, c, sortedset.Position{Longitude: 13.405, Latitude: 52.522}))
	for _, err := range shops.WithinOf(ctx, "grocer", sortedset.Radius(5*sortedset.Kilometre)) {
		fmt.Println(err)
	}
	// Output:
	// [baker: 356 m butcher: 1590 m] <nil>
	// search set of places "open shops": no such member
}
