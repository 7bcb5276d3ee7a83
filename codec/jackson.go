package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
)

// Java's JsonJacksonCodec and MsgPackJacksonCodec write the same thing in two
// notations: values whose class would not be guessed stand in a pair with its
// name, and objects have it as @class. typedFormat is both; what differs is the
// notation.
type typedFormat struct {
	class string // "": what follows from the type
	notation
}

type notation interface {
	emit(dst []byte, v any) ([]byte, error) // a tree
	parse(in string) (any, error)           // a tree with numbers of any type
	blob(b []byte) any                      // a byte[] that stands alone
}

// A tree is made of nil, bool, int64, uint64, float64, string, []byte, []any and
// object.

type member struct {
	name  string
	value any
}

type object []member

const (
	classOfLong   = "java.lang.Long"
	classOfList   = "java.util.ArrayList"
	classOfMap    = "java.util.HashMap"
	classProperty = "@class"
)

// guessed are the classes that Java gives to a value without a name of one.
var guessed = map[string]bool{
	"": true, "java.lang.String": true, "java.lang.Integer": true, "java.lang.Boolean": true, "java.lang.Double": true,
}

func pair(class string, v any) any { return []any{class, v} }

func (f typedFormat) takes(t reflect.Type, s shape) (form, error) {
	switch {
	case s.unwritable():
		return other, optionf("%v is nothing that Java has", t)
	case ownJSON(t):
		return other, nil
	case s.is != other || s.text:
		return s.orText(), nil
	case deref(t).Kind() == reflect.Struct && f.class == "" && !named(t):
		return other, optionf("%v needs the name of its class: codec.Jackson(class), or a method JavaClass() string", t)
	}
	return other, nil
}

// narrow makes an Integer of what fits one, by its type.
func (f typedFormat) narrow(s shape) format {
	small := s.is == anInt && s.bits <= 32 || s.is == aUint && s.bits <= 16
	if f.class == "" && small {
		f.class = "java.lang.Integer"
	}
	return f
}

// scalar returns v as the class, which it need not name if Java guesses it.
func (f typedFormat) scalar(dst []byte, v any) ([]byte, error) {
	if !guessed[f.class] {
		v = pair(f.class, v)
	}
	return f.emit(dst, v)
}

func (f typedFormat) appendString(dst []byte, s string) ([]byte, error) {
	if err := utf8Only(s); err != nil {
		return dst, err
	}
	return f.scalar(dst, s)
}

// appendInt writes a Long unless another class was asked for: an integer alone
// is an Integer in Java.
func (f typedFormat) appendInt(dst []byte, n int64) ([]byte, error) {
	switch {
	case f.class == "":
		return f.emit(dst, pair(classOfLong, n))
	case f.class == "java.lang.Integer" && int64(int32(n)) != n:
		return dst, optionf("%d is no Integer of Java", n)
	}
	return f.scalar(dst, n)
}

func (f typedFormat) appendUint(dst []byte, n uint64) ([]byte, error) {
	if n > math.MaxInt64 {
		return dst, optionf("%d is no Long of Java", n)
	}
	return f.appendInt(dst, int64(n))
}

func (f typedFormat) appendFloat(dst []byte, v float64, _ int) ([]byte, error) {
	return f.scalar(dst, v)
}
func (f typedFormat) appendBool(dst []byte, b bool) ([]byte, error) { return f.scalar(dst, b) }
func (f typedFormat) appendBytes(dst []byte, b []byte) ([]byte, error) {
	return f.emit(dst, f.blob(b))
}

func (f typedFormat) appendOther(dst []byte, from any) ([]byte, error) {
	v := reflect.ValueOf(from).Elem()
	tree, err := typed(v, f.class)
	if err != nil {
		return dst, err
	}
	return f.emit(dst, tree)
}

// bare returns what in has, without the names of classes.
func (f typedFormat) bare(in string) (any, error) {
	tree, err := f.parse(in)
	if err != nil {
		return nil, err
	}
	return strip(tree), nil
}

func (f typedFormat) readString(in string) (string, error) {
	tree, err := f.bare(in)
	if s, ok := tree.(string); ok && err == nil {
		return checked(s)
	}
	return "", mismatch("String", tree, err)
}

func (f typedFormat) readInt(in string) (int64, error) {
	tree, err := f.bare(in)
	switch n := tree.(type) {
	case int64:
		return n, err
	case uint64:
		if n <= math.MaxInt64 {
			return int64(n), err
		}
	case json.Number:
		if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
			return i, nil
		}
	}
	return 0, mismatch("integer in range", tree, err)
}

