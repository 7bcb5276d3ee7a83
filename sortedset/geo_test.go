package sortedset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// somewhere returns a position, now and then one of the ends.
func somewhere() Position {
	coordinate := func(most float64) float64 {
		switch rand.IntN(20) {
		case 0:
			return most
		case 1:
			return -most
		case 2:
			return 0
		}
		return (2*rand.Float64() - 1) * most
	}
	return Position{coordinate(180), coordinate(maxLatitude)}
}

// aside returns a position that is about so many metres away at most.
func aside(from Position, metres float64) Position {
	p := Position{
		from.Longitude + degrees((2*rand.Float64()-1)*metres/earthRadius)/math.Cos(radians(from.Latitude)),
		from.Latitude + degrees((2*rand.Float64()-1)*metres/earthRadius),
	}
	p.Longitude = math.Remainder(p.Longitude, 360)
	p.Latitude = max(-maxLatitude, min(maxLatitude, p.Latitude))
	return p
}

// TestCellsAreThoseOfTheServer, bit by bit, and so are positions and geohashes. Distances are those of the server, as far as it
// says them.
func TestCellsAreThoseOfTheServer(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		ctx, name := t.Context(), fresh(t, raw)
		g := kitOn(enginetest.On(t, raw), name).g
		texts := func(words ...string) []string {
			msg := redistest.Do(t, raw, words...)
			all, err := msg.AsStrSlice()
			require.NoError(t, err)
			return all
		}
		for range redistest.Count(t, 80, 20_000) {
			p := somewhere()
			if rand.IntN(2) == 0 {
				p = at(float64(rand.Uint64N(1 << 52)))
			}
			lon, lat := strconv.FormatFloat(p.Longitude, 'f', -1, 64), strconv.FormatFloat(p.Latitude, 'f', -1, 64)
			_, err := g.Add(ctx, p, "ours")
			require.NoError(t, err)
			if p.Longitude == 180 || p.Latitude == maxLatitude { // the server would not find it there
				lon, lat = strconv.FormatFloat(min(p.Longitude, 180-1e-9), 'f', -1, 64), strconv.FormatFloat(min(p.Latitude, maxLatitude-1e-9), 'f', -1, 64)
			}
			redistest.Do(t, raw, "GEOADD", name, lon, lat, "theirs")
			scores := texts("ZMSCORE", name, "ours", "theirs")
			require.Equal(t, scores[1], scores[0], "%v", p)
			got, there, err := g.Position(ctx, "ours")
			require.NoError(t, err)
			require.True(t, there)
			msg := redistest.Do(t, raw, "GEOPOS", name, "ours")
			rows, err := msg.ToArray()
			require.NoError(t, err)
			pair, err := rows[0].AsFloatSlice()
			require.NoError(t, err)
			require.InDelta(t, pair[0], got.Longitude, 1e-17, "%v", p) // of which it says 17 places
			require.InDelta(t, pair[1], got.Latitude, 1e-17, "%v", p)
			require.LessOrEqual(t, math.Abs(got.Longitude-p.Longitude)*111_000, 0.34)
			require.LessOrEqual(t, math.Abs(got.Latitude-p.Latitude)*111_000, 0.34)
			hash, _, err := g.Hash(ctx, "ours")
			require.NoError(t, err)
			require.Equal(t, texts("GEOHASH", name, "ours")[0], hash, "%v", p)
			_, err = g.Add(ctx, somewhere(), "other")
			require.NoError(t, err)
			d, there, err := g.Distance(ctx, "ours", "other")
			require.NoError(t, err)
			require.True(t, there)
			reply := redistest.Do(t, raw, "GEODIST", name, "ours", "other")
			theirs, err := reply.AsFloat64()
			require.NoError(t, err)
			require.InDelta(t, theirs, float64(d), 0.0002)
		}
	})
}

