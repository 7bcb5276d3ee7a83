package sortedset

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
)

// search looks for the members in an area. It reads the members whose scores are in its cover, and drops those outside of it, so that
// the server looks at no more than a page has.
type search struct {
	*base
	center Position
	area   Area
	by     ranging
}

// any yields members as they are found.
func (s search) any(ctx context.Context, yield func(placed, error) bool) {
	n := int64(0)
	for p, err := range s.walk(ctx, s.area.reach()) {
		if n++; !yield(p, err) || err != nil || n == s.by.limit {
			return
		}
	}
}

// sorted reads all members of the area, and yields them in their order.
func (s search) sorted(ctx context.Context, yield func(placed, error) bool) error {
	found, err := s.all(ctx, s.area.reach())
	if err == nil {
		found.yield(yield)
	}
	return err
}

// all reads the members of the area that are so far away at most.
func (s search) all(ctx context.Context, radius float64) (found sorting, err error) {
	found.by = s.by
	for p, err := range s.walk(ctx, radius) {
		if err != nil {
			return found, err
		}
		found.add(p)
	}
	return found, nil
}

// circle is the members of the area that are so far away at most.
type circle struct {
	radius float64
	around int64 // how many members its cover has
}

const (
	// smallest is the radius below which there is no smaller circle: less than half a cell.
	smallest = 0.1
	// mostCircles bounds the circles that are looked at before one is read in pages.
	mostCircles = 16
)

// within returns the radius of a circle that may have enough members: less than that of c, and more than tooFew, the radius of a circle
// that has too few of them. It reports false if c itself is to be read.
func (c circle) within(tooFew float64, limit int64) (radius float64, ok bool) {
	if limit >= c.around/4 || c.radius < max(1.5*tooFew, smallest) {
		return 0, false
	}
	want := 2*limit + 32 // about half of those around a circle are in it
	if radius = c.radius * math.Sqrt(float64(want)/float64(c.around)); radius < 1.2*tooFew {
		radius = math.Sqrt(c.radius * tooFew)
	}
	return min(radius, c.radius/1.2), want < c.around
}

// nearest yields the nearest members, as many as the limit allows. If the cover of the area has many more, it looks for a smaller
// circle that has enough of them.
func (s search) nearest(ctx context.Context, yield func(placed, error) bool) error {
	radius, few := s.area.reach(), 0.0                      // a circle of the radius few has too few members
	most := min(mostPage, 4*(min(s.by.limit, mostPage)+16)) // a circle with more is not read: a smaller one is likely to have enough
	var larger []circle                                     // with more than most, each smaller than the one before
	for circles := 1; ; circles++ {
		some, around, err := s.page(ctx, wholly, most, radius, scored{})
		if err != nil {
			return err
		}
		switch {
		case int64(len(some)) == around:
			found := sorting{by: s.by}
			for _, is := range some {
				if p, ok := s.has(is, radius); ok {
					found.add(p)
				}
			}
			if int64(len(found.all)) >= s.by.limit || len(larger) == 0 {
				found.yield(yield)
				return nil
			}
			few = radius
		case around < s.by.limit && len(larger) > 0:
			few = radius
		default:
			larger = append(larger, circle{radius, around})
		}
		for {
			last := larger[len(larger)-1]
			var smaller bool
			if radius, smaller = last.within(few, s.by.limit); smaller && circles < mostCircles {
				break
			}
			found, err := s.all(ctx, last.radius)
			if err != nil {
				return err
			}
			if larger = larger[:len(larger)-1]; int64(len(found.all)) >= s.by.limit || len(larger) == 0 {
				found.yield(yield)
				return nil
			}
			few = last.radius
		}
	}
}

// has returns where a member is, if it is in the area, and so far away at most.
func (s search) has(is scored, radius float64) (placed, bool) {
	p, ok := is.placed(s.center)
	return p, ok && p.away <= radius && s.area.has(s.center, p.at)
}

// walk walks the members of the area that are so far away at most, in the order of their cells.
func (s search) walk(ctx context.Context, radius float64) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		most := int64(mostPage)
		if s.by.unsorted && s.by.limit < mostPage { // about half of what a page has is in the area
			most = min(mostPage, 2*s.by.limit+32)
		}
		for after, left := (scored{}), int64(1); left > 0; {
			some, around, err := s.page(ctx, partly, most, radius, after)
			if err != nil {
				yield(placed{}, err)
				return
			}
			for _, is := range some {
				if p, ok := s.has(is, radius); ok && !yield(p, nil) {
					return
				}
				after = is
			}
			most = min(mostPage, paging.Growth*most)
			left = around - int64(len(some))
		}
	}
}

// What a page brings if it has no room for all members.
const (
	wholly = "none"
	partly = "some"
)

// page reads members around a circle, up to so many, after one of them, and how many there are after it.
func (s search) page(ctx context.Context, mode string, most int64, radius float64, after scored) (some []scored, around int64, err error) {
	p := s.plan(mostPage)
	p.N = most
	if each := s.h.sizes.Of(s.Key).Load(); each > 0 {
		p.Bytes = min(p.N*each, paging.Bytes)
	}
	args := []string{decimal(most), decimal(paging.Bytes), mode, after.score, after.text}
	for _, one := range s.area.cover(s.center, radius) {
		lowest, highest := one.bounds()
		args = append(args, lowest, highest)
	}
	got, err := read(ctx, s.base, nearOf, p.Expect(readNear), args...)
	s.saw(&p, got.some)
	return got.some, got.number, err
}

// nearOf returns an answer of near.lua.
func nearOf(got send.Answer, err error) (a pageAnswer, _ error) {
	if err != nil {
		return a, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return a, err
	}
	if len(parts) != 2 {
		return a, fmt.Errorf("an answer of %d parts", len(parts))
	}
	if a.number, err = parts[0].AsInt64(); err == nil {
		a.some, err = scoredOf(parts[1])
	}
	return a, err
}
