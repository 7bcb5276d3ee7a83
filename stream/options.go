package stream

import (
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/entrycodec"
)

// An Option changes a handle. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface {
	apply(*entrycodec.Settings) error
}

type option func(*entrycodec.Settings) error

func (o option) apply(s *entrycodec.Settings) error { return o(s) }

// WithCodec sets the codec of the values, as rueidisson.WithCodec does for all
// objects of a client. Fields stay [codec.Text]: see [WithFieldCodec] and [WithCodecs].
func WithCodec(f codec.Family) Option {
	return option(func(s *entrycodec.Settings) error {
		s.SetFamily(f)
		return nil
	})
}

// WithCodecs sets the codec of the fields and the codec of the values. A Java stream that has
// one codec for both is WithCodecs(f, f).
func WithCodecs(fields, values codec.Family) Option {
	return option(func(s *entrycodec.Settings) error {
		s.SetFamilies(fields, values)
		return nil
	})
}

// WithFieldCodec sets the codec of the names of fields.
func WithFieldCodec[K comparable](c codec.Codec[K]) Option {
	return option(func(s *entrycodec.Settings) error { return entrycodec.SetKey(s, c) })
}

// WithValueCodec sets the codec of the values to one of the program's own. [WithCodec] takes
// a family, which has a codec for each type.
func WithValueCodec[V any](c codec.Codec[V]) Option {
	return option(func(s *entrycodec.Settings) error { return entrycodec.SetValue(s, c) })
}
