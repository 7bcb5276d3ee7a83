package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kryoFormat is Java's Kryo5Codec, for the scalars that need no Kryo: a class
// tag, and the value.
type kryoFormat struct{}

const (
	kryoInt    = 0x02
	kryoString = 0x03
	kryoBool   = 0x05
	kryoLong   = 0x09
	kryoDouble = 0x0a

	kryoBytes = "\x01\x00\x5b\xc2" // a class by its name, [B
)

var kryoTags = map[byte]string{
	0x00: "null", 0x01: "an object", kryoInt: "an Integer", kryoString: "a String", 0x04: "a Float", kryoBool: "a Boolean",
	0x06: "a Byte", 0x07: "a Character", 0x08: "a Short", kryoLong: "a Long", kryoDouble: "a Double",
}

func (kryoFormat) takes(t reflect.Type, s shape) (form, error) {
	switch s.kind {
	case reflect.String, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Bool, reflect.Slice:
		if s.is != other {
			return s.is, nil
		}
	}
	return other, optionf("%v has no bytes of Kryo here: string, int, int32, int64, float64, bool and []byte have", t)
}

// narrow returns the format of int32, which are Integers, where other integers are
// Longs.
func (kryoFormat) narrow(s shape) format {
	if s.kind == reflect.Int32 {
		return kryoNarrow{}
	}
	return kryoFormat{}
}

type kryoNarrow struct{ kryoFormat }

func (kryoNarrow) appendInt(dst []byte, n int64) ([]byte, error) {
	zigzag := uint32(n)<<1 ^ uint32(int32(n)>>31)
	return binary.AppendUvarint(append(dst, kryoInt), uint64(zigzag)), nil
}

func (kryoNarrow) readInt(in string) (int64, error) {
	body, err := tagged(in, kryoInt)
	if err != nil {
		return 0, err
	}
	n, size := binary.Uvarint(bytesOf(body))
	if size <= 0 || size != len(body) || n > math.MaxUint32 {
		return 0, notA("Integer of Kryo", in)
	}
	return int64(int32(uint32(n)>>1) ^ -int32(n&1)), nil
}

// appendInt writes groups of seven bits, the lowest first. The ninth is the last
// and has eight.
func (kryoFormat) appendInt(dst []byte, n int64) ([]byte, error) {
	dst = append(dst, kryoLong)
	left := uint64(n)<<1 ^ uint64(n>>63)
	for range 8 {
		if left < 0x80 {
			return append(dst, byte(left)), nil
		}
		dst = append(dst, byte(left)|0x80)
		left >>= 7
	}
	return append(dst, byte(left)), nil
}

func (kryoFormat) readInt(in string) (int64, error) {
	body, err := tagged(in, kryoLong)
	if err != nil {
		return 0, err
	}
	n, rest, ok := kryoVarint(body)
	if !ok || rest != "" {
		return 0, notA("Long of Kryo", in)
	}
	return int64(n>>1) ^ -int64(n&1), nil
}

func kryoVarint(s string) (n uint64, rest string, ok bool) {
	for i := range min(len(s), 9) {
		if i == 8 {
			return n | uint64(s[i])<<56, s[9:], true
		}
		n |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return n, s[i+1:], true
		}
	}
	return 0, "", false
}

// tagged returns what follows the tag of a class.
func tagged(in string, tag byte) (string, error) {
	if in == "" {
		return "", notA("value of Kryo", in)
	}
	if in[0] == tag {
		return in[1:], nil
	}
	what, known := kryoTags[in[0]]
	if !known {
		what = "an object of a registered class"
	}
	return "", fmt.Errorf("%s of Kryo (tag %#02x), not %s (%#02x)", what, in[0], kryoTags[tag], tag)
}

func (kryoFormat) appendUint(dst []byte, _ uint64) ([]byte, error) {
	return dst, optionf("Kryo has no integers without a sign")
}

func (kryoFormat) readUint(in string) (uint64, error) { return 0, notA("integer of Kryo", in) }

func (kryoFormat) appendFloat(dst []byte, f float64, _ int) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(append(dst, kryoDouble), math.Float64bits(f)), nil
}

func (kryoFormat) readFloat(in string, _ int) (float64, error) {
	body, err := tagged(in, kryoDouble)
	if err != nil {
		return 0, err
	}
	if len(body) != 8 {
		return 0, notA("Double of Kryo", in)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(bytesOf(body))), nil
}