func (f typedFormat) readUint(in string) (uint64, error) {
	tree, err := f.bare(in)
	switch n := tree.(type) {
	case int64:
		if n >= 0 {
			return uint64(n), err
		}
	case uint64:
		return n, err
	case json.Number:
		if i, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
			return i, nil
		}
	}
	return 0, mismatch("integer without a sign", tree, err)
}

func (f typedFormat) readFloat(in string, bits int) (float64, error) {
	tree, err := f.bare(in)
	switch n := tree.(type) {
	case float64:
		return n, err
	case float32:
		return float64(n), err
	case int64:
		if int64(float64(n)) == n {
			return float64(n), err
		}
	case json.Number:
		if f, err := strconv.ParseFloat(n.String(), bits); err == nil {
			return f, nil
		}
	}
	return 0, mismatch("number", tree, err)
}

func (f typedFormat) readBool(in string) (bool, error) {
	tree, err := f.bare(in)
	if b, ok := tree.(bool); ok && err == nil {
		return b, nil
	}
	return false, mismatch("Boolean", tree, err)
}

func (f typedFormat) readBytes(in string) ([]byte, error) {
	tree, err := f.bare(in)
	switch b := tree.(type) {
	case []byte:
		return b, err
	case string:
		return unbase64(b)
	}
	return nil, mismatch("byte[]", tree, err)
}

func mismatch(want string, tree any, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("a %T of Go where there should be a %s of Java", tree, want)
}

// readOther lets encoding/json fill the value from what is left without classes.
func (f typedFormat) readOther(in string, to any) error {
	tree, err := f.bare(in)
	switch {
	case err != nil:
		return err
	case tree == nil:
		return errNull
	}
	plain, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, to)
}

// inJSON is the notation of JsonJacksonCodec.
type inJSON struct{}

// blob names the class: a bare text would be a String in Java.
func (inJSON) blob(b []byte) any { return pair("[B", b) }

func (inJSON) parse(in string) (tree any, err error) {
	if _, err := checked(in); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(bytesOf(in)))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more data after the JSON value")
	}
	return tree, nil
}

func (j inJSON) emit(dst []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendSpelled(dst, v)
	case float64:
		start := len(dst)
		dst, err = jsonFormat{}.appendFloat(dst, v, 64)
		if err == nil && !bytes.ContainsAny(dst[start:], ".e") {
			dst = append(dst, ".0"...) // or Java takes it for an Integer
		}
		return dst, err
	case []any:
		return emitAll(dst, '[', ']', len(v), func(dst []byte, i int) ([]byte, error) { return j.emit(dst, v[i]) })
	case object:
		return emitAll(dst, '{', '}', len(v), func(dst []byte, i int) ([]byte, error) {
			if dst, err = appendSpelled(dst, v[i].name); err != nil {
				return dst, err
			}
			return j.emit(append(dst, ':'), v[i].value)
		})
	case []byte:
		return jsonFormat{}.appendBytes(dst, v)
	}
	return fmt.Append(dst, v), nil // bool and integers
}

func emitAll(dst []byte, open, end byte, n int, one func(dst []byte, i int) ([]byte, error)) (_ []byte, err error) {
	dst = append(dst, open)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = one(dst, i); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

// inPack is the notation of MsgPackJacksonCodec.
type inPack struct{ packScalars }

func (inPack) blob(b []byte) any { return b }

func (inPack) parse(in string) (any, error) {
	if err := wellFormed(bytesOf(in)); err != nil {
		return nil, err
	}
	tree, _, err := unpack(in)
	return tree, err
}

func (p inPack) emit(dst []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0), nil
	case string:
		return p.appendString(dst, v)
	case bool:
		return p.appendBool(dst, v)
	case int64:
		return p.appendInt(dst, v)
	case uint64:
		return p.appendUint(dst, v)
	case float64:
		return p.appendFloat(dst, v, 64)
	case []byte:
		return p.appendBytes(dst, v)
	case []any:
		dst = appendCount(dst, len(v), 0x90, 0xdc)
		for _, item := range v {
			if dst, err = p.emit(dst, item); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	return p.emitObject(dst, v.(object))
}

func (p inPack) emitObject(dst []byte, o object) (_ []byte, err error) {
	dst = appendCount(dst, len(o), 0x80, 0xde)
	for _, m := range o {
		if dst, err = p.appendString(dst, m.name); err != nil {
			return dst, err
		}
		if dst, err = p.emit(dst, m.value); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
