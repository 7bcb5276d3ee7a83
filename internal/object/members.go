package object

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// MemberCodec returns the codec of values that the server compares by their bytes: given unless it is nil, else that of a
// family. Without a family it is that of texts for a type that has a text, else that of the client. What a family writes in
// more than one way is refused: a type that contains a map or an interface.
func MemberCodec[T any](e *locking.Engine, family *codec.Family, given any) (codec.Codec[T], error) {
	if given != nil {
		return Codec[T](e, nil, given)
	}
	if text := codec.For[T](codec.Text); codec.Check(text) == nil && (family == nil || *family == codec.Text) {
		return text, nil
	}
	if found := ambiguous(reflect.TypeFor[T](), nil); found != nil {
		return nil, fmt.Errorf("%w: %v contains %v: equal values may have different bytes", core.ErrInvalidArgument, reflect.TypeFor[T](), found)
	}
	return Codec[T](e, family, nil)
}

var marshaler = reflect.TypeFor[encoding.TextMarshaler]()

// ambiguous returns a map or an interface that is part of a type, nil if there is none. A type with a text of its own has
// none, and neither have the types in above, at which it has looked.
func ambiguous(t reflect.Type, above []reflect.Type) reflect.Type {
	if slices.Contains(above, t) || len(above) > 0 && reflect.PointerTo(t).Implements(marshaler) {
		return nil
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Map, reflect.Interface:
		return t
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return ambiguous(t.Elem(), above)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous { // others are not written
				if found := ambiguous(f.Type, above); found != nil {
					return found
				}
			}
		}
	}
	return nil
}
