package codec

import (
	"fmt"
	"reflect"
)

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
