package sortedset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Interval is the scores from Min through Max, which may be infinite. The zero value is the score 0 alone.
type Interval struct {
	Min, Max float64
	Above    bool // Min itself is not part of it
	Below    bool // Max itself is not part of it
}

// Between returns the scores from lowest through highest.
func Between(lowest, highest float64) Interval { return Interval{Min: lowest, Max: highest} }

// AtLeast returns the scores from lowest.
func AtLeast(lowest float64) Interval { return Between(lowest, math.Inf(1)) }

// AtMost returns the scores through highest.
func AtMost(highest float64) Interval { return Between(math.Inf(-1), highest) }

// bounds returns an interval as ZCOUNT takes it.
func (in Interval) bounds() (lowest, highest string, err error) {
	if lowest, err = bound(in.Min, in.Above); err == nil {
		highest, err = bound(in.Max, in.Below)
	}
	return lowest, highest, err
}

func bound(score float64, without bool) (text string, err error) {
	switch {
	case math.IsInf(score, -1):
		text = "-inf"
	case math.IsInf(score, 1):
		text = "+inf"
	default:
		text, err = scoreText(score)
	}
	if without {
		text = "(" + text
	}
	return text, err
}

// Count returns how many members have a score in an interval.
//
// Cost: one command. Errors: as [Set.Score]. Source: RScoredSortedSet.count.
func (s *Set[T]) Count(ctx context.Context, in Interval) (n int64, err error) {
	lowest, highest, err := in.bounds()
	if err == nil {
		n, err = read(ctx, s.b, send.Number, zcount, lowest, highest)
	}
	return n, s.b.Failed("count", err)
}

// All walks the members by rising scores, or [WithDescending]; those of one score in the order of their bytes.
//
// What one call to the server brings is of one moment. The next call goes on after the last member of the one before, where that is or
// was. So a member whose score does not change meanwhile comes once, also if the set moves to another server. One that is added,
// removed, or gets another score may come or not, and may come twice, with both scores. A member that does not decode
// is [ErrDecode], which wraps rueidisson.ErrNotice too, and the walk continues; another error ends it. The walk holds nothing on the server, so it may be left at
// any time.
//
// Cost: one script call for each 2,000 members, or for as many as have about 1 MB. Errors: [ErrDecode], by a
// *[codec.DecodeError]; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source:
// RScoredSortedSet.iterator, entryIterator, readAll.
func (s *Set[T]) All(ctx context.Context, opts ...RangeOption) iter.Seq2[Entry[T], error] {
	return s.ranged(ctx, begin{at: "first"}, AtLeast(math.Inf(-1)), opts)
}

// Range walks the members from one rank through another, by rising scores or [WithDescending]. The first rank is 0; negative ranks
// count from the end, and -1 is the last one. It ends after as many members as have those ranks when it begins. It is else
// as [Set.All].
//
// Cost and errors: as All. Source: RScoredSortedSet.entryRange, entryRangeReversed, first, last.
func (s *Set[T]) Range(ctx context.Context, from, through int64, opts ...RangeOption) iter.Seq2[Entry[T], error] {
	return s.ranged(ctx, begin{"rank", decimal(from), decimal(through)}, AtLeast(math.Inf(-1)), opts)
}

// ByScore walks the members whose scores are in an interval, by rising scores or [WithDescending], as [Set.All] does.
//
// Cost and errors: as All. Source: RScoredSortedSet.entryRange, entryRangeReversed by scores.
func (s *Set[T]) ByScore(ctx context.Context, in Interval, opts ...RangeOption) iter.Seq2[Entry[T], error] {
	return s.ranged(ctx, begin{at: "first"}, in, opts)
}

// mostPage bounds the members of one answer, which keeps the server for a millisecond or two.
const mostPage = 2000

// begin is where a page begins, as page.lua takes it.
type begin struct{ at, first, second string }

// ranged walks the members of an interval, from a place on.
func (s *Set[T]) ranged(ctx context.Context, at begin, in Interval, opts []RangeOption) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		lowest, highest, err := in.bounds()
		for is, err := range s.b.walk(ctx, err, at, lowest, highest, opts) {
			var e Entry[T]
			if err == nil {
				e, err = s.entry(is)
				err = core.Notice(err)
			}
			if !yield(e, s.b.Failed("walk", err)) {
				return
			}
		}
	}
}

