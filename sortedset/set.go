package sortedset

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Set is a handle on the sorted set of one name, which Redisson's RScoredSortedSet shares. It
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same set.
type Set[T any] struct {
	common
	members[T]
}

// New returns a handle on the sorted set of that name. A type that contains a map or an interface is refused: equal values of it
// may have different bytes.
func New[T any](c Client, name string, opts ...Option) *Set[T] {
	e := c.Engine()
	m, err := newMembers[T](e, name, opts)
	return &Set[T]{common{newBase(e, "sorted set", name, err)}, m}
}

// Add gives a member a score, and reports whether it was not there before. One that was there has the new score.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the answer;
// ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RScoredSortedSet.add.
func (s *Set[T]) Add(ctx context.Context, score float64, v T) (added bool, err error) {
	added, err = s.add(ctx, score, v)
	return added, s.b.Failed("add to", err)
}

// AddIfAbsent adds a member if it is not there, and reports whether it did.
//
// Cost and errors: as Add. Source: RScoredSortedSet.addIfAbsent.
func (s *Set[T]) AddIfAbsent(ctx context.Context, score float64, v T) (added bool, err error) {
	added, err = s.add(ctx, score, v, "NX")
	return added, s.b.Failed("add to", err)
}

// AddIfExists gives a member another score if it is there, and reports whether it had a different one.
//
// Cost and errors: as Add. Source: RScoredSortedSet.addIfExists.
func (s *Set[T]) AddIfExists(ctx context.Context, score float64, v T) (changed bool, err error) {
	changed, err = s.add(ctx, score, v, "XX", "CH")
	return changed, s.b.Failed("change", err)
}

// AddIfLess gives a member a score if it is not there or has a higher one, and reports whether it did.
//
// Cost and errors: as Add. Source: RScoredSortedSet.addIfLess.
func (s *Set[T]) AddIfLess(ctx context.Context, score float64, v T) (changed bool, err error) {
	changed, err = s.add(ctx, score, v, "LT", "CH")
	return changed, s.b.Failed("lower", err)
}

// AddIfGreater gives a member a score if it is not there or has a lower one, and reports whether it did. So a set has the best
// score of each member.
//
// Cost and errors: as Add. Source: RScoredSortedSet.addIfGreater.
func (s *Set[T]) AddIfGreater(ctx context.Context, score float64, v T) (changed bool, err error) {
	changed, err = s.add(ctx, score, v, "GT", "CH")
	return changed, s.b.Failed("raise", err)
}

// add sends ZADD of one member.
func (s *Set[T]) add(ctx context.Context, score float64, v T, words ...string) (bool, error) {
	if err := s.b.Usable(ctx); err != nil {
		return false, err
	}
	number, err := scoreText(score)
	if err != nil {
		return false, err
	}
	text, err := s.text(v)
	if err != nil {
		return false, err
	}
	return write(ctx, s.b, send.Yes, zadd, s.b.Keys, append(words, number, text)...)
}

// AddMany adds members with their scores, as Add does, and returns how many were not there before. Those of one command appear
// together. After an error some may have been added.
//
// Cost: one command for each 1,000 members, or for as many as have 1 MB; none without members. Errors: as Add. Source:
// RScoredSortedSet.addAll.
func (s *Set[T]) AddMany(ctx context.Context, entries ...Entry[T]) (added int64, err error) {
	words, err := s.words(ctx, entries)
	if err == nil {
		added, err = inParts(words, 2, func(some []string) (int64, error) {
			return write(ctx, s.b, send.Number, zadd, s.b.Keys, some...)
		})
	}
	return added, s.b.Failed("add to", err)
}

// words returns members as ZADD takes them.
func (s *Set[T]) words(ctx context.Context, entries []Entry[T]) ([]string, error) {
	if err := s.b.Usable(ctx); err != nil {
		return nil, err
	}
	words := make([]string, 0, 2*len(entries))
	for _, e := range entries {
		number, err := scoreText(e.Score)
		if err != nil {
			return nil, err
		}
		text, err := s.text(e.Value)
		if err != nil {
			return nil, err
		}
		words = append(words, number, text)
	}
	return words, nil
}

// mostHarmless is how much can be added to any score without making it infinite: it is less than half of the last place of
// the largest one.
var mostHarmless = math.Ldexp(1, 969)

