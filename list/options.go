package list

import (
	"strconv"

	"github.com/rueidisson/rueidisson/codec"
)

// An Option changes a handle. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface{ applyHandle(*config) error }

// config is what the options of a handle say.
type config struct {
	codec  any           // a codec.Codec[T]; nil: of the family
	family *codec.Family // nil: the client's
}

// WithCodec sets the codec of the elements, as
// rueidisson.WithCodec does for all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the elements to one of the
// program's own. [WithCodec] takes a family, which has a codec for each type.
func WithValueCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

// decimal returns a number for commands.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
