package sortedset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// The score of a member of a Geo is the cell of its position, as GEOADD computes it: 26 halvings of the longitudes and of the
// latitudes, by turns, each a bit. What follows is arithmetic of Redis' geohash.c and geohash_helper.c, in the order of its steps, so that
// each bit is that of the server.

const (
	earthRadius = 6372797.560856 // metres, as of Redis
	maxLatitude = 85.05112878    // beyond it the server refuses
	halvings    = 26             // of each coordinate
	cells       = 1 << halvings  // of each coordinate
)

// check refuses a position that is outside of what the server takes.
func (p Position) check() error {
	if !(p.Longitude >= -180 && p.Longitude <= 180 && p.Latitude >= -maxLatitude && p.Latitude <= maxLatitude) {
		return fmt.Errorf("%w: a position has a longitude from -180 through 180 and a latitude from -85.05112878 through 85.05112878", ErrInvalidArgument)
	}
	return nil
}

// cell returns the score of a position. GEOADD has cells of their own for the longitude 180 and the highest latitude, in which GEOSEARCH
// finds nothing. Here the last cells have them.
func (p Position) cell() float64 {
	latitude, longitude := offset(p.Latitude, maxLatitude), offset(p.Longitude, 180)
	return float64(interleave(min(latitude, cells-1), min(longitude, cells-1)))
}

// offset returns which of the cells of a coordinate has a value; the end has one of its own.
func offset(v, most float64) uint32 {
	return uint32((v - -most) / (most - -most) * cells)
}

// positionOf returns the middle of a cell. It reports false for a score that is none.
func positionOf(score float64) (p Position, ok bool) {
	if !(score >= 0 && score < 1<<(2*halvings+2)) {
		return p, false
	}
	latitude, longitude := deinterleave(uint64(score))
	return Position{middle(longitude, 180), middle(latitude, maxLatitude)}, true
}

// middle returns the middle of one of the cells of a coordinate. The conversions keep a compiler from rounding once where the
// server rounds twice.
func middle(offset uint32, most float64) float64 {
	scale := most - -most
	low := -most + float64(float64(offset)/cells*scale)
	high := -most + float64((float64(offset)+1)/cells*scale)
	return max(-most, min(most, (low+high)/2))
}

// interleave returns the bits of two numbers by turns; the lowest is that of even.
func interleave(even, odd uint32) uint64 { return spread(even) | spread(odd)<<1 }

func deinterleave(both uint64) (even, odd uint32) { return squeeze(both), squeeze(both >> 1) }

// strides are the steps by which bits are spread, and the bits that are in use after each.
var strides = []struct {
	shift uint
	mask  uint64
}{
	{16, 0x0000ffff0000ffff}, {8, 0x00ff00ff00ff00ff}, {4, 0x0f0f0f0f0f0f0f0f}, {2, 0x3333333333333333}, {1, 0x5555555555555555},
}

// spread puts a 0 before each bit.
func spread(n uint32) uint64 {
	x := uint64(n)
	for _, s := range strides {
		x = (x | x<<s.shift) & s.mask
	}
	return x
}

// squeeze drops every second bit.
func squeeze(x uint64) uint32 {
	x &= 0x5555555555555555
	for i := len(strides) - 2; i >= 0; i-- {
		x = (x | x>>strides[i+1].shift) & strides[i].mask
	}
	return uint32(x | x>>strides[0].shift)
}

// geohash returns the text that GEOHASH has for a cell: 11 letters of the usual alphabet, whose latitudes go from pole to pole. The
// last letter is always 0, since there are no bits for it.
func (p Position) geohash() string {
	const letters = "0123456789bcdefghjkmnpqrstuvwxyz"
	all := interleave(offset(p.Latitude, 90), offset(p.Longitude, 180))
	text := make([]byte, 11)
	for i := range 10 {
		text[i] = letters[all>>(2*halvings-5*(i+1))&31]
	}
	text[10] = letters[0]
	return string(text)
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }
func degrees(radians float64) float64 { return radians / (math.Pi / 180) }

// apart returns how far two positions are from each other on a sphere.
func apart(a, b Position) float64 {
	v := math.Sin((radians(b.Longitude) - radians(a.Longitude)) / 2)
	if v == 0 {
		return apartByLatitude(a, b)
	}
	from, to := radians(a.Latitude), radians(b.Latitude)
	u := math.Sin((to - from) / 2)
	return 2 * earthRadius * math.Asin(min(1, math.Sqrt(u*u+math.Cos(from)*math.Cos(to)*v*v)))
}

func apartByLatitude(a, b Position) float64 {
	return earthRadius * math.Abs(radians(b.Latitude)-radians(a.Latitude))
}

// has reports whether a position is in an area around another one, by the rules of GEOSEARCH: the width of a box is measured at the
// latitude of the position.
func (a Area) has(center, p Position) bool {
	if !a.box {
		return apart(center, p) <= a.width
	}
	return apartByLatitude(center, p) <= a.height/2 &&
		apart(p, Position{center.Longitude, p.Latitude}) <= a.width/2
}