// AddScore adds to the score of a member, and returns the new score. A member that is not there has 0 before. A sum that
// would be infinite is [ErrInvalidArgument], and changes nothing.
//
// Cost: one command, or one script call if delta is above 10^291. Errors: as Add. Source: RScoredSortedSet.addScore.
func (s *Set[T]) AddScore(ctx context.Context, delta float64, v T) (score float64, err error) {
	score, err = s.addScore(ctx, delta, v)
	return score, s.b.Failed("add to a score of", err)
}

func (s *Set[T]) addScore(ctx context.Context, delta float64, v T) (float64, error) {
	if err := s.b.Usable(ctx); err != nil {
		return 0, err
	}
	number, err := scoreText(delta)
	if err != nil {
		return 0, err
	}
	text, err := s.text(v)
	if err != nil {
		return 0, err
	}
	by := send.Operation(zincrby)
	if math.Abs(delta) > mostHarmless {
		by = addScoreScript
	}
	return write(ctx, s.b, func(got send.Answer, err error) (float64, error) {
		switch {
		case err != nil:
			return 0, err
		case got.Nil:
			return 0, fmt.Errorf("%w: the score would be infinite", ErrInvalidArgument)
		}
		return got.AsFloat64()
	}, by, s.b.Keys, number, text)
}

// Score returns the score of a member, and whether it is there.
//
// Scores of one process of one set that are asked for while others are on their way go out together.
//
// Cost: a share of one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RScoredSortedSet.getScore, contains.
func (s *Set[T]) Score(ctx context.Context, v T) (score float64, there bool, err error) {
	var text string
	if err = s.b.Usable(ctx); err == nil {
		text, err = s.text(v)
	}
	if err == nil {
		score, err = s.b.h.scores.Do(ctx, s.b.Key, text)
	}
	if err != nil || math.IsNaN(score) {
		return 0, false, s.b.Failed("look into", err)
	}
	return score, true, nil
}

// Scores returns the scores of members, and NaN for each that is not there. Those of one command are of one moment.
//
// Cost: one command for each 1,000 members, or for as many as have 1 MB; none without members. Errors: as Score. Source:
// RScoredSortedSet.getScore of a collection.
func (s *Set[T]) Scores(ctx context.Context, vs ...T) (scores []float64, err error) {
	scores, err = s.scores(ctx, vs)
	return scores, s.b.Failed("look into", err)
}

