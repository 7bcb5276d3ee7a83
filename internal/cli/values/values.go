package values

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// Families returns those of keys and values that --codec names: one for both, or two.
func Families(flag string) (keys, values codec.Family, err error) {
	k, v, two := strings.Cut(flag, ",")
	if !two {
		v = k
	}
	if keys, err = codec.ParseFamily(k); err == nil {
		values, err = codec.ParseFamily(v)
	}
	if err != nil {
		return keys, values, exit.Usagef("--codec %s: %v", flag, err)
	}
	return keys, values, nil
}

// Encode returns VALUE as the type that --as names, in the bytes of a codec.
func Encode(f codec.Family, value, as string) (string, error) {
	switch as {
	case "string":
		return codec.Encode(codec.For[string](f), value)
	case "int":
		return encodedAs(f, value, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	case "float":
		return encodedAs(f, value, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
	case "bool":
		return encodedAs(f, value, strconv.ParseBool)
	case "base64":
		return encodedAs(f, value, base64.StdEncoding.DecodeString)
	case "json":
		return encodedAs(f, value, parseJSON)
	}
	return "", exit.Usagef("--as %q is none of string, int, float, bool, json, base64", as)
}

func encodedAs[T any](f codec.Family, value string, parse func(string) (T, error)) (string, error) {
	v, err := parse(value)
	if err != nil {
		return "", exit.Usagef("VALUE %q: %v", value, err)
	}
	return codec.Encode(codec.For[T](f), v)
}

// parseJSON keeps integers what they are.
func parseJSON(s string) (v any, err error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one JSON value")
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // beyond float64 it is infinity, which codecs refuse or carry
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	}
	return v
}

// Value is a value of any type as people read it.
type Value struct {
	Text   string
	raw    json.RawMessage // nil for text
	Base64 bool
}

// Line returns a value as it stands in a line with others.
func (v Value) Line() string { return Printable(v.Text) }

// JSON returns a value as it stands in JSON.
func (v Value) JSON() any {
	if v.raw != nil {
		return v.raw
	}
	return v.Text
}

// Decode returns what bytes of a codec stand for, whatever its type is.
func Decode(f codec.Family, bytes string) (Value, error) {
	switch f {
	case codec.Text, codec.Bytes:
		return OfBytes([]byte(bytes)), nil
	case codec.Kryo5:
		return ofKryo(bytes)
	case codec.Msgpack:
		v, err := codec.Decode(codec.For[any](f), bytes)
		if err != nil {
			return Value{}, err
		}
		return ofAny(v)
	}
	v, err := codec.Decode(codec.For[json.RawMessage](f), bytes)
	if err != nil {
		return Value{}, err
	}
	return ofJSON(v)
}

// OfBytes returns bytes as a text, in base64 if they are no UTF-8.
func OfBytes(b []byte) Value {
	if utf8.Valid(b) {
		return Value{Text: string(b)}
	}
	return Value{Text: base64.StdEncoding.EncodeToString(b), Base64: true}
}

func ofJSON(raw []byte) (Value, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return Value{Text: s}, nil
	}
	return Value{Text: string(raw), raw: raw}, nil
}

func ofAny(v any) (Value, error) {
	switch v := v.(type) {
	case string:
		return Value{Text: v}, nil
	case []byte:
		return OfBytes(v), nil
	}
	raw, err := json.Marshal(v)
	if err != nil { // NaN, and what else JSON has not
		return Value{Text: fmt.Sprint(v)}, nil
	}
	return Value{Text: string(raw), raw: raw}, nil
}

func ofKryo(bytes string) (Value, error) {
	s, err := codec.Decode(codec.For[string](codec.Kryo5), bytes)
	if err == nil {
		return Value{Text: s}, nil
	}
	for _, try := range []func(string) (any, error){kryo[int64], kryo[int32], kryo[float64], kryo[bool], kryo[[]byte]} {
		if v, err := try(bytes); err == nil {
			return ofAny(v)
		}
	}
	return Value{}, err
}

func kryo[T any](bytes string) (any, error) { return codec.Decode(codec.For[T](codec.Kryo5), bytes) }

// Milliseconds returns a time that is left; -1: it has no end.
func Milliseconds(d time.Duration) *int64 {
	ms := int64(-1)
	if d >= 0 {
		ms = d.Milliseconds()
	}
	return &ms
}

// Readable returns a leader's value as it is shown: in base64 if it is no UTF-8.
func Readable(value string) (text string, is64 bool) {
	if utf8.ValidString(value) {
		return value, false
	}
	return base64.StdEncoding.EncodeToString([]byte(value)), true
}
