package codec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// textFormat is Java's StringCodec and those of numbers.
type textFormat struct{}

var errNotUTF8 = errors.New("text that is no UTF-8")

// utf8Only refuses what Java would change when it reads it.
func utf8Only(s string) error {
	if !utf8.ValidString(s) {
		return optionf("%w: Java would change it; take codec.Bytes for what is no text", errNotUTF8)
	}
	return nil
}

// checked returns a text that was read.
func checked(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errNotUTF8
	}
	return s, nil
}

func (textFormat) takes(t reflect.Type, s shape) (form, error) {
	if f := s.orText(); f != other && f != someBytes {
		return f, nil
	}
	return other, optionf("%v has no text: MarshalText and UnmarshalText give it one, codec.Bytes is for bytes, codec.JSON for any type", t)
}

func (textFormat) appendString(dst []byte, s string) ([]byte, error) {
	return append(dst, s...), utf8Only(s)
}

func (textFormat) appendInt(dst []byte, n int64) ([]byte, error) {
	return strconv.AppendInt(dst, n, 10), nil
}

func (textFormat) appendUint(dst []byte, n uint64) ([]byte, error) {
	return strconv.AppendUint(dst, n, 10), nil
}

// appendFloat writes the shortest text that is f. NaN and infinity are as Java
// spells them.
func (textFormat) appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsInf(f, 1) {
		return append(dst, "Infinity"...), nil
	}
	if math.IsInf(f, -1) {
		return append(dst, "-Infinity"...), nil
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits), nil
}

func (textFormat) appendBool(dst []byte, b bool) ([]byte, error) {
	return strconv.AppendBool(dst, b), nil
}

func (textFormat) appendBytes(dst []byte, b []byte) ([]byte, error) { return append(dst, b...), nil }

func (textFormat) appendOther(dst []byte, from any) ([]byte, error) {
	return dst, optionf("%T has no text", from)
}

func (textFormat) readString(in string) (string, error) { return checked(in) }

// readInt reads what strconv.AppendInt writes, and no other spelling: keys are
// equal when their bytes are.
func (textFormat) readInt(in string) (int64, error) {
	n, err := strconv.ParseInt(in, 10, 64)
	if err != nil || !shortest(in) {
		return 0, notA("integer", in)
	}
	return n, nil
}

// shortest reports whether an integer has neither a plus nor a zero too many.
func shortest(in string) bool {
	digits := strings.TrimPrefix(in, "-")
	return in == "0" || digits[0] >= '1' && digits[0] <= '9'
}

func (textFormat) readUint(in string) (uint64, error) {
	n, err := strconv.ParseUint(in, 10, 64)
	if err != nil || !shortest(in) {
		return 0, notA("integer without a sign", in)
	}
	return n, nil
}

var javaFloats = []string{"NaN", "Infinity", "-Infinity"}

func (textFormat) readFloat(in string, bits int) (float64, error) {
	if !slices.Contains(javaFloats, in) && !decimal(in) {
		return 0, notA("number", in)
	}
	f, err := strconv.ParseFloat(in, bits)
	if err != nil {
		return 0, notA("number", in)
	}
	return f, nil
}

// decimal reports whether all of s are the characters of a decimal number:
// strconv also reads hexadecimal, underscores and other names of infinity.
func decimal(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			return false
		}
	}
	return true
}

func (textFormat) readBool(in string) (bool, error) {
	switch in {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, notA("bool", in)
}

func (textFormat) readBytes(in string) ([]byte, error) { return []byte(in), nil }

func (textFormat) readOther(in string, to any) error {
	return fmt.Errorf("%T has no text", to)
}

// notA does not show what it is instead: that may be secret.
func notA(what, in string) error {
	return fmt.Errorf("%d bytes that are no %s", len(in), what)
}

// rawFormat is Java's ByteArrayCodec: what has bytes is those bytes.
type rawFormat struct{ textFormat }

func (rawFormat) takes(t reflect.Type, s shape) (form, error) {
	if s.is == aString || s.is == someBytes || s.is == byteArray {
		return s.is, nil
	}
	return other, optionf("%v is no bytes: codec.Bytes takes []byte, [n]byte and strings", t)
}

func (rawFormat) appendString(dst []byte, s string) ([]byte, error) { return append(dst, s...), nil }

func (rawFormat) readString(in string) (string, error) { return in, nil }

func (rawFormat) readOther(_ string, to any) error { return fmt.Errorf("%T is no bytes", to) }
