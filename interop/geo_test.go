//go:build interop

package interop

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/sortedset"
)

var geoProofs = []proof{
	{row: "set_of_places/operations/go-java", test: goWritesPlaces},
	{row: "set_of_places/operations/java-go", test: javaWritesPlaces},
	{row: "set_of_places/codecs/both", test: bothWritePlaces},
}

// sharedGeo is a set of places as both sides see it.
type sharedGeo struct {
	*world
	t      *testing.T
	ctx    context.Context
	mine   *sortedset.Geo[string]
	theirs peer.Geo
}

func (w *world) sharedGeo(t *testing.T, name string) *sharedGeo {
	t.Helper()
	t.Cleanup(func() { w.del(context.Background(), t, name) })
	return &sharedGeo{w, t, within(t), sortedset.NewGeo[string](w.client(t), name, sortedset.WithCodec(codec.Text)), w.java.Geo(name, name, "String")}
}

// same compares what both sides say of a member.
func (g *sharedGeo) same(member string) {
	g.t.Helper()
	at, there, err := g.mine.Position(g.ctx, member)
	require.NoError(g.t, err)
	theirs, err := g.theirs.Pos(g.ctx, peer.String(member))
	require.NoError(g.t, err)
	require.Equal(g.t, there, len(theirs) == 2)
	if !there {
		return
	}
	for i, want := range []float64{at.Longitude, at.Latitude} {
		got, err := strconv.ParseFloat(theirs[i].Text, 64)
		require.NoError(g.t, err)
		require.InDelta(g.t, want, got, 1e-13)
	}
	hash, _, err := g.mine.Hash(g.ctx, member)
	require.NoError(g.t, err)
	their, err := g.theirs.Hash(g.ctx, peer.String(member))
	require.NoError(g.t, err)
	require.Equal(g.t, hash, their)
}

// sees compares what both sides find around a position: members and distances, the nearest first.
func (g *sharedGeo) sees(center sortedset.Position, metres float64, want string) {
	g.t.Helper()
	theirs, err := g.theirs.Circle(g.ctx, center.Longitude, center.Latitude, metres)
	require.NoError(g.t, err)
	require.Equal(g.t, want, g.names(theirs, g.mine.Within(g.ctx, center, sortedset.Radius(sortedset.Distance(metres)))))
	theirs, err = g.theirs.Box(g.ctx, center.Longitude, center.Latitude, 2*metres, metres)
	require.NoError(g.t, err)
	g.names(theirs, g.mine.Within(g.ctx, center, sortedset.Box(sortedset.Distance(2*metres), sortedset.Distance(metres)), sortedset.WithDescending()))
}

// names returns what both sides have found.
func (g *sharedGeo) names(theirs []peer.Datum, mine func(func(sortedset.Near[string], error) bool)) string {
	g.t.Helper()
	var names []string
	for n, err := range mine {
		require.NoError(g.t, err)
		i := 2 * len(names)
		require.Greater(g.t, len(theirs), i)
		require.Equal(g.t, n.Value, theirs[i].Text)
		away, err := strconv.ParseFloat(theirs[i+1].Text, 64)
		require.NoError(g.t, err)
		require.InDelta(g.t, away, float64(n.Distance), 0.0002)
		names = append(names, n.Value)
	}
	require.Len(g.t, theirs, 2*len(names))
	return strings.Join(names, " ")
}

var (
	berlin  = sortedset.Position{Longitude: 13.405, Latitude: 52.52}
	potsdam = sortedset.Position{Longitude: 13.06, Latitude: 52.4}
	hamburg = sortedset.Position{Longitude: 9.99, Latitude: 53.55}
	fiji    = sortedset.Position{Longitude: 180, Latitude: -16.5}
)

func goWritesPlaces(t *testing.T, w *world) {
	g := w.sharedGeo(t, "{"+w.bucketName(t)+"}")
	into := w.sharedGeo(t, g.mine.Name()+"into")
	did(t, true)(g.mine.Add(g.ctx, hamburg, "é\n"))
	did(t, false)(g.mine.AddIfAbsent(g.ctx, berlin, "é\n"))
	did(t, true)(g.mine.AddIfAbsent(g.ctx, berlin, "berlin"))
	did(t, false)(g.mine.AddIfExists(g.ctx, berlin, "x"))
	number(t, 2)(g.mine.AddMany(g.ctx, sortedset.Place[string]{Value: "potsdam", Position: hamburg}, sortedset.Place[string]{Value: "fiji", Position: fiji}))
	did(t, true)(g.mine.AddIfExists(g.ctx, potsdam, "potsdam"))
	for _, member := range []string{"é\n", "berlin", "potsdam", "fiji", "x"} {
		g.same(member)
	}
	number(t, 0)(g.theirs.Add(g.ctx, berlin.Longitude, berlin.Latitude, peer.String("berlin")))
	did(t, false)(g.mine.AddIfExists(g.ctx, berlin, "berlin")) // the same score
	g.sees(berlin, 100_000, "berlin potsdam")
	g.sees(sortedset.Position{Longitude: -179.99, Latitude: -16.5}, 10_000, "fiji")
	number(t, 2)(g.mine.WithinOfInto(g.ctx, into.mine.Name(), "berlin", sortedset.Radius(50*sortedset.Kilometre)))
	into.sees(berlin, 100_000, "berlin potsdam")
	number(t, 1)(g.mine.WithinInto(g.ctx, into.mine.Name(), hamburg, sortedset.Radius(sortedset.Mile), sortedset.WithDistances()))
	score, err := w.java.ScoredSet(t.Name(), into.mine.Name(), "String").Score(g.ctx, peer.String("é\n"))
	require.NoError(t, err)
	require.Less(t, score, "0.4")
	number(t, 1)(g.mine.Remove(g.ctx, "berlin", "x"))
	g.same("berlin")
}

