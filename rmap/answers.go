package rmap

import (
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/send"
)

// value is what stands in an entry, or that there is none.
type value struct {
	text   string
	there  bool
	broken error // why text is no value, where the map keeps more with it
}

// pair is one entry.
type pair struct {
	key string
	value
	ttl, idle time.Duration // what is left, of a cache whose times were asked for; -1: it has no end
}

// found returns the answer that a command has for a value.
func found(got send.Answer, err error) (value, error) {
	if err != nil || got.Nil {
		return value{}, err
	}
	text, err := got.ToString()
	return value{text: text, there: true}, err
}

// values returns the answer to a command that has one for each key.
func values(got send.Answer, err error) ([]value, error) {
	if err != nil {
		return nil, err
	}
	all, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	return elements(all)
}

func elements(all []rueidis.RedisMessage) (vs []value, err error) {
	vs = make([]value, len(all))
	for i := range all {
		if vs[i], err = element(&all[i]); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

// element returns one of several values.
func element(m *rueidis.RedisMessage) (value, error) {
	if m.IsNil() {
		return value{}, nil
	}
	text, err := m.ToString()
	return value{text: text, there: true}, err
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// pairsOf splits texts into pairs: each key is followed by its value.
func pairsOf(texts []string) []pair {
	pairs := make([]pair, len(texts)/2)
	for i := range pairs {
		pairs[i] = pair{key: texts[2*i], value: value{text: texts[2*i+1], there: true}}
	}
	return pairs
}

// pairsOfKeys returns keys without values.
func pairsOfKeys(texts []string) []pair {
	pairs := make([]pair, len(texts))
	for i, key := range texts {
		pairs[i].key = key
	}
	return pairs
}
