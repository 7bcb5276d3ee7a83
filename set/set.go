package set

import (
	"context"
	"iter"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Set is a handle on the set of a name, which Redisson's RSet shares. Members are equal if their bytes are. The handle has no
// state, so any number of goroutines may use it, and any number of handles on one name are the same set.
type Set[T any] struct {
	common
	members[T]
}

// New returns a handle on the set of that name. A type of members that contains a map or an interface is refused, unless
// [WithMemberCodec] says how it is written: equal values could have different bytes.
func New[T any](c Client, name string, opts ...Option) *Set[T] {
	e := c.Engine()
	cfg, err := object.Options(config{}, opts, Option.applySet)
	var m members[T]
	if err == nil {
		m, err = newMembers[T](e, name, cfg)
	}
	anySlot := func(string) error { return nil } // a set is one key
	return &Set[T]{common{newBase(e, "set", "set", name, err, anySlot)}, m}
}

// Add adds members, and returns how many of them were not there before.
//
// Cost: one command for each 2,000 members, or for as many as have 1 MB; none without members. Those of one command appear
// together; after an error some may have been added, and are counted. Errors: [ErrOutcomeUnknown], which also ends a ctx that
// ends before the answer; [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's.
// Source: RSet.add, RSet.addAllCounted.
func (s *Set[T]) Add(ctx context.Context, vs ...T) (added int64, err error) {
	added, err = s.each(ctx, sadd, vs)
	return added, s.b.Failed("add to", err)
}

// Remove removes members, and returns how many of them were there.
//
// Cost and errors: as Add. Source: RSet.remove, RSet.removeAllCounted.
func (s *Set[T]) Remove(ctx context.Context, vs ...T) (removed int64, err error) {
	removed, err = s.each(ctx, srem, vs)
	return removed, s.b.Failed("remove from", err)
}

// each sends a command about members that changes the set.
func (s *Set[T]) each(ctx context.Context, op send.Operation, vs []T) (n int64, err error) {
	texts, err := s.sendable(ctx, vs)
	if err != nil {
		return 0, err
	}
	return s.b.writes(ctx, op, texts)
}

// sendable returns the bytes of members if the handle can be used.
func (s *Set[T]) sendable(ctx context.Context, vs []T) ([]string, error) {
	if err := s.b.Usable(ctx); err != nil {
		return nil, err
	}
	return s.texts(vs)
}

// AddAllIfAbsent adds members if none of them is there, and reports whether it did. It is one step, however many they are: the
// server does nothing else meanwhile, about 1 ms for 1,000. Without members it is done.
//
// Cost: one script call. Errors: as Add. Source: RSet.tryAdd.
func (s *Set[T]) AddAllIfAbsent(ctx context.Context, vs ...T) (did bool, err error) {
	texts, err := s.sendable(ctx, vs)
	switch {
	case err != nil:
	case len(texts) == 0:
		did = true
	default:
		did, err = write(ctx, s.b, send.Yes, addAllScript, s.b.Keys, texts...)
	}
	return did, s.b.Failed("add all to", err)
}

// Move moves a member to another set in one step, and reports whether it did: it was there. On a cluster both names share a hash tag,
// such as a:{1} and b:{1}.
//
// Cost: one command. Errors: as Add, and [ErrSlotMoving]. Source: RSet.move.
func (s *Set[T]) Move(ctx context.Context, to string, v T) (did bool, err error) {
	texts, err := s.sendable(ctx, []T{v})
	var on []string
	if err == nil {
		on, err = s.with(to)
	}
	if err == nil {
		did, err = write(ctx, s.b, send.Yes, smove, on, texts...)
	}
	return did, s.failed("move in", err)
}

// Has reports whether v is a member. Calls of one process of one set that come while others are on their way go out together.
//
// Cost: a share of one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RSet.contains.
func (s *Set[T]) Has(ctx context.Context, v T) (has bool, err error) {
	if err = s.b.Usable(ctx); err != nil {
		return false, s.b.Failed("look into", err)
	}
	text, err := s.text(v)
	if err == nil {
		has, err = s.b.h.has.Do(ctx, s.b.Key, text)
	}
	return has, s.b.Failed("look into", err)
}

// HasEach reports of each value whether it is a member.
//
// Cost: one command for each 2,000 values, or for as many as have 1 MB; none without values. Those of one command are of one
// moment. Errors: as Has. Source: RSet.containsEach.
func (s *Set[T]) HasEach(ctx context.Context, vs ...T) (has []bool, err error) {
	texts, err := s.sendable(ctx, vs)
	if err == nil {
		has, err = inEach(ctx, s.b.h, s.b.Key, texts, s.b.h.areIn)
	}
	return has, s.b.Failed("look into", err)
}

// Pop removes up to n members at random and returns them. Those that do not decode are removed, too, and are the error in
// addition to the others. After another error it returns what it has removed by then.
//
// A reply that is lost loses the members that it has: of members of unknown length one is taken first, and then as
// many at a time as have about 1 MB, 2,000 at most.
//
// Cost: one command for each part; none if n is 0. Errors: as Add, and [ErrDecode] by a *[codec.DecodeError]. Source:
// RSet.removeRandom.
func (s *Set[T]) Pop(ctx context.Context, n int) (vs []T, err error) {
	if err = s.b.Usable(ctx); err == nil {
		err = checkCount(n, math.MaxInt)
	}
	if err != nil {
		return nil, s.b.Failed("pop from", err)
	}
	var texts []string
	plan := s.plan(paging.Takes(mostMembers))
	for err == nil && len(texts) < n {
		p := plan.UpTo(int64(n - len(texts)))
		var some []string
		some, err = write(ctx, s.b, send.Texts, p.Expect(spop), s.b.Keys, decimal(p.N))
		texts = append(texts, some...)
		s.saw(&plan, some)
		if int64(len(some)) < p.N {
			break
		}
	}
	vs, undecoded := s.values(texts)
	if err == nil {
		err = undecoded
	}
	return vs, s.b.Failed("pop from", err)
}

// plan returns a plan of answers with members, whose length is known by those that were seen before.
func (s *Set[T]) plan(p paging.Plan) paging.Plan {
	if size := s.b.h.sizes.Of(s.b.Key).Load(); size > 0 {
		p.N = min(p.Most, max(paging.Bytes/size, 1))
		p.Bytes = p.N * size
	}
	return p
}

// saw takes an answer into account.
func (s *Set[T]) saw(p *paging.Plan, texts []string) {
	bytes := 0
	for _, text := range texts {
		bytes += len(text)
	}
	p.Saw(len(texts), int64(bytes))
	s.b.h.sizes.Of(s.b.Key).Saw(bytes, len(texts))
}

// Random returns up to n different members at random, and removes none. It returns fewer if there are fewer, or if members are
// so large that it takes several answers, and these have always the same ones. Members that do not decode are the error
// in addition to the others.
//
// Cost: one command for each 2,000 members, or for as many as have 1 MB; the first brings four if their length is not known.
// Errors: as Has, and [ErrDecode]; [ErrInvalidArgument] also above 10,000: All walks them. Source: RSet.random.
func (s *Set[T]) Random(ctx context.Context, n int) (vs []T, err error) {
	if err = s.b.Usable(ctx); err == nil {
		err = checkCount(n, mostRandom)
	}
	var texts []string
	if err == nil {
		plan := s.plan(paging.Walk(mostMembers))
		texts, err = sample(n, func(n int) ([]string, bool, error) {
			p := plan.UpTo(int64(n))
			some, err := read(ctx, s.b, send.Texts, p.Expect(readRandom), decimal(p.N))
			s.saw(&plan, some)
			return some, int64(len(some)) < p.N, err
		})
	}
	if err == nil {
		vs, err = s.values(texts)
	}
	return vs, s.b.Failed("pick from", err)
}

// Retain removes all members but these, and returns how many it has removed; without any, all. It walks the set: it
// is not one step, and what others add meanwhile may stay or be removed. After an error call it again.
//
// Cost: as All, and one command for each page that has members to remove. Errors: as Add. Source: RSet.retainAll.
func (s *Set[T]) Retain(ctx context.Context, vs ...T) (removed int64, err error) {
	texts, err := s.sendable(ctx, vs)
	if err == nil {
		keep := setOf(texts)
		for some, failed := range s.b.h.pages(ctx, readSet, s.b.Key) {
			var n int64
			if err = failed; err == nil {
				n, err = s.b.writes(ctx, srem, without(some, keep))
			}
			if removed += n; err != nil {
				break
			}
		}
	}
	return removed, s.b.Failed("retain in", err)
}

func setOf(texts []string) map[string]bool {
	all := make(map[string]bool, len(texts))
	for _, text := range texts {
		all[text] = true
	}
	return all
}

// without returns the texts that are not in a set.
func without(texts []string, set map[string]bool) (left []string) {
	for _, text := range texts {
		if !set[text] {
			left = append(left, text)
		}
	}
	return left
}

// Len returns how many members there are.
//
// Cost: one command. Errors: as Has. Source: RSet.size.
func (s *Set[T]) Len(ctx context.Context) (n int64, err error) {
	n, err = read(ctx, s.b, send.Number, scard)
	return n, s.b.Failed("count", err)
}

// All walks the members, in no order. A member that is there throughout comes at least once, perhaps twice. If the set moves to
// another server meanwhile, the walk begins anew there. A member that does not decode is an error that wraps rueidisson.ErrNotice, after which the walk continues;
// any other error is the last.
//
// Cost: one script call for each 1,000 members, or for as many as have 1 MB. Errors: as Has, and [ErrDecode].
// Source: RSet.iterator, RSet.readAll.
func (s *Set[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return s.walk(ctx, "walk", s.b.h.pages(ctx, readSet, s.b.Key))
}

// walk yields the members of pages.
func (s *Set[T]) walk(ctx context.Context, op string, pages iter.Seq2[[]string, error]) iter.Seq2[T, error] {
	return walked(ctx, s.b, &s.members, op, s.failed, pages)
}

// Remaining returns how long the set stays: 0 if there is none, -1 if it has no end.
//
// Cost: one command. Errors: as Has. Source: RSet.remainTimeToLive.
func (s *Set[T]) Remaining(ctx context.Context) (left time.Duration, err error) {
	return s.b.Remaining(ctx)
}