func (s *Set[T]) scores(ctx context.Context, vs []T) ([]float64, error) {
	if err := s.b.Usable(ctx); err != nil {
		return nil, err
	}
	texts, err := s.texts(vs)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, 0, len(texts))
	_, err = inParts(texts, 1, func(some []string) (int64, error) {
		got, err := send.Reading(s.e.Sender, ctx, func() ([]float64, error) { return s.b.h.scoresOf(ctx, s.b.Key, some) })
		scores = append(scores, got...)
		return 0, err
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

// Rank returns how many members come before a member by rising scores, and whether it is there. Members with one score are in the
// order of their bytes.
//
// Cost: one command. Errors: as Score. Source: RScoredSortedSet.rank.
func (s *Set[T]) Rank(ctx context.Context, v T) (rank int64, there bool, err error) {
	return rankOf(ctx, s.b, &s.members, zrank, v)
}

// RevRank returns how many members come before a member by falling scores, and whether it is there: 0 is the best of a
// leaderboard.
//
// Cost: one command. Errors: as Score. Source: RScoredSortedSet.revRank.
func (s *Set[T]) RevRank(ctx context.Context, v T) (rank int64, there bool, err error) {
	return rankOf(ctx, s.b, &s.members, zrevrank, v)
}

// rankOf returns the rank of a member.
func rankOf[T any](ctx context.Context, b *base, m *members[T], by send.Operation, v T) (rank int64, there bool, err error) {
	var text string
	if err = b.Usable(ctx); err == nil {
		text, err = m.text(v)
	}
	if err == nil {
		rank, err = read(ctx, b, func(got send.Answer, err error) (int64, error) {
			if err != nil || got.Nil {
				return absent, err
			}
			return got.AsInt64()
		}, by, text)
	}
	if err != nil || rank == absent {
		return 0, false, b.Failed("look into", err)
	}
	return rank, true, nil
}

// absent is the rank of a member that is not there.
const absent = -1

// Remove removes members, and returns how many were there. After an error some may have been removed.
//
// Cost: one command for each 1,000 members, or for as many as have 1 MB; none without members. Errors: as Add. Source:
// RScoredSortedSet.removeAll.
func (s *Set[T]) Remove(ctx context.Context, vs ...T) (removed int64, err error) {
	return remove(ctx, s.b, &s.members, vs)
}

// remove removes members.
func remove[T any](ctx context.Context, b *base, m *members[T], vs []T) (removed int64, err error) {
	var texts []string
	if err = b.Usable(ctx); err == nil {
		texts, err = m.texts(vs)
	}
	if err == nil {
		removed, err = inParts(texts, 1, func(some []string) (int64, error) {
			return write(ctx, b, send.Number, zrem, b.Keys, some...)
		})
	}
	return removed, b.Failed("remove from", err)
}

// UnionInto writes the members of this set and of the sets of other names into the set of the name to, over whatever that
// name has, of any type and with its time to live, and returns how many there are. A member has the sum of its scores, see
// [WithAggregate] and [WithWeights]. A sum beyond the largest float64 is infinite; Java cannot read a set that has one. A plain
// set may be among the others: its members have the score 1.
//
// It is one step: the server does nothing else meanwhile, about 1 s for two sets of 500,000. On a cluster all names share a hash
// tag, such as a:{1} and b:{1}.
//
// Cost: one command. Errors: as [Set.Add], and [ErrSlotMoving]. Source: RScoredSortedSet.union.
func (s *Set[T]) UnionInto(ctx context.Context, to string, names []string, opts ...IntoOption) (n int64, err error) {
	return s.into(ctx, "unite", zunionstore, to, names, opts)
}

// InterInto writes the members of this set that are in all sets of other names, too, as [Set.UnionInto] does.
//
// Cost and errors: as UnionInto. Source: RScoredSortedSet.intersection.
func (s *Set[T]) InterInto(ctx context.Context, to string, names []string, opts ...IntoOption) (n int64, err error) {
	return s.into(ctx, "intersect", zinterstore, to, names, opts)
}

// DiffInto writes the members of this set that are in none of the sets of other names, with the scores that they have here, as
// [Set.UnionInto] does. A server without ZDIFFSTORE, as that of package rueidissontest, returns [errors.ErrUnsupported].
//
// Cost and errors: as UnionInto. Source: RScoredSortedSet.diff.
func (s *Set[T]) DiffInto(ctx context.Context, to string, names []string) (n int64, err error) {
	return s.into(ctx, "subtract from", zdiffstore, to, names, nil)
}

// into has the server write a set.
func (s *Set[T]) into(ctx context.Context, op string, by send.Operation, to string, names []string, opts []IntoOption) (n int64, err error) {
	var on []string
	var mix mixing
	if err = s.b.Usable(ctx); err == nil {
		mix, err = object.Options(mix, opts, IntoOption.applyInto)
	}
	if err == nil {
		on, err = s.b.with(append([]string{to}, names...)...)
	}
	if err == nil && mix.weights != nil && len(mix.weights) != len(on)-1 {
		err = fmt.Errorf("%w: %d weights of %d sets", ErrInvalidArgument, len(mix.weights), len(on)-1)
	}
	if err == nil {
		sources := append([]string{on[0]}, on[2:]...)
		n, err = write(ctx, s.b, send.Number, by, on[1:2], slices.Concat([]string{decimal(int64(len(sources)))}, sources, mix.words())...)
	}
	return n, s.b.severalFailed(op, err)
}

// words returns what Z…STORE takes after its keys.
func (m mixing) words() (words []string) {
	if m.weights != nil {
		words = append(words, "WEIGHTS")
		for _, w := range m.weights {
			text, _ := scoreText(w) // the option has looked at it
			words = append(words, text)
		}
	}
	if m.aggregate != "" {
		words = append(words, "AGGREGATE", string(m.aggregate))
	}
	return words
}

// RangeInto writes the members from one rank through another into the set of the name to, over whatever that name has, and
// returns how many there are. Ranks are as those of [Set.Range]. It is one step: the server does nothing else meanwhile, about 0.5 s
// for 500,000 members. On a cluster both names share a hash tag. A server without ZRANGESTORE, as that of package rueidissontest,
// returns [errors.ErrUnsupported].
//
// Cost: one command. Errors: as UnionInto. Source: RScoredSortedSet.rangeTo.
func (s *Set[T]) RangeInto(ctx context.Context, to string, from, through int64) (n int64, err error) {
	var on []string
	if err = s.b.Usable(ctx); err == nil {
		on, err = s.b.with(to)
	}
	if err == nil {
		n, err = write(ctx, s.b, send.Number, zrangestore, []string{on[1], on[0]}, decimal(from), decimal(through))
	}
	return n, s.b.severalFailed("copy a range of", err)
}
