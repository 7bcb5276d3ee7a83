package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// jsonFormat is plain JSON as Java's TypedJsonJacksonCodec writes it. It writes integers and bools as text is.
type jsonFormat struct{ textFormat }

func (jsonFormat) takes(t reflect.Type, s shape) (form, error) {
	if s.unwritable() {
		return other, optionf("%v has no JSON", t)
	}
	if reflect.PointerTo(t).Implements(jsonMarshaler) {
		return other, nil
	}
	return s.orText(), nil
}

var jsonMarshaler = reflect.TypeFor[json.Marshaler]()

func (jsonFormat) appendString(dst []byte, s string) ([]byte, error) { return appendSpelled(dst, s) }

func (jsonFormat) appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, optionf("JSON has no %v", f)
	}
	if f == 0 && math.Signbit(f) {
		return append(dst, negativeZero...), nil
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits), nil
}

// negativeZero is -0 as a float. Java reads -0 as an integer, which has no sign then.
const negativeZero = "-0.0"

func (jsonFormat) appendBytes(dst []byte, b []byte) ([]byte, error) {
	dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(b))+2)
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"'), nil
}

func (jsonFormat) appendOther(dst []byte, from any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(from); err != nil {
		return dst, optionf("%w", err)
	}
	return respell(dst, bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

func (jsonFormat) readString(in string) (string, error) {
	if plain(in) {
		return in[1 : len(in)-1], nil
	}
	return unescaped(in)
}

func unescaped(in string) (s string, err error) {
	if in == "" || in[0] != '"' { // of another type, or with something around it
		return "", notA("JSON string", in)
	}
	if _, err := checked(in); err != nil {
		return "", err
	}
	return s, json.Unmarshal(bytesOf(in), &s)
}

func (jsonFormat) readInt(in string) (n int64, err error) {
	if n, err = strconv.ParseInt(in, 10, 64); err != nil || !number(in) {
		return 0, notA("JSON integer", in)
	}
	return n, nil
}

func (jsonFormat) readUint(in string) (n uint64, err error) {
	if n, err = strconv.ParseUint(in, 10, 64); err != nil || !number(in) {
		return 0, notA("JSON integer without a sign", in)
	}
	return n, nil
}

func number(in string) bool {
	return in != "" && in[0] != '+' && in[0] != '"' && json.Valid(bytesOf(in))
}

func (jsonFormat) readFloat(in string, bits int) (float64, error) {
	f, err := strconv.ParseFloat(in, bits)
	if err != nil || !number(in) {
		return 0, notA("JSON number", in)
	}
	return f, nil
}

func (f jsonFormat) readBytes(in string) ([]byte, error) {
	s, err := f.readString(in)
	if err != nil {
		return nil, err
	}
	return unbase64(s)
}

func unbase64(s string) ([]byte, error) {
	return base64.StdEncoding.Strict().AppendDecode([]byte{}, bytesOf(s))
}

var errNull = errors.New("null")

func (jsonFormat) readOther(in string, to any) error {
	if _, err := checked(in); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(bytesOf(in)))
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("more data after the JSON value")
	}
	if strings.Trim(in, " \t\r\n") == "null" {
		return errNull
	}
	return nil
}