func javaWritesPlaces(t *testing.T, w *world) {
	g := w.sharedGeo(t, "{"+w.bucketName(t)+"}")
	into := w.sharedGeo(t, g.mine.Name()+"into")
	text := peer.String
	number(t, 1)(g.theirs.Add(g.ctx, hamburg.Longitude, hamburg.Latitude, text("é\n")))
	did(t, false)(g.theirs.AddIf(g.ctx, "tryAdd", 1, 1, text("é\n")))
	did(t, true)(g.theirs.AddIf(g.ctx, "tryAdd", 1, 1, text("berlin")))
	did(t, true)(g.theirs.AddIf(g.ctx, "addIfExists", berlin.Longitude, berlin.Latitude, text("berlin")))
	number(t, 1)(g.theirs.Add(g.ctx, potsdam.Longitude, potsdam.Latitude, text("potsdam")))
	for _, member := range []string{"é\n", "berlin", "potsdam", "x"} {
		g.same(member)
	}
	did(t, false)(g.mine.Add(g.ctx, potsdam, "potsdam"))
	g.sees(berlin, 300_000, "berlin potsdam é\n")
	away, there, err := g.mine.Distance(g.ctx, "berlin", "é\n")
	require.NoError(t, err)
	require.True(t, there)
	metres, err := g.theirs.Dist(g.ctx, text("berlin"), text("é\n"))
	require.NoError(t, err)
	theirs, err := strconv.ParseFloat(metres, 64)
	require.NoError(t, err)
	require.InDelta(t, theirs, float64(away), 0.0002)
	nearest, err := g.theirs.Nearest(g.ctx, text("potsdam"), 1e6, 2)
	require.NoError(t, err)
	var mine []peer.Datum
	for n, err := range g.mine.WithinOf(g.ctx, "potsdam", sortedset.Radius(1000*sortedset.Kilometre), sortedset.WithLimit(2)) {
		require.NoError(t, err)
		mine = append(mine, text(n.Value))
	}
	require.Equal(t, nearest, mine)
	number(t, 2)(g.theirs.StoreSearch(g.ctx, "storeSearchTo", into.mine.Name(), text("berlin"), 50_000))
	into.sees(berlin, 100_000, "berlin potsdam")
	number(t, 3)(g.theirs.StoreSearch(g.ctx, "storeSortedSearchTo", into.mine.Name(), text("berlin"), 1e6))
	score, there, err := sortedset.New[string](w.client(t), into.mine.Name(), sortedset.WithCodec(codec.Text)).Score(g.ctx, "é\n")
	require.NoError(t, err)
	require.True(t, there)
	require.InDelta(t, theirs, score, 0.0002)
	did(t, true)(g.theirs.Remove(g.ctx, text("berlin")))
	_, there, err = g.mine.Position(g.ctx, "berlin")
	require.NoError(t, err)
	require.False(t, there)
}

// bothWritePlaces: a member of another codec is the same member for both.
func bothWritePlaces(t *testing.T, w *world) {
	c, ctx := w.client(t), within(t)
	name := w.bucketName(t)
	longs, theirs := sortedset.NewGeo[int64](c, name), w.java.Geo(name, name, "Long")
	number(t, 1)(theirs.Add(ctx, 1, 2, peer.Long(-42)))
	did(t, false)(longs.Add(ctx, sortedset.Position{Longitude: 3, Latitude: 4}, -42))
	at, err := theirs.Pos(ctx, peer.Long(-42))
	require.NoError(t, err)
	longitude, err := strconv.ParseFloat(at[0].Text, 64)
	require.NoError(t, err)
	require.InDelta(t, 3, longitude, 1e-5)
	other := w.bucketName(t)
	points, java := sortedset.NewGeo[point](c, other, sortedset.WithCodec(codec.JSON)), w.java.Geo(other, other, "TypedJson:rueidisson.interop.Point")
	did(t, true)(points.Add(ctx, berlin, point{1, 2}))
	number(t, 0)(java.Add(ctx, 5, 6, peer.Datum{Class: "Point", Text: `{"x":1,"y":2}`}))
	for p, err := range points.All(ctx) {
		require.NoError(t, err)
		require.Equal(t, point{1, 2}, p.Value)
		require.InDelta(t, 5, p.Position.Longitude, 1e-5)
	}
	number(t, 1)(points.Len(ctx))
}