// walk walks the members within bounds, from a place on. An error that it is given is its only one.
func (b *base) walk(ctx context.Context, bad error, at begin, lowest, highest string, opts []RangeOption) iter.Seq2[scored, error] {
	return func(yield func(scored, error) bool) {
		at := at
		r, err := object.Options(ranging{limit: math.MaxInt64}, opts, RangeOption.applyRange)
		if err = cmp.Or(b.Usable(ctx), err, bad); err != nil {
			yield(scored{}, err)
			return
		}
		p := b.plan(mostPage)
		for left := r.limit; left > 0; {
			some, more, err := b.page(ctx, at, r.back, lowest, highest, left, p)
			if err != nil {
				yield(scored{}, err)
				return
			}
			for _, is := range some {
				if !yield(is, nil) {
					return
				}
			}
			b.saw(&p, some)
			if left -= int64(len(some)); at.at == "rank" {
				left = min(left, more)
			}
			if len(some) == 0 || more == 0 {
				return
			}
			last := some[len(some)-1]
			at = begin{"after", last.score, last.text}
		}
	}
}

// page reads some members, and how many come after them.
func (b *base) page(ctx context.Context, at begin, back bool, lowest, highest string, left int64, p paging.Plan) ([]scored, int64, error) {
	got, err := read(ctx, b, pageOf, p.Expect(readPage), flag(back), lowest, highest,
		decimal(min(left, mostPage)), decimal(paging.Bytes), at.at, at.first, at.second)
	return got.some, got.number, err
}

// pageAnswer is members, and a number.
type pageAnswer struct {
	some   []scored
	number int64
}

// pageOf returns an answer of page.lua or pop.lua.
func pageOf(got send.Answer, err error) (a pageAnswer, _ error) {
	if err != nil {
		return a, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return a, err
	}
	if len(parts) != 2 {
		return a, fmt.Errorf("a page of %d parts", len(parts))
	}
	if a.some, err = scoredOf(parts[0]); err == nil {
		a.number, err = parts[1].AsInt64()
	}
	return a, err
}

func scoredOf(msg rueidis.RedisMessage) ([]scored, error) {
	words, err := msg.AsStrSlice()
	if err != nil {
		return nil, err
	}
	some := make([]scored, len(words)/2)
	for i := range some {
		some[i] = scored{words[2*i], words[2*i+1]}
	}
	return some, nil
}

// plan plans a walk through members like those that were seen of the set before.
func (b *base) plan(most int64) paging.Plan {
	p := paging.Walk(most)
	if each := b.h.sizes.Of(b.Key).Load(); each > 0 {
		p.N = min(most, max(paging.Bytes/each, 1))
		p.Bytes = p.N * each
	}
	return p
}

// saw takes members into account.
func (b *base) saw(p *paging.Plan, some []scored) {
	bytes := 0
	for _, is := range some {
		bytes += len(is.text)
	}
	b.h.sizes.Of(b.Key).Saw(bytes, len(some))
	p.Saw(len(some), int64(bytes))
}

// flag returns a truth value for scripts.
func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// PopMin removes the n members with the lowest scores, and returns them, the lowest first. Members that do not decode are removed, too,
// and are the error in addition to the others. After another error it returns what it has removed by then.
//
// A reply that is lost loses the members that it has: about 1 MB at most, or one.
//
// Cost: one command for one member, else one script call for each 1,000 members, or for as many as have about 1 MB; none if n is
// 0. Errors: as [Set.Add], and [ErrDecode] by a *[codec.DecodeError]. Source: RScoredSortedSet.pollFirst.
func (s *Set[T]) PopMin(ctx context.Context, n int) ([]Entry[T], error) {
	return popped(ctx, s.b, &s.members, n, zpopmin, false)
}

// PopMax removes the n members with the highest scores, and returns them, the highest first, as [Set.PopMin] does.
//
// Cost and errors: as PopMin. Source: RScoredSortedSet.pollLast.
func (s *Set[T]) PopMax(ctx context.Context, n int) ([]Entry[T], error) {
	return popped(ctx, s.b, &s.members, n, zpopmax, true)
}

