package sortedset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Area is what is within a distance of a centre: a circle, see [Radius], or a box, see [Box]. The zero value is none.
type Area struct {
	box           bool
	circle        bool
	width, height float64 // metres; of a circle width is its radius
}

// Radius returns the area of what is at most so far away.
func Radius(d Distance) Area { return Area{circle: true, width: float64(d)} }

// Box returns the area whose centre is in the middle of a width from west to east and of a height from south to north.
func Box(width, height Distance) Area {
	return Area{box: true, width: float64(width), height: float64(height)}
}

// words returns an area as GEOSEARCH takes it.
func (a Area) words() ([]string, error) {
	for _, m := range []float64{a.width, a.height} {
		if !(m >= 0 && m <= math.MaxFloat64) {
			return nil, fmt.Errorf("%w: an area of %v m", ErrInvalidArgument, m)
		}
	}
	width, height := strconv.FormatFloat(a.width, 'f', -1, 64), strconv.FormatFloat(a.height, 'f', -1, 64)
	switch {
	case a.circle:
		return []string{"BYRADIUS", width, "m"}, nil
	case a.box:
		return []string{"BYBOX", width, height, "m"}, nil
	}
	return nil, fmt.Errorf("%w: an area without a size", ErrInvalidArgument)
}

// center is where a search begins.
type center struct {
	words []string // as GEOSEARCHSTORE takes it
	at    Position // unless it is a member
	of    bool     // it is a member
	text  string   // that member
	bad   error
}

// centerAt returns a centre that is a position. That of GEOSEARCHSTORE is a tenth of a millimetre off the ends: around an end it misses half
// of what is there.
func centerAt(at Position) center {
	text := func(v, end float64) string { return strconv.FormatFloat(min(v, end-1e-9), 'f', -1, 64) }
	words := []string{"FROMLONLAT", text(at.Longitude, 180), text(at.Latitude, maxLatitude)}
	return center{words: words, at: at, bad: at.check()}
}

// centerOf returns a centre that is a member.
func (m *members[T]) centerOf(v T) center {
	if m.codec == nil {
		return center{} // the handle cannot be used, and says so
	}
	text, err := m.text(v)
	return center{words: []string{"FROMMEMBER", text}, of: true, text: text, bad: err}
}

// Within walks the members in an area around a position, the nearest first, or the farthest [WithDescending]. [WithLimit] ends it
// after the n nearest, or farthest. Members of one distance are in the order of their bytes, in the reverse order
// WithDescending.
//
// The server reads the part of the set around the area, whose members are mostly two to three times as many as those in it. Up to 2,000 members of
// that part, or about 1 MB, come with one call, and are of one moment. If there are more, the walk reads the part in pages, as
// [Set.All] does. It keeps the members of the area in the memory of the process, or as many as the limit allows, to sort
// them. A member that does not move meanwhile comes once, also if the set moves to another server. [WithUnsorted] keeps nothing.
//
// For the n nearest ones of more than 2,000, it looks at smaller circles around the centre, until one has at least n members, and reads that
// one alone. For the n farthest ones it reads all.
//
// A member that does not decode is [ErrDecode], and the walk continues; another error ends it.
//
// Cost: one script call for up to 2,000 members or 1 MB of the part, another one for each 2,000 or 1 MB. The n nearest ones of more cost
// a call for each circle in addition, mostly two to four. For n members WithUnsorted the first call brings up to 2n+32 members, each
// further one up to four times as many as the one before, 2,000 at most. A call takes the server some milliseconds at most. Errors: [ErrDecode], by a
// *[codec.DecodeError]; [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RGeo.search,
// searchWithDistance, searchWithPosition.
func (g *Geo[T]) Within(ctx context.Context, center Position, area Area, opts ...WithinOption) iter.Seq2[Near[T], error] {
	return g.within(ctx, centerAt(center), area, opts)
}

// WithinOf walks the members in an area around a member, as [Geo.Within] does: around the position that it has when the walk begins. The
// member comes, too, unless it has moved away by then. If it is not there, that is [ErrNotFound].
//
// Cost: as Within, and a share of one command before it. Errors: as Within, and [ErrNotFound]. Source: as Within.
func (g *Geo[T]) WithinOf(ctx context.Context, center T, area Area, opts ...WithinOption) iter.Seq2[Near[T], error] {
	return g.within(ctx, g.centerOf(center), area, opts)
}

func (g *Geo[T]) within(ctx context.Context, from center, area Area, opts []WithinOption) iter.Seq2[Near[T], error] {
	return func(yield func(Near[T], error) bool) {
		for is, err := range g.b.near(ctx, from, area, opts) {
			var n Near[T]
			if err == nil {
				n.Position, n.Distance = is.at, Distance(is.away)
				n.Value, err = g.value(is.text)
				err = core.Notice(err)
			}
			if !yield(n, g.b.Failed("search", err)) {
				return
			}
		}
	}
}

// placed is a member as it is in Redis, where it is, and how far away.
type placed struct {
	text string
	at   Position
	away float64
}

// near walks the members in an area.
func (b *base) near(ctx context.Context, from center, area Area, opts []WithinOption) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		r, err := object.Options(ranging{limit: math.MaxInt64}, opts, WithinOption.applyWithin)
		_, bad := area.words()
		err = cmp.Or(b.Usable(ctx), err, from.bad, bad)
		if err == nil && r.limit > 0 && from.of {
			from.at, err = b.whereIs(ctx, from.text)
		}
		if err != nil {
			yield(placed{}, err)
			return
		}
		if r.limit == 0 {
			return
		}
		s := search{b, from.at, area, r}
		switch {
		case r.unsorted:
			s.any(ctx, yield)
			return
		case r.limited && !r.back:
			err = s.nearest(ctx, yield)
		default:
			err = s.sorted(ctx, yield)
		}
		if err != nil {
			yield(placed{}, err)
		}
	}
}

