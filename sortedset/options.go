package sortedset

import (
	"fmt"
	"math"

	"github.com/rueidisson/rueidisson/codec"
)

// An Option changes a handle on a set. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface{ applyHandle(*config) error }

// config is what the options of a handle say.
type config struct {
	codec  any           // a codec.Codec[T]; nil: of the family
	family *codec.Family // nil: text, or the client's
}

// WithCodec sets the codec of the members, as
// rueidisson.WithCodec does for the values of all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithMemberCodec sets the codec of the members to one of the program's own. Equal members must have equal bytes, whatever
// their type. [WithCodec] takes a family, which has a codec for each type.
func WithMemberCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

// A WithinIntoOption changes what [Geo.WithinInto] and [Geo.WithinOfInto] write.
type WithinIntoOption interface{ applyWithinInto(*ranging) error }

// A WithinOption changes one search of a [Geo].
type WithinOption interface {
	WithinIntoOption
	applyWithin(*ranging) error
}

// A RangeOption changes one range, or one search of a [Geo].
type RangeOption interface {
	WithinOption
	applyRange(*ranging) error
}

// ranging is how a range is read.
type ranging struct {
	back      bool
	limited   bool
	limit     int64 // of members
	unsorted  bool
	distances bool
}

// WithDescending begins with the highest score, or the largest distance. Ranks are counted from there.
func WithDescending() RangeOption {
	return rangeOption(func(r *ranging) error {
		r.back = true
		return nil
	})
}

// WithLimit ends a range, or a search, after n members.
func WithLimit(n int64) RangeOption {
	return rangeOption(func(r *ranging) error {
		if n < 0 {
			return fmt.Errorf("%w: a limit of %d members", ErrInvalidArgument, n)
		}
		r.limited, r.limit = true, n
		return nil
	})
}

type rangeOption func(*ranging) error

func (o rangeOption) applyRange(r *ranging) error      { return o(r) }
func (o rangeOption) applyWithin(r *ranging) error     { return o(r) }
func (o rangeOption) applyWithinInto(r *ranging) error { return o(r) }

// WithUnsorted has a search return members as it finds them, and not by their distances. Then it keeps none in the memory of
// the process. With [WithLimit] it returns any n members of the area, and neither the server nor the process looks at all of them.
func WithUnsorted() WithinOption {
	return withinOption(func(r *ranging) error {
		r.unsorted = true
		return nil
	})
}

type withinOption func(*ranging) error

func (o withinOption) applyWithin(r *ranging) error     { return o(r) }
func (o withinOption) applyWithinInto(r *ranging) error { return o(r) }

// WithDistances writes the distance of each member from the centre, in metres, as its score. Then what is written is a sorted
// set for [New], and no set of places.
func WithDistances() WithinIntoOption {
	return withinIntoOption(func(r *ranging) error {
		r.distances = true
		return nil
	})
}

type withinIntoOption func(*ranging) error

func (o withinIntoOption) applyWithinInto(r *ranging) error { return o(r) }

// An IntoOption changes how [Set.UnionInto] and [Set.InterInto] make a score of those of a member in several sets.
type IntoOption interface{ applyInto(*mixing) error }

// Aggregate is how the scores of a member in several sets become one.
type Aggregate string

// The ways to make one score of several.
const (
	Sum Aggregate = "SUM"
	Min Aggregate = "MIN"
	Max Aggregate = "MAX"
)

// mixing is how scores become one.
type mixing struct {
	aggregate Aggregate
	weights   []float64
}

// WithAggregate sets how the scores of a member in several sets become one. The default is [Sum].
func WithAggregate(a Aggregate) IntoOption {
	return intoOption(func(m *mixing) error {
		if a != Sum && a != Min && a != Max {
			return fmt.Errorf("%w: aggregate %.10q", ErrInvalidArgument, string(a))
		}
		m.aggregate = a
		return nil
	})
}

// WithWeights multiplies the scores of each set before they become one: first those of the set of the handle, then those of the
// others in their order. There is one weight for each set.
func WithWeights(weights ...float64) IntoOption {
	return intoOption(func(m *mixing) error {
		for _, w := range weights {
			if math.IsNaN(w) || math.IsInf(w, 0) {
				return fmt.Errorf("%w: weight %v", ErrInvalidArgument, w)
			}
		}
		m.weights = weights
		return nil
	})
}

type intoOption func(*mixing) error

func (o intoOption) applyInto(m *mixing) error { return o(m) }