// TestACoverHasItsArea: each position of an area is in one of the stretches.
func TestACoverHasItsArea(t *testing.T) {
	t.Parallel()
	for range redistest.Count(t, 4000, 1_000_000) {
		center, size := somewhere(), math.Pow(10, 8*rand.Float64()-0.5)
		area := Radius(Distance(size))
		if rand.IntN(2) == 0 {
			area = Box(Distance(size), Distance(size*math.Pow(10, 2*rand.Float64()-1)))
		}
		p := somewhere()
		if rand.IntN(4) > 0 {
			p = aside(center, size*1.5)
		}
		score := p.cell()
		p, _ = positionOf(score)
		radius := area.reach()
		if rand.IntN(2) == 0 {
			radius *= rand.Float64()
		}
		cover := area.cover(center, radius)
		require.LessOrEqual(t, len(cover), mostCells+1)
		if area.has(center, p) {
			require.LessOrEqual(t, apart(center, p), area.reach())
		}
		if area.has(center, p) && apart(center, p) <= radius {
			require.True(t, slices.ContainsFunc(cover, func(s stretch) bool { return uint64(score) >= s.first && uint64(score) <= s.last }), "%v around %v has %v", area, center, p)
		}
		for i := 1; i < len(cover); i++ {
			require.Greater(t, cover[i].first, cover[i-1].last, "no member comes twice")
		}
	}
}

// TestSearchesAsAModel searches sets of few places and of more than an answer has room for, and compares each answer with that of
// plain Go.
func TestSearchesAsAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, searchesAsAModel)
}

func searchesAsAModel(t *testing.T, raw rueidis.Client) {
	e := enginetest.On(t, raw)
	center := somewhere()
	for n, times := range map[int]int{0: 3, 1: 10, 50: 20, mostPage + mostPage/2: 6, 4 * mostPage: 6} {
		if n > mostPage && miniredis(t) {
			times = 1 // its pages take long
		}
		g := kitOn(e, fresh(t, raw)).g
		all := make([]Place[string], n)
		for i := range all {
			all[i] = Place[string]{fmt.Sprintf("%05d", i), aside(center, 2000)}
			if i%3 > 0 { // of one distance are several
				all[i].Position = all[i/6].Position
			}
		}
		added, err := g.AddMany(t.Context(), all...)
		require.NoError(t, err)
		require.EqualValues(t, n, added)
		for i := range all { // where the server has it
			all[i].Position = at(all[i].Position.cell())
		}
		for range redistest.Count(t, times, 100*times) {
			searchOnce(t, g, all, center)
		}
	}
}

func searchOnce(t *testing.T, g *Geo[string], all []Place[string], center Position) {
	t.Helper()
	size := Distance(3000 * rand.Float64())
	area := Radius(size)
	if rand.IntN(2) == 0 {
		area = Box(2*size, Distance(6000*rand.Float64()))
	}
	var opts []WithinOption
	limit, back, unsorted := len(all), rand.IntN(2) == 0, rand.IntN(4) == 0
	if rand.IntN(2) == 0 {
		limit = rand.IntN([]int{3, 50, len(all) + 3}[rand.IntN(3)])
		opts = append(opts, WithLimit(int64(limit)))
	}
	if back {
		opts = append(opts, WithDescending())
	}
	if unsorted {
		opts = append(opts, WithUnsorted())
	}
	of := aside(center, 500)
	search := g.Within(t.Context(), of, area, opts...)
	if len(all) > 0 && rand.IntN(2) == 0 {
		one := all[rand.IntN(len(all))]
		of = one.Position
		search = g.WithinOf(t.Context(), one.Value, area, opts...)
	}
	var want []Near[string]
	for _, p := range all {
		if area.has(of, p.Position) {
			want = append(want, Near[string]{p.Value, p.Position, Distance(apart(of, p.Position))})
		}
	}
	slices.SortFunc(want, func(a, b Near[string]) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), strings.Compare(a.Value, b.Value))
	})
	if back {
		slices.Reverse(want)
	}
	var got []Near[string]
	for n, err := range search {
		require.NoError(t, err)
		got = append(got, n)
	}
	if !unsorted {
		require.Equal(t, want[:min(limit, len(want))], append(want[:0:0], got...))
		return
	}
	require.Len(t, got, min(limit, len(want)))
	seen := map[string]bool{}
	for _, n := range got {
		require.False(t, seen[n.Value], "it comes twice")
		require.Contains(t, want, n)
		seen[n.Value] = true
	}
}