// whereIs returns the position of a member.
func (b *base) whereIs(ctx context.Context, text string) (Position, error) {
	score, err := b.h.scores.Do(ctx, b.Key, text)
	if err != nil {
		return Position{}, err
	}
	if math.IsNaN(score) {
		return Position{}, ErrNotFound
	}
	at, ok := positionOf(score)
	if !ok {
		return at, &codec.DecodeError{Name: b.Name, Bytes: []byte(text), Cause: errNoPosition}
	}
	return at, nil
}

// placed returns where a member is, as seen from a centre. It reports false if its score is no position, which is in no area.
func (is scored) placed(center Position) (p placed, ok bool) {
	score, err := strconv.ParseFloat(is.score, 64)
	if err != nil {
		return p, false
	}
	at, ok := positionOf(score)
	return placed{is.text, at, apart(center, at)}, ok
}

// errNoPosition says that a score is of another kind of set.
var errNoPosition = errors.New("its score is no position")

// sorting has the members that were found, as many as are asked for at least.
type sorting struct {
	by  ranging
	all []placed
}

// add takes a member, and now and then drops those that are beyond the limit.
func (s *sorting) add(p placed) {
	s.all = append(s.all, p)
	if len(s.all) >= 2*mostPage && int64(len(s.all))/2 > s.by.limit {
		s.sort()
	}
}

// sort sorts the members, and drops those beyond the limit.
func (s *sorting) sort() {
	slices.SortFunc(s.all, func(a, b placed) int {
		order := cmp.Or(cmp.Compare(a.away, b.away), strings.Compare(a.text, b.text))
		if s.by.back {
			return -order
		}
		return order
	})
	s.all = s.all[:min(int64(len(s.all)), s.by.limit)]
}

func (s *sorting) yield(yield func(placed, error) bool) {
	s.sort()
	for _, p := range s.all {
		if !yield(p, nil) {
			return
		}
	}
}

// WithinInto writes the members in an area around a position into the set of the name to, over whatever that name has, of any type and
// with its time to live, and returns how many there are. [WithLimit] writes the n nearest, or the farthest [WithDescending], or
// any [WithUnsorted]. They keep their positions, so that to is a set of places, too, unless [WithDistances] says otherwise.
//
// The server searches, by its own arithmetic: a member whose distance is the radius, to the last bit, may be in the one answer and not in
// that of Within. What Redisson puts exactly at the longitude 180 or at the highest latitude is not written, and of an area
// over a pole a part may be missing.
//
// It is one step: the server does nothing else meanwhile, about a second for 500,000 members in the area. On a cluster both
// names share a hash tag. A server without GEOSEARCHSTORE, as that of package rueidissontest, returns [errors.ErrUnsupported].
//
// Cost: one script call. Errors: as [Set.Add], and [ErrSlotMoving]. Source: RGeo.storeSearchTo, storeSortedSearchTo.
func (g *Geo[T]) WithinInto(ctx context.Context, to string, center Position, area Area, opts ...WithinIntoOption) (n int64, err error) {
	return g.b.nearInto(ctx, to, centerAt(center), area, opts)
}

// WithinOfInto writes the members in an area around a member, which is one of them, as [Geo.WithinInto] does. If that member is not
// there, it is [ErrNotFound], and nothing is written.
//
// Around a member that Redisson has put exactly at the longitude 180 or at the highest latitude, what is on both sides is written, and
// that member is not.
//
// Cost and errors: as WithinInto, and [ErrNotFound]. Source: as WithinInto.
func (g *Geo[T]) WithinOfInto(ctx context.Context, to string, center T, area Area, opts ...WithinIntoOption) (n int64, err error) {
	return g.b.nearInto(ctx, to, g.centerOf(center), area, opts)
}

func (b *base) nearInto(ctx context.Context, to string, from center, area Area, opts []WithinIntoOption) (n int64, err error) {
	var on []string
	r, err := object.Options(ranging{}, opts, WithinIntoOption.applyWithinInto)
	words, bad := area.words()
	if err = cmp.Or(b.Usable(ctx), err, from.bad, bad); err == nil {
		on, err = b.with(to)
	}
	if err == nil && r.limited && r.limit == 0 {
		err = fmt.Errorf("%w: a limit of 0 members", ErrInvalidArgument)
	}
	if err == nil {
		n, err = write(ctx, b, func(got send.Answer, err error) (int64, error) {
			if err == nil && got.Nil {
				return 0, ErrNotFound
			}
			return send.Number(got, err)
		}, nearIntoScript, on, slices.Concat(from.words, words, r.storing())...)
	}
	return n, b.severalFailed("search", err)
}

// storing returns what GEOSEARCHSTORE takes after an area.
func (r ranging) storing() (words []string) {
	switch {
	case r.unsorted:
	case r.back:
		words = append(words, "DESC")
	default:
		words = append(words, "ASC")
	}
	if r.limited {
		words = append(words, "COUNT", decimal(r.limit))
		if r.unsorted {
			words = append(words, "ANY")
		}
	}
	if r.distances {
		words = append(words, "STOREDIST")
	}
	return words
}