// bounds returns how many degrees an area reaches from its centre: to the south and the north, and to each side. What is
// rounded is added.
func (a Area) bounds(center Position) (south, north, side float64) {
	const more = 1e-9 // of a degree: a tenth of a millimetre
	if !a.box {
		angle := a.width / earthRadius
		south, north = center.Latitude-degrees(angle)-more, center.Latitude+degrees(angle)+more
		side = 180
		if south > -90 && north < 90 && angle < math.Pi/2 { // no pole is inside
			side = degrees(math.Asin(min(1, math.Sin(angle)/math.Cos(radians(center.Latitude))))) + more
		}
		return south, north, side
	}
	half := degrees(a.height/2/earthRadius) + more
	south, north = center.Latitude-half, center.Latitude+half
	farthest := min(maxLatitude, max(math.Abs(south), math.Abs(north))) // from the equator, where a degree is shortest
	side = 180
	if by := math.Sin(min(a.width/4/earthRadius, math.Pi/2)) / math.Cos(radians(farthest)); by < 1 {
		side = degrees(2*math.Asin(by)) + more
	}
	return south, north, side
}

// stretch is the scores from first through last.
type stretch struct{ first, last uint64 }

// bounds returns a stretch as ZCOUNT takes it. A score between two cells is in the one before it.
func (s stretch) bounds() (lowest, highest string) {
	return strconv.FormatUint(s.first, 10), "(" + strconv.FormatUint(s.last+1, 10)
}

// mostCells bounds the cells that cover an area. More of them have less around the area.
const mostCells = 32

// reach returns how far from its centre an area reaches at most.
func (a Area) reach() float64 {
	far := a.width
	if a.box {
		far = (a.width+a.height)/2 + 1
	}
	return min(far, math.Pi*earthRadius+1)
}

// cover returns, in order, ranges of scores that hold every position of the area within radius of the centre, and some around it.
func (a Area) cover(center Position, radius float64) []stretch {
	south, north, side := a.bounds(center)
	s, n, x := Radius(Distance(radius)).bounds(center)
	south, north, side = max(south, s), min(north, n), min(side, x)
	west, east := center.Longitude-side, center.Longitude+side
	if side >= 180 {
		west, east = -180, 180
	}
	level := halvings
	var rows, columns [2]int64
	for ; level > 0; level-- {
		rows = [2]int64{row(south, level), row(north, level)}
		columns = [2]int64{column(west, level), column(east, level)}
		if (rows[1]-rows[0]+1)*(columns[1]-columns[0]+1) <= mostCells {
			break
		}
	}
	all := []stretch{}
	for y := rows[0]; y <= rows[1]; y++ {
		for x := columns[0]; x <= columns[1]; x++ {
			if beyond(center, radius, x, y, level) {
				continue
			}
			around := x & (1<<level - 1) // beyond the 180th degree it goes on at the other side
			at := interleave(uint32(y), uint32(around))
			rest := 2 * (halvings - level)
			all = append(all, stretch{at << rest, (at+1)<<rest - 1})
		}
	}
	if west <= -180 || east >= 180 || north >= maxLatitude { // the cells of the ends
		all = append(all, stretch{1 << (2 * halvings), 1<<(2*halvings+2) - 1})
	}
	return joined(all)
}

// beyond reports whether all of a cell is farther away than a radius. The column may be beyond the 180th degree. The nearest point of a
// cell that has another longitude is on its western or eastern side: at an end, or where the side comes nearest.
func beyond(center Position, radius float64, x, y int64, level int) bool {
	parts := float64(int64(1) << level)
	west, east := float64(x)/parts*360-180, float64(x+1)/parts*360-180
	south, north := (2*float64(y)/parts-1)*maxLatitude, (2*float64(y+1)/parts-1)*maxLatitude
	if level == 0 || west <= center.Longitude && center.Longitude <= east {
		return false
	}
	for _, side := range []float64{west, east} {
		nearest := degrees(math.Atan2(math.Tan(radians(center.Latitude)), math.Cos(radians(side-center.Longitude))))
		for _, latitude := range []float64{south, north, min(max(nearest, south), north)} {
			if apart(center, Position{side, latitude}) <= radius+1e-3 {
				return false
			}
		}
	}
	return true
}

// row returns which cell of a level has a latitude, and column which has a longitude, which may be beyond the ends.
func row(latitude float64, level int) int64 {
	latitude = max(-maxLatitude, min(maxLatitude, latitude))
	return min(int64(offset(latitude, maxLatitude)>>(halvings-level)), 1<<level-1)
}

func column(longitude float64, level int) int64 {
	return int64(math.Floor((longitude + 180) / 360 * float64(int64(1)<<level)))
}

// joined sorts stretches, and joins those without anything in between.
func joined(all []stretch) []stretch {
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.first, b.first) })
	few := all[:1]
	for _, next := range all[1:] {
		if last := &few[len(few)-1]; next.first <= last.last+1 {
			last.last = max(last.last, next.last)
		} else {
			few = append(few, next)
		}
	}
	return few
}