// popped removes members, and returns those that decode.
func popped[T any](ctx context.Context, b *base, m *members[T], n int, one send.Operation, back bool) ([]Entry[T], error) {
	texts, err := b.pop(ctx, n, one, back)
	entries := make([]Entry[T], 0, len(texts))
	var undecoded []error
	for _, is := range texts {
		if e, bad := m.entry(is); bad == nil {
			entries = append(entries, e)
		} else {
			undecoded = append(undecoded, bad)
		}
	}
	return entries, b.Failed("pop from", errors.Join(append(undecoded, err)...))
}

// pop removes members, and returns what it has removed.
func (b *base) pop(ctx context.Context, n int, one send.Operation, back bool) (texts []scored, err error) {
	if err = b.Usable(ctx); err == nil {
		err = checkCount(n)
	}
	p := b.plan(mostMembers)
	for left := int64(1); err == nil && left > 0 && len(texts) < n; {
		var got pageAnswer
		if n == 1 {
			got, err = write(ctx, b, poppedOf, p.UpTo(1).Expect(one), b.Keys)
		} else {
			got, err = write(ctx, b, pageOf, p.Expect(popScript), b.Keys,
				flag(back), decimal(int64(min(n-len(texts), mostMembers))), decimal(paging.Bytes))
		}
		texts, left = append(texts, got.some...), got.number
		b.saw(&p, got.some)
	}
	return texts, err
}

// poppedOf returns an answer of ZPOPMIN or ZPOPMAX about one member.
func poppedOf(got send.Answer, err error) (a pageAnswer, _ error) {
	if err != nil || got.Nil {
		return a, err
	}
	words, err := got.ToArray()
	if err != nil || len(words) < 2 {
		return a, err
	}
	is := scored{}
	if is.text, err = words[0].ToString(); err != nil {
		return a, err
	}
	score, err := words[1].AsFloat64()
	is.score = fmt.Sprint(score)
	a.some = []scored{is}
	return a, err
}

// RemoveByRank removes the members from one rank through another, by rising scores, and returns how many there were. Ranks are as those
// of [Set.Range]. Up to 1,000 members are removed in one step, fewer if they are large; of more, the ranks of the others are those that they have then.
//
// Cost: one script call for each 1,000 members. Errors: as [Set.Add]. Source: RScoredSortedSet.removeRangeByRank.
func (s *Set[T]) RemoveByRank(ctx context.Context, from, through int64) (removed int64, err error) {
	for err == nil {
		var got [3]int64
		got, err = write(ctx, s.b, threeOf, removeScript, s.b.Keys, "rank", decimal(from), decimal(through), decimal(mostMembers), decimal(mostFreed))
		removed += got[0]
		if err != nil || got[1] == 0 {
			break
		}
		from, through = got[2], got[2]+got[1]-1
	}
	return removed, s.b.Failed("remove from", err)
}

// RemoveByScore removes the members whose scores are in an interval, and returns how many there were. Up to 1,000 members are removed
// in one step, fewer if they are large; of more, it goes on until as many are removed as there were at first, or none is left.
//
// Cost: one script call for each 1,000 members. Errors: as [Set.Add]. Source: RScoredSortedSet.removeRangeByScore.
func (s *Set[T]) RemoveByScore(ctx context.Context, in Interval) (removed int64, err error) {
	if err = s.b.Usable(ctx); err == nil {
		var lowest, highest string
		if lowest, highest, err = in.bounds(); err == nil {
			removed, err = s.b.removeWithin(ctx, lowest, highest)
		}
	}
	return removed, s.b.Failed("remove from", err)
}

// removeWithin removes the members within bounds, as many as there are when it begins.
func (b *base) removeWithin(ctx context.Context, lowest, highest string) (removed int64, err error) {
	for left := int64(mostMembers); err == nil && left > 0; {
		var got [3]int64
		got, err = write(ctx, b, threeOf, removeScript, b.Keys, "bounds", lowest, highest, decimal(min(left, mostMembers)), decimal(mostFreed))
		if removed == 0 {
			left = got[0] + got[1]
		}
		removed += got[0]
		left = min(left-got[0], got[1])
	}
	return removed, err
}

// mostFreed is about how many bytes of members are removed at once: the server frees them in a millisecond.
const mostFreed = 8 << 20

// threeOf returns an answer of three numbers.
func threeOf(got send.Answer, err error) (n [3]int64, _ error) {
	if err != nil {
		return n, err
	}
	all, err := got.AsIntSlice()
	if err == nil && len(all) != len(n) {
		err = fmt.Errorf("%d numbers", len(all))
	}
	copy(n[:], all)
	return n, err
}
