package codec

import (
	"encoding"
	"fmt"
	"reflect"
	"unsafe"
)

// Codec turns values of T into bytes and back. It is safe for concurrent use.
type Codec[T any] interface {
	// Append appends the bytes of v to dst. What it cannot write is an error
	// that wraps [ErrInvalidArgument].
	Append(dst []byte, v T) ([]byte, error)

	// Decode reads all of b. It neither keeps nor changes b.
	Decode(b []byte) (T, error)
}

// For returns the codec of a family for a type. What the family has no bytes for is
// the error of its operations, and of [Check].
func For[T any](f Family) Codec[T] { return build[T](f, false) }

// Key returns the codec of keys that are given no other: [Text].
func Key[K comparable]() Codec[K] { return KeyOf[K](Text) }

// KeyOf returns the codec of a family for keys. Equal keys must have the same bytes: KeyOf refuses
// floats, interfaces, pointers, and structs and arrays that have no text. For these give a codec of
// [For].
func KeyOf[K comparable](f Family) Codec[K] { return build[K](f, true) }

// Check returns why c can be used for nothing: there is none, or its family has no
// bytes for the type. The error wraps [ErrInvalidArgument].
func Check[T any](c Codec[T]) error {
	if m, ours := c.(*made[T]); ours && m != nil {
		return m.err
	}
	if v := reflect.ValueOf(c); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return optionf("no codec for %v", reflect.TypeFor[T]())
	}
	return nil
}

// IsText reports whether c writes [Text]: what a server can add to, and match
// with a pattern.
func IsText[T any](c Codec[T]) bool {
	m, ours := c.(*made[T])
	if !ours {
		return false
	}
	_, text := m.to.(textFormat)
	return text
}

// Encode returns v as a command takes it. Its errors are those of the codec.
func Encode[T any](c Codec[T], v T) (string, error) {
	if m, ours := c.(*made[T]); ours && m.same {
		s := as[string](v)
		if m.err != nil {
			return s, m.err
		}
		return s, utf8Only(s)
	}
	b, err := c.Append(nil, v)
	return unsafe.String(unsafe.SliceData(b), len(b)), err
}

// Decode returns the value of what a reply has. It copies nothing where the text is the value.
// Errors: those of the codec, with the names of T and of the codec.
func Decode[T any](c Codec[T], s string) (v T, err error) {
	m, ours := c.(*made[T])
	if ours {
		v, err = m.read(s)
	} else {
		v, err = c.Decode([]byte(s))
	}
	switch {
	case err == nil:
		return v, nil
	case ours:
		return v, fmt.Errorf("no %v in %v: %w", reflect.TypeFor[T](), m.family, err)
	}
	return v, fmt.Errorf("no %v for a %T: %w", reflect.TypeFor[T](), c, err)
}

// made is a codec of this package.
type made[T any] struct {
	family Family
	shape  shape
	form   form
	to     format
	same   bool // a string whose bytes are its own
	err    error
}

func build[T any](f Family, key bool) *made[T] {
	t := reflect.TypeFor[T]()
	m := &made[T]{family: f, shape: shapeOf(t), to: f.format()}
	if m.to == nil {
		m.err = optionf("no codec family for %v", t)
		return m
	}
	m.form, m.err = m.to.takes(t, m.shape)
	if n, ok := m.to.(narrowing); ok {
		m.to = n.narrow(m.shape)
	}
	if m.err == nil && key {
		switch s := m.shape; {
		case s.text && f.kind != raw:
			m.form = texted
		case s.text, s.is == aString || s.is == anInt || s.is == aUint || s.is == aBool || s.is == byteArray:
		default: // equal values could have different bytes, or different ones the same
			m.err = optionf("%v cannot be a key: take a string, an integer, a bool, an array of bytes or a type with MarshalText and UnmarshalText", t)
		}
	}
	m.same = f.kind == text && m.form == aString
	return m
}

func (m *made[T]) Append(dst []byte, v T) ([]byte, error) {
	if m.err != nil {
		return dst, m.err
	}
	b, err := m.write(dst, v)
	if err != nil {
		return dst, err
	}
	return b, nil
}

func (m *made[T]) write(dst []byte, v T) ([]byte, error) {
	switch m.form {
	case aString:
		return m.to.appendString(dst, as[string](v))
	case anInt:
		return m.to.appendInt(dst, signed(m.shape.kind, v))
	case aUint:
		return m.to.appendUint(dst, unsigned(m.shape.kind, v))
	case aFloat:
		return m.to.appendFloat(dst, float(m.shape.kind, v), m.shape.bits)
	case aBool:
		return m.to.appendBool(dst, as[bool](v))
	case someBytes:
		return m.to.appendBytes(dst, as[[]byte](v))
	case byteArray:
		return m.appendArray(dst, v)
	case texted:
		return m.appendText(dst, v)
	}
	return m.appendOther(dst, v)
}

// What takes v's address stands apart, so that only there v is on the heap.

func (m *made[T]) appendArray(dst []byte, v T) ([]byte, error) {
	return m.to.appendBytes(dst, unsafe.Slice((*byte)(unsafe.Pointer(&v)), m.shape.size))
}

func (m *made[T]) appendText(dst []byte, v T) ([]byte, error) {
	b, err := any(&v).(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return dst, optionf("%w", err)
	}
	return m.to.appendString(dst, unsafe.String(unsafe.SliceData(b), len(b)))
}

func (m *made[T]) appendOther(dst []byte, v T) ([]byte, error) {
	if err := present(m.shape.kind, &v); err != nil {
		return dst, err
	}
	return m.to.appendOther(dst, &v)
}

func (m *made[T]) Decode(b []byte) (T, error) {
	if m.form == aString || m.form == other {
		return m.read(string(b)) // the value may keep a part of it
	}
	return m.read(unsafe.String(unsafe.SliceData(b), len(b)))
}

func (m *made[T]) read(s string) (v T, err error) {
	if m.err != nil {
		return v, m.err
	}
	switch m.form {
	case aString:
		var got string
		got, err = m.to.readString(s)
		return of[T](got), err
	case anInt:
		var n int64
		n, err = m.to.readInt(s)
		return ranged[T](m.shape, n, err)
	case aUint:
		var n uint64
		n, err = m.to.readUint(s)
		return rangedUint[T](m.shape, n, err)
	case aFloat:
		var f float64
		f, err = m.to.readFloat(s, m.shape.bits)
		return rangedFloat[T](m.shape, f, err)
	case aBool:
		var b bool
		b, err = m.to.readBool(s)
		return of[T](b), err
	case someBytes:
		var b []byte
		b, err = m.to.readBytes(s)
		return of[T](b), err
	case byteArray:
		var b []byte
		b, err = m.to.readBytes(s)
		return array[T](m.shape, b, err)
	case texted:
		return m.readText(s)
	}
	to := new(T)
	if err := m.to.readOther(s, to); err != nil {
		return v, err
	}
	return *to, nil
}

func (m *made[T]) readText(s string) (v T, err error) {
	t, err := m.to.readString(s)
	if err != nil {
		return v, err
	}
	to := new(T)
	if err := any(to).(encoding.TextUnmarshaler).UnmarshalText([]byte(t)); err != nil {
		return v, err
	}
	return *to, nil
}

// bytesOf returns s as what only reads it takes it.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