func (kryoFormat) appendBool(dst []byte, b bool) ([]byte, error) {
	if b {
		return append(dst, kryoBool, 1), nil
	}
	return append(dst, kryoBool, 0), nil
}

func (kryoFormat) readBool(in string) (bool, error) {
	body, err := tagged(in, kryoBool)
	if err != nil {
		return false, err
	}
	if body != "\x00" && body != "\x01" {
		return false, notA("Boolean of Kryo", in)
	}
	return body == "\x01", nil
}

func (kryoFormat) appendBytes(dst []byte, b []byte) ([]byte, error) {
	dst = slices.Grow(dst, len(kryoBytes)+5+len(b))
	return append(binary.AppendUvarint(append(dst, kryoBytes...), uint64(len(b))+1), b...), nil
}

func (kryoFormat) readBytes(in string) ([]byte, error) {
	body, ok := strings.CutPrefix(in, kryoBytes)
	if !ok {
		return nil, notA("byte[] of Kryo", in)
	}
	n, size := binary.Uvarint(bytesOf(body))
	if size <= 0 || n == 0 || n-1 != uint64(len(body)-size) {
		return nil, notA("byte[] of Kryo", in)
	}
	return []byte(body[size:]), nil
}

func (kryoFormat) appendString(dst []byte, s string) ([]byte, error) {
	if err := utf8Only(s); err != nil {
		return dst, err
	}
	dst = append(slices.Grow(dst, len(s)+6), kryoString)
	if len(s) > 1 && len(s) <= 32 && ascii(s) { // the last byte says that it is the last
		dst = append(dst, s...)
		dst[len(dst)-1] |= 0x80
		return dst, nil
	}
	n := 1
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	// The first byte has six bits of the length in Java, a flag for more bytes and one for a text that is not only ASCII.
	if n < 1<<6 {
		dst = append(dst, 0x80|byte(n))
	} else {
		dst = binary.AppendUvarint(append(dst, 0xc0|byte(n&0x3f)), uint64(n)>>6)
	}
	return appendUnits(dst, s), nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func appendUnits(dst []byte, s string) []byte {
	for _, r := range s {
		if r <= 0xffff {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		high, low := utf16.EncodeRune(r)
		dst = appendUnit(appendUnit(dst, high), low)
	}
	return dst
}

// appendUnit appends half of a pair, which is no character of UTF-8, in its form.
func appendUnit(dst []byte, u rune) []byte {
	return append(dst, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
}

// readString refuses every spelling but the one that Kryo writes.
func (f kryoFormat) readString(in string) (string, error) {
	body, err := tagged(in, kryoString)
	if err != nil {
		return "", err
	}
	s, ok := kryoText(body)
	if !ok {
		return "", notA("String of Kryo", in)
	}
	if again, err := f.appendString(nil, s); err != nil || string(again) != in {
		return "", notA("String as Kryo spells it", in)
	}
	return s, nil
}

func kryoText(body string) (string, bool) {
	switch {
	case body == "":
		return "", false
	case body[0] < 0x80:
		last := len(body) - 1
		return body[:last] + string(body[last]&0x7f), ascii(body[:last])
	}
	length, rest, ok := kryoLength(body)
	if !ok || length == 0 || length-1 > uint64(len(rest)) {
		return "", false
	}
	return joined(rest, make([]byte, 0, len(rest)))
}

func kryoLength(body string) (n uint64, rest string, ok bool) {
	n = uint64(body[0] & 0x3f)
	if body[0]&0x40 == 0 {
		return n, body[1:], true
	}
	more, size := binary.Uvarint(bytesOf(body[1:]))
	if size <= 0 || more > math.MaxInt32 {
		return 0, "", false
	}
	return n | more<<6, body[1+size:], true
}

// joined returns s with the halves of characters put together.
func joined(s string, to []byte) (string, bool) {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			high, ok := half(s)
			low, ok2 := rune(0), false
			if ok && len(s) >= 6 {
				low, ok2 = half(s[3:])
			}
			if r, size = utf16.DecodeRune(high, low), 6; !ok2 || r == utf8.RuneError {
				return "", false
			}
		}
		to = utf8.AppendRune(to, r)
		s = s[size:]
	}
	return string(to), true
}

// half returns what appendUnit wrote.
func half(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1]&0xe0 != 0xa0 || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

func (kryoFormat) appendOther(dst []byte, from any) ([]byte, error) {
	return dst, optionf("%T has no bytes of Kryo here", from)
}

func (kryoFormat) readOther(_ string, to any) error {
	return fmt.Errorf("%T has no bytes of Kryo here", to)
}
