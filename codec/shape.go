package codec

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// form is what a family has to tell apart.
type form int

const (
	other form = iota
	aString
	anInt
	aUint
	aFloat
	aBool
	someBytes
	byteArray
	texted // by its own MarshalText
)

// shape is what the values of a type are, whatever its name is.
type shape struct {
	is   form
	kind reflect.Kind
	bits int  // of numbers
	size int  // of an array of bytes
	text bool // it has MarshalText and UnmarshalText, or its pointer has
}

var (
	marshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func shapeOf(t reflect.Type) shape {
	s := shape{kind: t.Kind(), is: formOf(t)}
	if p := reflect.PointerTo(t); s.kind != reflect.Interface && s.kind != reflect.Pointer {
		s.text = p.Implements(marshaler) && p.Implements(unmarshaler)
	}
	if s.is == anInt || s.is == aUint || s.is == aFloat {
		s.bits = t.Bits()
	}
	if s.is == byteArray {
		s.size = t.Len()
	}
	return s
}

func formOf(t reflect.Type) form {
	switch t.Kind() {
	case reflect.String:
		return aString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return anInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return aUint
	case reflect.Float32, reflect.Float64:
		return aFloat
	case reflect.Bool:
		return aBool
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return someBytes
		}
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return byteArray
		}
	}
	return other
}

// orText returns the form of s in a family with a text for what has one makes of s.
func (s shape) orText() form {
	if s.text {
		return texted
	}
	return s.is
}

// as returns v by the type that it is made of; of is the way back. Both are for
// types of the same kind, so that the bytes in memory are the same.
func as[S, T any](v T) S { return *(*S)(unsafe.Pointer(&v)) }

func of[T, S any](v S) T { return *(*T)(unsafe.Pointer(&v)) }

func signed[T any](kind reflect.Kind, v T) int64 {
	switch kind {
	case reflect.Int:
		return int64(as[int](v))
	case reflect.Int8:
		return int64(as[int8](v))
	case reflect.Int16:
		return int64(as[int16](v))
	case reflect.Int32:
		return int64(as[int32](v))
	}
	return as[int64](v)
}

func unsigned[T any](kind reflect.Kind, v T) uint64 {
	switch kind {
	case reflect.Uint:
		return uint64(as[uint](v))
	case reflect.Uint8:
		return uint64(as[uint8](v))
	case reflect.Uint16:
		return uint64(as[uint16](v))
	case reflect.Uint32:
		return uint64(as[uint32](v))
	case reflect.Uintptr:
		return uint64(as[uintptr](v))
	}
	return as[uint64](v)
}

func float[T any](kind reflect.Kind, v T) float64 {
	if kind == reflect.Float32 {
		return float64(as[float32](v))
	}
	return as[float64](v)
}

// ranged returns n as a T, if it fits.
func ranged[T any](s shape, n int64, err error) (v T, _ error) {
	if err != nil {
		return v, err
	}
	if shift := 64 - s.bits; n<<shift>>shift != n {
		return v, outside[T](n)
	}
	switch s.kind {
	case reflect.Int:
		return of[T](int(n)), nil
	case reflect.Int8:
		return of[T](int8(n)), nil
	case reflect.Int16:
		return of[T](int16(n)), nil
	case reflect.Int32:
		return of[T](int32(n)), nil
	}
	return of[T](n), nil
}

func rangedUint[T any](s shape, n uint64, err error) (v T, _ error) {
	if err != nil {
		return v, err
	}
	if shift := 64 - s.bits; n<<shift>>shift != n {
		return v, outside[T](n)
	}
	switch s.kind {
	case reflect.Uint:
		return of[T](uint(n)), nil
	case reflect.Uint8:
		return of[T](uint8(n)), nil
	case reflect.Uint16:
		return of[T](uint16(n)), nil
	case reflect.Uint32:
		return of[T](uint32(n)), nil
	case reflect.Uintptr:
		return of[T](uintptr(n)), nil
	}
	return of[T](n), nil
}

func rangedFloat[T any](s shape, f float64, err error) (v T, _ error) {
	switch {
	case err != nil:
		return v, err
	case s.kind == reflect.Float64:
		return of[T](f), nil
	case !math.IsInf(f, 0) && math.Abs(f) > math.MaxFloat32:
		return v, outside[T](f)
	}
	return of[T](float32(f)), nil
}

// array returns an array of bytes with the content of b.
func array[T any](s shape, b []byte, err error) (v T, _ error) {
	switch {
	case err != nil:
		return v, err
	case len(b) != s.size:
		return v, fmt.Errorf("%d bytes for %T", len(b), v)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), s.size), b)
	return v, nil
}

func outside[T any](n any) error {
	return fmt.Errorf("%v is outside of what %v can be", n, reflect.TypeFor[T]())
}

// unwritable reports that values of this kind are nothing outside of a process.
func (s shape) unwritable() bool {
	switch s.kind {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return true
	}
	return false
}

// present makes a nil slice or map empty, which in other languages are not the
// same. A nil pointer or interface is refused.
func present[T any](kind reflect.Kind, v *T) error {
	switch kind {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
	default:
		return nil
	}
	r := reflect.ValueOf(v).Elem()
	if !r.IsNil() {
		return nil
	}
	switch kind {
	case reflect.Slice:
		r.Set(reflect.MakeSlice(r.Type(), 0, 0))
	case reflect.Map:
		r.Set(reflect.MakeMap(r.Type()))
	default:
		return optionf("a nil %v", r.Type())
	}
	return nil
}
