package bloom

import (
	"github.com/rueidisson/rueidisson/codec"
)

// An Option changes a handle on a [Filter]. If an option is invalid, such as a codec of another type, every operation of the
// handle returns [ErrInvalidArgument].
type Option interface{ apply(*config) error }

// config is what the options of a handle say.
type config struct {
	codec  any           // a codec.Codec[T]; nil: of the family
	family *codec.Family // nil: the default
}

// WithCodec sets the codec of the values. Without it, values that have a text are written as [codec.Text], others in the
// codec of the client. Java must write the same bytes: the codec is part of what is hashed.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the values to one of the program's own. It must write equal values as equal bytes.
func WithValueCodec[T any](own codec.Codec[T]) Option {
	return option(func(c *config) error {
		c.codec = own
		return codec.Check(own)
	})
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }
