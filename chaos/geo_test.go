package chaos

import (
	"context"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/sortedset"
)

// center is where the places are: on both sides of the 180th degree.
var center = sortedset.Position{Longitude: 179.99, Latitude: 10}

// putOrRemove puts a number somewhere around the centre, moves it once, or removes the one that is nearest.
func putOrRemove(ctx context.Context, w *worker, _ context.Context, name string) {
	g, v := sortedset.NewGeo[int64](w.c, name), w.fresh(w.r.proc)
	aside := func() sortedset.Position {
		east := center.Longitude + float64(w.rnd.IntN(2000))/1e5
		if east > 180 {
			east -= 360
		}
		return sortedset.Position{Longitude: east, Latitude: center.Latitude + float64(w.rnd.IntN(2000))/1e5}
	}
	switch w.rnd.IntN(5) {
	case 0:
		_ = w.operation(name, "offer", v, func() (int64, error) { return v, happened(g.Add(ctx, aside(), v)) })
	case 1:
		_ = w.operation(name, "offer", v, func() (int64, error) { return v, happened(g.AddIfAbsent(ctx, aside(), v)) })
	case 2: // who moves a number does not put it back that another has removed
		for near, err := range g.Within(ctx, aside(), sortedset.Radius(sortedset.Kilometre), sortedset.WithUnsorted(), sortedset.WithLimit(1)) {
			if err == nil {
				_, _ = g.AddIfExists(ctx, aside(), near.Value)
			}
		}
	default:
		_ = w.operation(name, "poll", 0, func() (int64, error) {
			for near, err := range g.Within(ctx, aside(), sortedset.Radius(10*sortedset.Kilometre), sortedset.WithLimit(1)) {
				if err != nil {
					return 0, errNothing // nothing was removed
				}
				n, err := g.Remove(ctx, near.Value)
				return near.Value, happened(n == 1, err)
			}
			return 0, queue.ErrEmpty
		})
	}
}

// placedOnce judges a set of places as a queue is judged: each number is removed once at most, and is found until then.
func placedOnce(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	_, found, chances = drained(ctx, func(ctx context.Context) (left []int64, err error) {
		g := sortedset.NewGeo[int64](c, name)
		for near, err := range g.Within(ctx, center, sortedset.Radius(10*sortedset.Kilometre)) {
			if err != nil {
				return left, err
			}
			left = append(left, near.Value)
		}
		_, err = g.Remove(ctx, left...)
		return left, err
	}, name, events)
	return found, chances
}
