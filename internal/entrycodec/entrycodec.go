// Package entrycodec encodes and decodes the keys and values of maps and multimaps, and the fields and values of streams.
package entrycodec

import (
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// Settings has the codecs that the options of a handle set. The zero value means text for keys, and the codec of the
// client for values.
type Settings struct {
	keyCodec, valueCodec   any           // a codec.Codec[K] and a codec.Codec[V]; nil: of the families
	keyFamily, valueFamily *codec.Family // nil: the defaults
}

// SetFamily sets the codec of the values.
func (s *Settings) SetFamily(values codec.Family) { s.valueFamily, s.valueCodec = &values, nil }

// SetFamilies sets the codecs of the keys and of the values.
func (s *Settings) SetFamilies(keys, values codec.Family) {
	*s = Settings{keyFamily: &keys, valueFamily: &values}
}

// SetKey sets the codec of the keys to c, and returns an error if c cannot be used.
func SetKey[K comparable](s *Settings, c codec.Codec[K]) error {
	s.keyCodec = c
	return codec.Check(c)
}

// SetValue sets the codec of the values to c, and returns an error if c cannot be used.
func SetValue[V any](s *Settings, c codec.Codec[V]) error {
	s.valueCodec = c
	return codec.Check(c)
}

// Codecs encodes the keys and the values of one object.
type Codecs[K comparable, V any] struct {
	Keys   codec.Codec[K]
	Values codec.Codec[V]

	// The bytes that are sent with a key, and with a value, in one argument.
	BesideKey, BesideValue int

	KeyIs string // what errors call a key

	e    *locking.Engine
	name string // of the object, for errors
}

// New returns the codecs that the settings choose. An error says which of them cannot be used.
func New[K comparable, V any](e *locking.Engine, name string, s Settings) (Codecs[K, V], error) {
	c := Codecs[K, V]{Keys: codec.Key[K](), Values: codec.For[V](e.Family()), KeyIs: "key", e: e, name: name}
	if s.keyFamily != nil {
		c.Keys = codec.KeyOf[K](*s.keyFamily)
	}
	if s.valueFamily != nil {
		c.Values = codec.For[V](*s.valueFamily)
	}
	var err error
	if c.Keys, err = core.Given(s.keyCodec, c.Keys); err != nil {
		return c, err
	}
	if c.Values, err = core.Given(s.valueCodec, c.Values); err != nil {
		return c, err
	}
	return c, errors.Join(codec.Check(c.Keys), codec.Check(c.Values))
}

// Key returns a key as it is in Redis.
func (c *Codecs[K, V]) Key(k K) (string, error) {
	text, err := codec.Encode(c.Keys, k)
	if err == nil {
		err = c.e.Fits(len(text) + c.BesideKey)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.KeyIs, err)
	}
	return text, nil
}

// KeyTexts returns keys as they are in Redis.
func (c *Codecs[K, V]) KeyTexts(ks []K) ([]string, error) {
	texts := make([]string, len(ks))
	for i, k := range ks {
		var err error
		if texts[i], err = c.Key(k); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// Value returns a value as it is in Redis.
func (c *Codecs[K, V]) Value(v V) (string, error) {
	text, err := codec.Encode(c.Values, v)
	if err == nil {
		err = c.e.Fits(len(text) + c.BesideValue)
	}
	if err != nil {
		return "", fmt.Errorf("value: %w", err)
	}
	return text, nil
}

// DecodeKey returns the key of a text.
func (c *Codecs[K, V]) DecodeKey(text string) (K, error) {
	k, err := codec.Decode(c.Keys, text)
	if err != nil {
		return k, c.Undecoded(text, text, fmt.Errorf("as a key: %w", err))
	}
	return k, nil
}

// DecodeValue returns the value of a text that a key has.
func (c *Codecs[K, V]) DecodeValue(key, text string) (V, error) {
	v, err := codec.Decode(c.Values, text)
	if err != nil {
		return v, c.Undecoded(key, text, err)
	}
	return v, nil
}

// Undecoded returns the error for a text that does not decode.
func (c *Codecs[K, V]) Undecoded(key, text string, cause error) error {
	return &codec.DecodeError{Name: c.name, Key: key, Bytes: []byte(text), Cause: cause}
}
