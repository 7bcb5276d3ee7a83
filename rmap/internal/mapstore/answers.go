package mapstore

import (
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/send"
)

// Value is the value of an entry, or none.
type Value struct {
	Text   string
	There  bool
	broken error // why Text is no value, where the map keeps more with it
}

// Pair is one entry.
type Pair struct {
	Key string
	Value
	TTL, Idle time.Duration // what is left, of a cache whose times were asked for; -1: it has no end
}

// found returns the answer that a command has for a value.
func found(got send.Answer, err error) (Value, error) {
	if err != nil || got.Nil {
		return Value{}, err
	}
	text, err := got.ToString()
	return Value{Text: text, There: true}, err
}

// values returns the answer to a command that has one for each key.
func values(got send.Answer, err error) ([]Value, error) {
	if err != nil {
		return nil, err
	}
	all, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	return elements(all)
}

func elements(all []rueidis.RedisMessage) (vs []Value, err error) {
	vs = make([]Value, len(all))
	for i := range all {
		if vs[i], err = element(&all[i]); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

// element returns one of several values.
func element(m *rueidis.RedisMessage) (Value, error) {
	if m.IsNil() {
		return Value{}, nil
	}
	text, err := m.ToString()
	return Value{Text: text, There: true}, err
}

// Flag returns a truth for scripts.
func Flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// pairsOf splits texts into pairs: each key is followed by its value.
func pairsOf(texts []string) []Pair {
	pairs := make([]Pair, len(texts)/2)
	for i := range pairs {
		pairs[i] = Pair{Key: texts[2*i], Value: Value{Text: texts[2*i+1], There: true}}
	}
	return pairs
}

// pairsOfKeys returns keys without values.
func pairsOfKeys(texts []string) []Pair {
	pairs := make([]Pair, len(texts))
	for i, key := range texts {
		pairs[i].Key = key
	}
	return pairs
}
