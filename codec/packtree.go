package codec

import (
	"fmt"
	"math"
)

// unpack returns the first value of in, which is well formed, as a tree, and what
// follows it.
func unpack(in string) (tree any, rest string, err error) {
	switch first := in[0]; {
	case first < 0x80 || first >= 0xe0:
		return int64(int8(first)), in[1:], nil
	case first < 0x90:
		return unpackMap(in[1:], uint64(first&0x0f))
	case first < 0xa0:
		return unpackArray(in[1:], uint64(first&0x0f))
	case first < 0xc0:
		n := 1 + int(first&0x1f)
		return in[1:n], in[n:], nil
	case first == 0xc0:
		return nil, in[1:], nil
	case first <= 0xc3:
		return first == 0xc3, in[1:], nil
	}
	return unpackLong(in)
}

// unpackLong unpacks a value whose head has more than one byte.
func unpackLong(in string) (any, string, error) {
	first := in[0]
	width, after := packWidth(first)
	n, body := bigEndian(in[1:1+width]), in[1+width:]
	switch {
	case first >= 0xde:
		return unpackMap(body, n)
	case first >= 0xdc:
		return unpackArray(body, n)
	case first >= 0xd9:
		return body[:n], body[n:], nil
	case first <= 0xc6:
		return []byte(body[:n]), body[n:], nil
	case first == 0xca:
		return float64(math.Float32frombits(uint32(bigEndian(body[:4])))), body[4:], nil
	case first == 0xcb:
		return math.Float64frombits(bigEndian(body[:8])), body[8:], nil
	case first >= 0xcc && first <= 0xd3:
		bits, negative, _ := packInteger(in[:1+after])
		if !negative && bits > math.MaxInt64 {
			return bits, body[after:], nil
		}
		return int64(bits), body[after:], nil
	}
	return nil, "", fmt.Errorf("an extension of msgpack, %#02x", first)
}

func unpackArray(in string, n uint64) (_ any, rest string, err error) {
	items := make([]any, n)
	for i := range items {
		if items[i], in, err = unpack(in); err != nil {
			return nil, "", err
		}
	}
	return items, in, nil
}

func unpackMap(in string, n uint64) (_ any, rest string, err error) {
	members := make(map[string]any, n)
	for ; n > 0; n-- {
		var name, value any
		if name, in, err = unpack(in); err != nil {
			return nil, "", err
		}
		text, ok := name.(string)
		if !ok {
			return nil, "", fmt.Errorf("a %T for the name of a property", name)
		}
		if value, in, err = unpack(in); err != nil {
			return nil, "", err
		}
		members[text] = value
	}
	return members, in, nil
}