// TestASearchAgreesWithTheServer where the earth ends on a map, and for areas of all sizes.
func TestASearchAgreesWithTheServer(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		ctx, k := t.Context(), kitOn(enginetest.On(t, raw), fresh(t, raw))
		for _, center := range []Position{{180, 0}, {-180, 10}, {179.99, -60}, {0, 85}, {0, -85}, {13.4, 52.5}} {
			_, err := k.g.Delete(ctx)
			require.NoError(t, err)
			var all []Place[string]
			for i := range 200 {
				all = append(all, Place[string]{strconv.Itoa(i), aside(center, math.Pow(10, 2+float64(i%6)))})
			}
			_, err = k.g.AddMany(ctx, all...)
			require.NoError(t, err)
			for _, size := range []Distance{1, 1e3, 2e5, 2e6, 9e6, 3e7} {
				for _, area := range []Area{Radius(size), Box(size, size/2)} {
					want := 0
					for _, p := range all {
						if area.has(center, at(p.Position.cell())) {
							want++
						}
					}
					got := map[string]bool{}
					for n, err := range k.g.Within(ctx, center, area) {
						require.NoError(t, err)
						got[n.Value] = true
					}
					assert.Len(t, got, want, "%v around %v", area, center)
				}
			}
		}
	})
}

// TestACopyOfASearch has positions, or distances.
func TestACopyOfASearch(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		k := kitOn(enginetest.On(t, raw), fresh(t, raw))
		to := NewGeo[string](enginetest.On(t, raw), k.to(), WithCodec(codec.Text))
		berlin, potsdam, hamburg := Position{13.405, 52.52}, Position{13.06, 52.4}, Position{9.99, 53.55}
		_, err := k.g.AddMany(t.Context(), Place[string]{"berlin", berlin}, Place[string]{"potsdam", potsdam}, Place[string]{"hamburg", hamburg})
		require.NoError(t, err)
		redistest.Do(t, raw, "SET", k.to(), "of another type")
		n, err := k.g.WithinInto(t.Context(), k.to(), Position{13.4, 52.5}, Radius(100*Kilometre))
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		all, err := places(to.All(t.Context()))
		require.NoError(t, err)
		require.ElementsMatch(t, []Place[string]{{"berlin", at(berlin.cell())}, {"potsdam", at(potsdam.cell())}}, all)
		n, err = k.g.WithinOfInto(t.Context(), k.to(), "berlin", Radius(200*Mile), WithDistances(), WithDescending(), WithLimit(2))
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		d, _, err := k.g.Distance(t.Context(), "berlin", "hamburg")
		require.NoError(t, err)
		score, there, err := New[string](enginetest.On(t, raw), k.to(), WithCodec(codec.Text)).Score(t.Context(), "hamburg")
		require.NoError(t, err)
		require.True(t, there)
		require.InDelta(t, float64(d), score, 0.001)
		n, err = k.g.WithinInto(t.Context(), k.to(), berlin, Radius(1000*Kilometre), WithUnsorted(), WithLimit(1))
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		left := state(t, raw, k.to())
		for _, name := range []string{k.name, k.name + "none"} {
			n, err = kitOn(enginetest.On(t, raw), "{"+name+"}").g.WithinOfInto(t.Context(), "{"+name+"}to", "nobody", Radius(1))
			require.ErrorIs(t, err, ErrNotFound)
			require.Zero(t, n)
		}
		_, err = k.g.WithinOfInto(t.Context(), k.to(), "nobody", Radius(1))
		require.ErrorIs(t, err, ErrNotFound)
		require.Equal(t, left, state(t, raw, k.to()), "nothing is written")
		n, err = k.g.WithinInto(t.Context(), k.to(), Position{}, Radius(Kilometre))
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, none, state(t, raw, k.to()))
	})
}

// TestWhatIsNotThere has no position, and is no centre.
func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		g := kitOn(enginetest.On(t, raw), fresh(t, raw)).g
		for range 2 { // of no set, and of a set
			_, there, err := g.Position(t.Context(), "x")
			require.NoError(t, err)
			require.False(t, there)
			_, there, err = g.Distance(t.Context(), "a", "x")
			require.NoError(t, err)
			require.False(t, there)
			_, there, err = g.Hash(t.Context(), "x")
			require.NoError(t, err)
			require.False(t, there)
			_, err = values(g.WithinOf(t.Context(), "x", Radius(1)))
			require.ErrorIs(t, err, ErrNotFound)
			require.ErrorContains(t, err, g.Name())
			_, err = g.Add(t.Context(), Position{1, 2}, "a")
			require.NoError(t, err)
		}
		all, err := g.Positions(t.Context(), "x", "a")
		require.NoError(t, err)
		require.True(t, math.IsNaN(all[0].Latitude) && math.IsNaN(all[0].Longitude))
		require.False(t, math.IsNaN(all[1].Latitude))
	})
}

