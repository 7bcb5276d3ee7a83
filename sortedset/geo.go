package sortedset

import (
	"context"
	"iter"
	"math"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Position is a place on the earth, in degrees: its longitude is from -180, in the west, through 180, its latitude from -85.05112878,
// in the south, through 85.05112878. Redis takes no places beyond.
//
// Redis keeps a position as one of 2^52 cells, and returns the middle of it, which is up to 0.35 m away.
type Position struct {
	Longitude, Latitude float64
}

// Distance is a length in metres: 5*[Kilometre] is one.
//
// Distances are those of a sphere with a radius of 6,372,797.560856 m, as Redis has them. The earth is none: they may be wrong by
// 0.5 %.
type Distance float64

// Lengths, as Redis has them.
const (
	Metre     Distance = 1
	Kilometre Distance = 1000
	Foot      Distance = 0.3048
	Mile      Distance = 1609.34
)

// Place is a member of a [Geo] and its position.
type Place[T any] struct {
	Value    T
	Position Position
}

// Near is a member of a [Geo], its position, and how far that is from the centre.
type Near[T any] struct {
	Value    T
	Position Position
	Distance Distance
}

// Geo is a handle on the set of places of one name, which Redisson's RGeo shares: a sorted set whose scores are positions, as GEOADD
// computes them. It holds nothing, so it may be used by any number of goroutines, and any
// number of handles on one name are the same set.
//
// A [Set] of the same name is the same members. Their scores then are the cells of their positions.
type Geo[T any] struct {
	common
	members[T]
}

// NewGeo returns a handle on the set of places of that name. A type that contains a map or an interface is refused, as by [New].
func NewGeo[T any](c Client, name string, opts ...Option) *Geo[T] {
	e := c.Engine()
	m, err := newMembers[T](e, name, opts)
	return &Geo[T]{common{newBase(e, "set of places", name, err)}, m}
}

// Add puts a member at a position, and reports whether it was not there before. One that was there moves.
//
// Cost: one command. Errors: as [Set.Add]; a position that is out of range is [ErrInvalidArgument]. Source: RGeo.add.
func (g *Geo[T]) Add(ctx context.Context, at Position, v T) (added bool, err error) {
	added, err = g.add(ctx, at, v)
	return added, g.b.Failed("add to", err)
}

// AddIfAbsent puts a member at a position if it is not there, and reports whether it did.
//
// Cost and errors: as Add. Source: RGeo.tryAdd.
func (g *Geo[T]) AddIfAbsent(ctx context.Context, at Position, v T) (added bool, err error) {
	added, err = g.add(ctx, at, v, "NX")
	return added, g.b.Failed("add to", err)
}

// AddIfExists moves a member if it is there, and reports whether it was at another position.
//
// Cost and errors: as Add. Source: RGeo.addIfExists.
func (g *Geo[T]) AddIfExists(ctx context.Context, at Position, v T) (moved bool, err error) {
	moved, err = g.add(ctx, at, v, "XX", "CH")
	return moved, g.b.Failed("move", err)
}

// add sends ZADD of one member: GEOADD is the same for the server, and not every server has its options.
func (g *Geo[T]) add(ctx context.Context, at Position, v T, words ...string) (bool, error) {
	added, err := g.addAll(ctx, []Place[T]{{v, at}}, words...)
	return added == 1, err
}

// AddMany puts members at their positions, as Add does, and returns how many were not there before. Those of one command appear
// together. After an error some may have been added.
//
// Cost: one command for each 1,000 members, or for as many as have 1 MB; none without members. Errors: as Add. Source: RGeo.add
// of entries.
func (g *Geo[T]) AddMany(ctx context.Context, places ...Place[T]) (added int64, err error) {
	added, err = g.addAll(ctx, places)
	return added, g.b.Failed("add to", err)
}

func (g *Geo[T]) addAll(ctx context.Context, places []Place[T], options ...string) (int64, error) {
	if err := g.b.Usable(ctx); err != nil {
		return 0, err
	}
	words := make([]string, 0, 2*len(places))
	for _, p := range places {
		if err := p.Position.check(); err != nil {
			return 0, err
		}
		score, err := scoreText(p.Position.cell())
		if err != nil {
			return 0, err
		}
		text, err := g.text(p.Value)
		if err != nil {
			return 0, err
		}
		words = append(words, score, text)
	}
	return inParts(words, 2, func(some []string) (int64, error) {
		return write(ctx, g.b, send.Number, zadd, g.b.Keys, append(options[:len(options):len(options)], some...)...)
	})
}

// Position returns where a member is, and whether it is there.
//
// Positions of one process of one set that are asked for while others are on their way go out together.
//
// Cost: a share of one command. Errors: as [Set.Score], and [ErrDecode] if its score is no position. Source: RGeo.pos.
func (g *Geo[T]) Position(ctx context.Context, v T) (at Position, there bool, err error) {
	var text string
	score := math.NaN()
	if err = g.b.Usable(ctx); err == nil {
		text, err = g.text(v)
	}
	if err == nil {
		score, err = g.b.h.scores.Do(ctx, g.b.Key, text)
	}
	if err == nil && !math.IsNaN(score) {
		there = true
		at, err = g.position(text, score)
	}
	return at, there && err == nil, g.b.Failed("look into", err)
}

// position returns that of a score.
func (m *members[T]) position(text string, score float64) (Position, error) {
	at, ok := positionOf(score)
	if !ok {
		return at, &codec.DecodeError{Name: m.name, Bytes: []byte(text), Cause: errNoPosition}
	}
	return at, nil
}

// Positions returns where members are; both coordinates are NaN for each that is not there. Those of one command are of one moment.
//
// Cost: one command for each 1,000 members, or for as many as have 1 MB; none without members. Errors: as Position. Source:
// RGeo.pos.
func (g *Geo[T]) Positions(ctx context.Context, vs ...T) (all []Position, err error) {
	all, err = g.positions(ctx, vs)
	return all, g.b.Failed("look into", err)
}

func (g *Geo[T]) positions(ctx context.Context, vs []T) ([]Position, error) {
	if err := g.b.Usable(ctx); err != nil {
		return nil, err
	}
	texts, err := g.texts(vs)
	if err != nil {
		return nil, err
	}
	all := make([]Position, 0, len(texts))
	_, err = inParts(texts, 1, func(some []string) (int64, error) {
		scores, err := send.Reading(g.e.Sender, ctx, func() ([]float64, error) { return g.b.h.scoresOf(ctx, g.b.Key, some) })
		for i, score := range scores {
			at := Position{math.NaN(), math.NaN()}
			if !math.IsNaN(score) {
				var bad error
				if at, bad = g.position(some[i], score); bad != nil {
					return 0, bad
				}
			}
			all = append(all, at)
		}
		return 0, err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Distance returns how far two members are from each other, and whether both are there.
//
// Cost: one command. Errors: as Position. Source: RGeo.dist.
func (g *Geo[T]) Distance(ctx context.Context, a, b T) (d Distance, there bool, err error) {
	both, err := g.positions(ctx, []T{a, b})
	if err != nil || math.IsNaN(both[0].Latitude) || math.IsNaN(both[1].Latitude) {
		return 0, false, g.b.Failed("look into", err)
	}
	return Distance(apart(both[0], both[1])), true, nil
}

// Hash returns the geohash of a member, and whether it is there. It has 11 letters. The last one is always 0.
//
// Cost and errors: as Position. Source: RGeo.hash.
func (g *Geo[T]) Hash(ctx context.Context, v T) (hash string, there bool, err error) {
	at, there, err := g.Position(ctx, v)
	if err != nil || !there {
		return "", false, err
	}
	return at.geohash(), true, nil
}

// Remove removes members, and returns how many were there. After an error some may have been removed.
//
// Cost: one command for each 1,000 members, or for as many as have 1 MB; none without members. Errors: as [Set.Add]. Source:
// RGeo.removeAll.
func (g *Geo[T]) Remove(ctx context.Context, vs ...T) (removed int64, err error) {
	return remove(ctx, g.b, &g.members, vs)
}

// All walks the members with their positions, as [Set.All] walks those of a set. Their order is that of their cells: many that
// are near each other come after each other. A member whose score is no position is [ErrDecode] with
// rueidisson.ErrNotice, and the walk continues.
//
// Cost and errors: as [Set.All]. Source: RGeo.iterator, readAll.
func (g *Geo[T]) All(ctx context.Context) iter.Seq2[Place[T], error] {
	return func(yield func(Place[T], error) bool) {
		for is, err := range g.b.walk(ctx, nil, begin{at: "first"}, "-inf", "+inf", nil) {
			var p Place[T]
			if err == nil {
				p, err = g.place(is)
				err = core.Notice(err)
			}
			if !yield(p, g.b.Failed("walk", err)) {
				return
			}
		}
	}
}

// place returns a member that was read.
func (m *members[T]) place(is scored) (p Place[T], err error) {
	e, err := m.entry(is)
	if err == nil {
		p.Value = e.Value
		p.Position, err = m.position(is.text, e.Score)
	}
	return p, err
}

// Check does what [Set.Check] does.
//
// Cost and errors: as [Set.Check].
func (g *Geo[T]) Check(ctx context.Context) error { return g.b.check(ctx, geoCommands, geoScripts) }
