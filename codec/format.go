package codec

import "reflect"

// format is the bytes of one family, for each shape that a value can have.
// Readers read all of their argument and check it; the range of the Go type is
// not theirs to check.
type format interface {
	// takes is the form that values of t are written in, or why they have no
	// bytes.
	takes(t reflect.Type, s shape) (form, error)

	appendString(dst []byte, s string) ([]byte, error)
	appendInt(dst []byte, n int64) ([]byte, error)
	appendUint(dst []byte, n uint64) ([]byte, error)
	appendFloat(dst []byte, f float64, bits int) ([]byte, error)
	appendBool(dst []byte, b bool) ([]byte, error)
	appendBytes(dst []byte, b []byte) ([]byte, error)
	appendOther(dst []byte, from any) ([]byte, error) // a pointer to the value, not nil

	readString(in string) (string, error)
	readInt(in string) (int64, error)
	readUint(in string) (uint64, error)
	readFloat(in string, bits int) (float64, error)
	readBool(in string) (bool, error)
	readBytes(in string) ([]byte, error)
	readOther(in string, to any) error // likewise
}

// narrowing is a format with integers of several widths.
type narrowing interface{ narrow(s shape) format }