// TestAScoreThatIsNoPosition comes as an error, and is in no area.
func TestAScoreThatIsNoPosition(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	k := kitOn(enginetest.On(t, raw), fresh(t, raw))
	_, err := k.s.AddMany(t.Context(), Entry[string]{"minus", -1}, Entry[string]{"much", 1 << 60}, Entry[string]{"a", 1})
	require.NoError(t, err)
	for _, v := range []string{"minus", "much"} {
		_, there, err := k.g.Position(t.Context(), v)
		require.ErrorIs(t, err, ErrDecode)
		require.False(t, there)
		_, _, err = k.g.Distance(t.Context(), "a", v)
		require.ErrorIs(t, err, ErrDecode)
		_, err = values(k.g.WithinOf(t.Context(), v, Radius(1)))
		require.ErrorIs(t, err, ErrDecode)
		require.NotContains(t, err.Error(), v)
	}
	got, bad := 0, 0
	for _, err := range k.g.All(t.Context()) {
		if got++; err != nil {
			require.ErrorIs(t, err, ErrDecode)
			bad++
		}
	}
	require.Equal(t, []int{3, 2}, []int{got, bad}, "the walk continues")
	text, err := values(k.g.WithinOf(t.Context(), "a", Radius(30_000*Kilometre)))
	require.NoError(t, err)
	require.Equal(t, "a", text)
}

// TestAnAnswerHasAMegabyteAtMost, and the walk goes on after it.
func TestAnAnswerHasAMegabyteAtMost(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	weighed := &redistest.Weighed{Client: raw}
	k := kitOn(enginetest.On(t, weighed), fresh(t, raw))
	for i := range 20 {
		_, err := k.g.Add(t.Context(), at(float64(i)), strconv.Itoa(i)+strings.Repeat("v", 200_000))
		require.NoError(t, err)
	}
	got := 0
	for n, err := range k.g.WithinOf(t.Context(), "7"+strings.Repeat("v", 200_000), Radius(Kilometre)) {
		require.NoError(t, err)
		require.Equal(t, got == 0, n.Distance == 0)
		got++
	}
	require.Equal(t, 20, got)
	require.Less(t, weighed.Most.Load(), int64(1<<20))
}

// TestASearchIsShort: each call keeps the server for 5 ms at most, and each answer has a megabyte at most, whatever the set has in the area,
// around it, and between small members.
func TestASearchIsShort(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e, bounded := enginetest.BoundedOn(t, server)
	n := redistest.Count(t, 40_000, 300_000)
	center := Position{13.4, 52.5}
	corner := Position{13.4 + 0.123, 52.5 + 0.075} // 12 km away: in the cells of the area, and outside of it
	large := func(i int) string {
		if i%(200/4) == 0 || i == 199 { // those that one would look at to know how long the others are
			return fmt.Sprintf("%05d", i)
		}
		return fmt.Sprintf("%05d", i) + strings.Repeat("x", 50_000)
	}
	later := func(i int) string {
		if i < 21 { // after them as many are read at once as ever
			return fmt.Sprintf("%05d", i)
		}
		return fmt.Sprintf("%05d", i) + strings.Repeat("x", 200_000)
	}
	member := strconv.Itoa
	for what, one := range map[string]struct {
		around Position
		within float64
		n      int
		member func(i int) string
	}{
		"all outside": {corner, 500, n, member}, "all inside": {center, 6000, n, member}, "all in one place": {center, 0, n, member}, "large ones": {center, 6000, 200, large},
		"large ones after small ones": {center, 0, 21 + 64, later},
	} {
		g := NewGeo[string](e, what, WithCodec(codec.Text))
		plain := NewGeo[string](enginetest.On(t, server.Client(t)), what, WithCodec(codec.Text))
		all := make([]Place[string], one.n)
		for i := range all {
			all[i] = Place[string]{one.member(i), aside(one.around, one.within)}
		}
		_, err := plain.AddMany(t.Context(), all...)
		require.NoError(t, err)
		_, err = plain.Add(t.Context(), center, "center")
		require.NoError(t, err)
		for how, opts := range map[string][]WithinOption{
			"all": nil, "unsorted": {WithUnsorted()}, "some": {WithUnsorted(), WithLimit(7)}, "nearest": {WithLimit(7)}, "many": {WithLimit(3000)}, "farthest": {WithLimit(7), WithDescending()},
		} {
			bounded.Judge(what+", "+how, func() {}, func() error {
				_, err := values(g.Within(t.Context(), center, Radius(10*Kilometre), opts...))
				return err
			})
			if how != "nearest" && how != "farthest" {
				continue
			}
			bounded.Judge(what+", of a member, "+how, func() {}, func() error {
				_, err := values(g.WithinOf(t.Context(), "center", Box(20*Kilometre, 20*Kilometre), opts...))
				return err
			})
		}
	}
}

