package codec

import (
	"encoding/binary"
	"math"
	"slices"
)

// packScalars is MessagePack of what is one value: the smallest form of each is
// written, as by Java, and every legal form is read.
type packScalars struct{}

func (packScalars) appendString(dst []byte, s string) ([]byte, error) {
	if err := utf8Only(s); err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, len(s)+5)
	return append(appendLength(dst, len(s), 0xd9), s...), nil
}

// appendLength appends the head of a string, or of bytes. The codes of the forms with one,
// two and four bytes of length follow each other.
func appendLength(dst []byte, n int, form byte) []byte {
	switch {
	case form == 0xd9 && n < 32:
		return append(dst, 0xa0|byte(n))
	case n <= math.MaxUint8:
		return append(dst, form, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, form+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, form+2), uint32(n))
}

func (p packScalars) appendInt(dst []byte, n int64) ([]byte, error) {
	switch {
	case n >= 0:
		return p.appendUint(dst, uint64(n))
	case n >= -32:
		return append(dst, byte(n)), nil
	case n >= math.MinInt8:
		return append(dst, 0xd0, byte(n)), nil
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(n)), nil
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(n)), nil
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(n)), nil
}

func (packScalars) appendUint(dst []byte, n uint64) ([]byte, error) {
	switch {
	case n < 128:
		return append(dst, byte(n)), nil
	case n <= math.MaxUint8:
		return append(dst, 0xcc, byte(n)), nil
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(n)), nil
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n)), nil
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcf), n), nil
}

func (packScalars) appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if bits == 32 {
		return binary.BigEndian.AppendUint32(append(dst, 0xca), math.Float32bits(float32(f))), nil
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(f)), nil
}

func (packScalars) appendBool(dst []byte, b bool) ([]byte, error) {
	if b {
		return append(dst, 0xc3), nil
	}
	return append(dst, 0xc2), nil
}

func (packScalars) appendBytes(dst []byte, b []byte) ([]byte, error) {
	dst = slices.Grow(dst, len(b)+5)
	return append(appendLength(dst, len(b), 0xc4), b...), nil
}

func (packScalars) readString(in string) (string, error) {
	body, ok := packBody(in, 0xd9)
	if !ok {
		return "", notA("msgpack string", in)
	}
	return checked(body)
}

func (packScalars) readBytes(in string) ([]byte, error) {
	body, ok := packBody(in, 0xc4)
	if !ok {
		return nil, notA("msgpack bytes", in)
	}
	return []byte(body), nil
}

// packBody returns what follows the head of a string, or of bytes, if that is
// as long as the head says.
func packBody(in string, form byte) (string, bool) {
	if in == "" {
		return "", false
	}
	if form == 0xd9 && in[0]&0xe0 == 0xa0 {
		return in[1:], len(in)-1 == int(in[0]&0x1f)
	}
	width := 1 << (in[0] - form)
	if in[0] < form || in[0] > form+2 || len(in) < 1+width {
		return "", false
	}
	body := in[1+width:]
	return body, uint64(len(body)) == bigEndian(in[1:1+width])
}

// bigEndian returns the number of up to eight bytes.
func bigEndian(s string) (n uint64) {
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

// packInteger returns an integer of any form: its bits, and whether it is below zero.
func packInteger(in string) (n uint64, negative, ok bool) {
	if len(in) == 0 {
		return 0, false, false
	}
	switch first := in[0]; {
	case first < 0x80:
		return uint64(first), false, len(in) == 1
	case first >= 0xe0:
		return uint64(int64(int8(first))), true, len(in) == 1
	case first >= 0xcc && first <= 0xcf:
		return bigEndian(in[1:]), false, len(in) == 1+1<<(first-0xcc)
	case first >= 0xd0 && first <= 0xd3:
		width := 1 << (first - 0xd0)
		if len(in) != 1+width {
			return 0, false, false
		}
		shift := 64 - 8*width
		signed := int64(bigEndian(in[1:])<<shift) >> shift
		return uint64(signed), signed < 0, true
	}
	return 0, false, false
}

func (packScalars) readInt(in string) (int64, error) {
	n, negative, ok := packInteger(in)
	if !ok || !negative && n > math.MaxInt64 {
		return 0, notA("msgpack integer in range", in)
	}
	return int64(n), nil
}

func (packScalars) readUint(in string) (uint64, error) {
	n, negative, ok := packInteger(in)
	if !ok || negative {
		return 0, notA("msgpack integer without a sign", in)
	}
	return n, nil
}

// readFloat reads floats of both widths, and integers that a float can be
// without losing any of them.
func (p packScalars) readFloat(in string, _ int) (float64, error) {
	switch {
	case len(in) == 5 && in[0] == 0xca:
		return float64(math.Float32frombits(uint32(bigEndian(in[1:])))), nil
	case len(in) == 9 && in[0] == 0xcb:
		return math.Float64frombits(bigEndian(in[1:])), nil
	}
	n, err := p.readInt(in)
	if err != nil || int64(float64(n)) != n {
		return 0, notA("msgpack number", in)
	}
	return float64(n), nil
}

func (packScalars) readBool(in string) (bool, error) {
	switch in {
	case "\xc3":
		return true, nil
	case "\xc2":
		return false, nil
	}
	return false, notA("msgpack bool", in)
}

// appendCount appends the head of an array or a map.
func appendCount(dst []byte, n int, small, form byte) []byte {
	switch {
	case n < 16:
		return append(dst, small|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, form), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, form+1), uint32(n))
}
