package bench

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/sortedset"
)

// placeRows: one set of 10,000 places on a square of 2 by 2 degrees.
var placeRows = []row{
	{"places, Add, 1 goroutine, by GEOADD", "us/call", goal{atMost: 1.05}, besideScript("places add", "geoadd", 1, microseconds)},
	{"places, Position, 1 goroutine, by GEOPOS", "us/call", goal{}, besideScript("places position", "geopos", 1, microseconds)},
	{"places, the 10 nearest within 20 km, 1 goroutine, by GEOSEARCH", "us/call", goal{}, besideScript("places nearest", "geosearch", 1, microseconds)},
	{"places, all within 10 km, 1 goroutine, by GEOSEARCH", "us/call", goal{}, besideScript("places within", "geosearch all", 1, microseconds)},
}

func init() {
	ours := func(of func(g *sortedset.Geo[string]) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
			return placesImpl{c, of}, err
		}
	}
	bare := func(of func(c rueidis.Client, name string) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return barePlaces{c, of}, err
		}
	}
	impls["places add"] = ours(func(g *sortedset.Geo[string]) call {
		return func(ctx context.Context, i int) error {
			_, err := g.Add(ctx, position(i), placeName(i))
			return err
		}
	})
	impls["places position"] = ours(func(g *sortedset.Geo[string]) call {
		return func(ctx context.Context, i int) error {
			_, _, err := g.Position(ctx, placeName(i))
			return err
		}
	})
	within := func(radius sortedset.Distance, opts ...sortedset.WithinOption) func(g *sortedset.Geo[string]) call {
		return func(g *sortedset.Geo[string]) call {
			return func(ctx context.Context, i int) error {
				for _, err := range g.Within(ctx, position(i), sortedset.Radius(radius), opts...) {
					if err != nil {
						return err
					}
				}
				return nil
			}
		}
	}
	impls["places nearest"] = ours(within(20*sortedset.Kilometre, sortedset.WithLimit(10)))
	impls["places within"] = ours(within(10 * sortedset.Kilometre))
	impls["geoadd"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			at := position(i)
			return c.Do(ctx, c.B().Geoadd().Key(name).LongitudeLatitudeMember().LongitudeLatitudeMember(at.Longitude, at.Latitude, placeName(i)).Build()).Error()
		}
	})
	impls["geopos"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return c.Do(ctx, c.B().Geopos().Key(name).Member(placeName(i)).Build()).Error()
		}
	})
	search := func(words ...string) func(c rueidis.Client, name string) call {
		return func(c rueidis.Client, name string) call {
			return func(ctx context.Context, i int) error {
				at := position(i)
				text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
				args := append([]string{"FROMLONLAT", text(at.Longitude), text(at.Latitude), "BYRADIUS"}, words...)
				_, err := c.Do(ctx, c.B().Arbitrary("GEOSEARCH").Keys(name).Args(args...).Build()).AsGeosearch()
				return err
			}
		}
	}
	impls["geosearch"] = bare(search("20", "km", "ASC", "COUNT", "10", "WITHCOORD", "WITHDIST"))
	impls["geosearch all"] = bare(search("10", "km", "ASC", "WITHCOORD", "WITHDIST"))
}

const places = 10_000

func placeName(i int) string { return "place" + strconv.Itoa(i%places) }

// position returns where the i-th place is.
func position(i int) sortedset.Position {
	i %= places
	return sortedset.Position{Longitude: 7 + float64(i%100)/50, Latitude: 47 + float64(i/100)/50}
}

type placesImpl struct {
	c  *rueidisson.Client
	of func(g *sortedset.Geo[string]) call
}

func (i placesImpl) locker(name string) locker {
	g, all := sortedset.NewGeo[string](i.c, "places:"+name), make([]sortedset.Place[string], places)
	for n := range all {
		all[n] = sortedset.Place[string]{Value: placeName(n), Position: position(n)}
	}
	if _, err := g.AddMany(context.Background(), all...); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return i.of(g).locker()
}

func (i placesImpl) close() { _ = i.c.Close(context.Background()) }

type barePlaces struct {
	c  rueidis.Client
	of func(c rueidis.Client, name string) call
}

func (i barePlaces) locker(name string) locker {
	name = "bare-places:" + name
	all := i.c.B().Geoadd().Key(name).LongitudeLatitudeMember()
	for n := range places {
		at := position(n)
		all = all.LongitudeLatitudeMember(at.Longitude, at.Latitude, placeName(n))
	}
	if err := i.c.Do(context.Background(), all.Build()).Error(); err != nil {
		return func(context.Context) (unlock, error) { return nil, fmt.Errorf("places: %w", err) }
	}
	return i.of(i.c, name).locker()
}

func (i barePlaces) close() { i.c.Close() }