// TestAnUnsortedSearchReadsLargerPages: a small limit makes the first page small, and those after it are larger and larger.
func TestAnUnsortedSearchReadsLargerPages(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	name := fresh(t, server.Client(t))
	k := kitOn(enginetest.On(t, client), name)
	all := make([]Place[string], 5*mostPage)
	for i := range all { // 12 km away: in the cells of the area, and outside of it
		all[i] = Place[string]{strconv.Itoa(i), aside(Position{13.4 + 0.123, 52.5 + 0.075}, 500)}
	}
	_, err := k.g.AddMany(t.Context(), all...)
	require.NoError(t, err)
	got, err := values(k.g.Within(t.Context(), Position{13.4, 52.5}, Radius(10*Kilometre), WithUnsorted(), WithLimit(7)))
	require.NoError(t, err)
	require.Empty(t, got)
	calls := proxy.Count(script(nearScript))
	require.Greater(t, calls, 5, "the part around the area has them all")
	require.LessOrEqual(t, calls, 9)
}

// TestASmallerCircleSendsNoMembersInVain: a circle with more bytes than an answer has room for tells how many members there are, and
// none of them. Two circles are read: the smaller one has too few members.
func TestASmallerCircleSendsNoMembersInVain(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	weighed := &redistest.Weighed{Client: raw}
	k := kitOn(enginetest.On(t, weighed), fresh(t, raw))
	all := make([]Place[string], 300)
	bytes := 0
	for i := range all {
		all[i] = Place[string]{fmt.Sprintf("%05d", i) + strings.Repeat("x", 5000), Position{13.4, 52.51}}
		bytes += len(all[i].Value)
	}
	_, err := k.g.AddMany(t.Context(), all...)
	require.NoError(t, err)
	weighed.All.Store(0)
	n := 0
	for near, err := range k.g.Within(t.Context(), Position{13.4, 52.5}, Radius(10*Kilometre), WithLimit(7)) {
		require.NoError(t, err)
		require.Equal(t, all[n].Value, near.Value)
		n++
	}
	require.Equal(t, 7, n)
	require.Greater(t, weighed.All.Load(), int64(bytes))
	require.Less(t, weighed.All.Load(), int64(2*bytes+bytes/5))
}

// TestTheEdgeIsExact: a member at the distance of the radius is in a circle, and in none that is smaller by the last bit.
func TestTheEdgeIsExact(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := enginetest.On(t, raw)
	for range redistest.Count(t, 300, 20_000) {
		k := kitOn(e, fresh(t, raw))
		center := somewhere()
		p := aside(center, math.Pow(10, 7*rand.Float64()))
		_, err := k.g.Add(t.Context(), p, "a")
		require.NoError(t, err)
		away := apart(center, at(p.cell()))
		if away == 0 {
			continue
		}
		for radius, want := range map[float64]string{away: "a", math.Nextafter(away, 0): ""} {
			got, err := values(k.g.Within(t.Context(), center, Radius(Distance(radius))))
			require.NoError(t, err)
			require.Equal(t, want, got, "%v around %v", radius, center)
		}
	}
}

