package core

import (
	"fmt"
	"reflect"

	"github.com/rueidisson/rueidisson/codec"
)

// What objects with typed values have in common.

// Family returns what writes the values of objects that are given no codec.
func (c *Core) Family() codec.Family {
	if c.Values == (codec.Family{}) {
		return codec.Msgpack
	}
	return c.Values
}

// Given returns the codec of an option, if there is one, or else another.
func Given[T any](option any, other codec.Codec[T]) (codec.Codec[T], error) {
	if option == nil {
		return other, nil
	}
	c, fits := option.(codec.Codec[T])
	if !fits {
		return other, fmt.Errorf("%w: %T is no codec of %v", ErrInvalidArgument, option, reflect.TypeFor[T]())
	}
	return c, nil
}

// LargestValue is what a server takes as one argument unless its
// proto-max-bulk-len says otherwise.
const LargestValue = 512 << 20

// Fits refuses a key or a value of n bytes that is longer than the client's
// bound, before it is sent: a server ends the connection on which it comes, and
// everything else that is under way on it.
func (c *Config) Fits(n int) error {
	most := c.MaxValue
	if most == 0 {
		most = LargestValue
	}
	if n > most {
		return fmt.Errorf("%w: %d bytes are more than the %d of WithMaxValue", ErrInvalidArgument, n, most)
	}
	return nil
}
