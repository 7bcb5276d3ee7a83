package engine

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/rueidisson/rueidisson/codec"
)

// What objects with typed values have in common.

// Family returns what writes the values of objects that are given no codec.
func (e *Engine) Family() codec.Family {
	if e.Values == (codec.Family{}) {
		return codec.Msgpack
	}
	return e.Values
}

// Given returns the codec of an option, if there is one, or else another.
func Given[T any](option any, other codec.Codec[T]) (codec.Codec[T], error) {
	if option == nil {
		return other, nil
	}
	c, fits := option.(codec.Codec[T])
	if !fits {
		return other, fmt.Errorf("%w: %T is no codec of %v", ErrOption, option, reflect.TypeFor[T]())
	}
	return c, nil
}

// Reading makes one exchange that changes nothing. ctx bounds the wait for it.
func Reading[T any](e *Engine, ctx context.Context, call func() (T, error)) (T, error) {
	result, err, _ := Await(e, ctx, 0, call)
	return result, err
}

// Writing makes one exchange that changes something. ctx bounds the wait for it;
// it may be done still when that has ended, which is ErrUnknown.
func Writing[T any](e *Engine, ctx context.Context, call func() (T, error)) (T, error) {
	result, err, answered := Await(e, ctx, 0, call)
	if !answered {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return result, err
}

// UnknownCommand reports whether the server said that it has no such command, to
// a client or to a script.
func UnknownCommand(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "unknown command") || strings.Contains(text, "unknown redis command")
}