// TestAMemberAtAnEnd finds a member where GEOADD puts it, and what is on both sides of it.
func TestAMemberAtAnEnd(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		k := kitOn(enginetest.On(t, raw), fresh(t, raw))
		redistest.Do(t, raw, "GEOADD", k.name, "180", "0", "end", "179.99", "0", "west", "-179.99", "0", "east",
			"10", "85.05112878", "top", "10", "85", "below")
		for of, want := range map[string][]string{"end": {"end", "east", "west"}, "top": {"top", "below"}} {
			got, err := values(k.g.WithinOf(t.Context(), of, Radius(10*Kilometre)))
			require.NoError(t, err)
			require.ElementsMatch(t, want, strings.Fields(got))
			n, err := k.g.WithinOfInto(t.Context(), k.to(), of, Radius(10*Kilometre))
			require.NoError(t, err)
			require.EqualValues(t, len(want)-1, n, "what is exactly at an end is not written")
			msg := redistest.Do(t, raw, "ZRANGE", k.to(), "0", "-1")
			names, err := msg.AsStrSlice()
			require.NoError(t, err)
			require.ElementsMatch(t, want[1:], names)
		}
	})
}

// TestBadPlaces: each is refused, and nothing is sent.
func TestBadPlaces(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	k := kitOn(enginetest.On(t, client), redistest.Name(t))
	ctx, here, nan := t.Context(), Position{1, 2}, math.NaN()
	for _, bad := range []Position{{180.1, 0}, {-180.1, 0}, {0, 85.06}, {0, -85.06}, {nan, 0}, {0, nan}, {math.Inf(1), 0}} {
		for what, err := range map[string]error{
			"add": second(k.g.Add(ctx, bad, "a")), "if absent": second(k.g.AddIfAbsent(ctx, bad, "a")), "if it exists": second(k.g.AddIfExists(ctx, bad, "a")),
			"many":   second(k.g.AddMany(ctx, Place[string]{"a", here}, Place[string]{"b", bad})),
			"within": second(values(k.g.Within(ctx, bad, Radius(1)))), "into": second(k.g.WithinInto(ctx, k.to(), bad, Radius(1))),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument, what)
		}
	}
	for _, bad := range []Area{{}, Radius(-1), Radius(Distance(nan)), Radius(Distance(math.Inf(1))), Box(-1, 1), Box(1, -1), Box(1, Distance(nan))} {
		require.ErrorIs(t, second(values(k.g.Within(ctx, here, bad))), ErrInvalidArgument)
		require.ErrorIs(t, second(values(k.g.WithinOf(ctx, "a", bad))), ErrInvalidArgument)
		require.ErrorIs(t, second(k.g.WithinInto(ctx, k.to(), here, bad)), ErrInvalidArgument)
		require.ErrorIs(t, second(k.g.WithinOfInto(ctx, k.to(), "a", bad)), ErrInvalidArgument)
	}
	require.ErrorIs(t, second(k.g.WithinInto(ctx, k.to(), here, Radius(1), WithLimit(0))), ErrInvalidArgument)
	require.ErrorIs(t, second(k.g.WithinInto(ctx, k.to(), here, Radius(1), nil)), ErrInvalidArgument)
	require.ErrorIs(t, second(k.g.WithinInto(ctx, "", here, Radius(1))), ErrInvalidArgument)
	require.ErrorIs(t, second(values(k.g.Within(ctx, here, Radius(1), nil))), ErrInvalidArgument)
	require.ErrorIs(t, second(values(k.g.Within(ctx, here, Radius(1), WithLimit(-1)))), ErrInvalidArgument)
	require.ErrorIs(t, second(values(k.g.WithinOf(ctx, "\xff", Radius(1)))), ErrInvalidArgument)
	require.NoError(t, second(values(k.g.Within(ctx, here, Radius(1), WithLimit(0)))))
	require.NoError(t, errors.Join(second(k.g.AddMany(ctx)), second(k.g.Positions(ctx)), second(k.g.Remove(ctx))))
	require.Zero(t, proxy.Count(redistest.Arg(k.name)), "nothing was sent")
}

// TestAMemberThatDoesNotDecode comes as an error of a search, and the search continues.
func TestAMemberThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, name := enginetest.On(t, raw), fresh(t, raw)
	redistest.Do(t, raw, "GEOADD", name, "1", "2", "secret", "1", "2.001", "7")
	got, bad := 0, 0
	for n, err := range NewGeo[int](e, name).Within(context.WithoutCancel(t.Context()), Position{1, 2}, Radius(Kilometre)) {
		if err != nil {
			bad++
			require.ErrorIs(t, err, ErrDecode)
			require.NotContains(t, err.Error(), "secret")
			continue
		}
		require.Equal(t, 7, n.Value)
		got++
	}
	require.Equal(t, []int{1, 1}, []int{got, bad})
}
