package rmap

import (
	"errors"
	"fmt"
	"strconv"
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

// words returns the arguments of HSCAN in addition to the key, the cursor and the count.
func (a asked) words() []string {
	if a.match == "" {
		return nil
	}
	return []string{"MATCH", a.match}
}

// bounds returns what a script that walks takes of how far it goes.
func (a asked) bounds() []string {
	return []string{decimal(int64(a.count)), decimal(int64(a.page)), decimal(mostPageBytes)}
}

// scannedBy returns a page by a script that includes walk.lua, and its texts.
func scannedBy(got send.Answer, err error) (p scanPage, texts []string, _ error) {
	if err != nil {
		return p, nil, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return p, nil, err
	}
	if len(parts) != 6 {
		return p, nil, fmt.Errorf("a page of %d parts", len(parts))
	}
	if texts, err = parts[1].AsStrSlice(); err != nil {
		return p, nil, err
	}
	var failed [5]error
	p.next, failed[0] = parts[0].ToString()
	p.passed, failed[1] = parts[2].AsInt64()
	p.bytes, failed[2] = parts[3].AsInt64()
	p.server, failed[3] = parts[4].ToString()
	p.left, failed[4] = parts[5].AsStrSlice()
	return p, texts, errors.Join(failed[:]...)
}

// scannedAt returns a page by HSCAN with that count.
func scannedAt(count int, got send.Answer, err error) (p scanPage, _ error) {
	if err != nil {
		return p, err
	}
	entry, err := got.AsScanEntry()
	if err != nil {
		return p, err
	}
	p.next = strconv.FormatUint(entry.Cursor, 10)
	p.pairs = pairsOf(entry.Elements)
	p.passed = int64(max(count, len(p.pairs)))
	for _, text := range entry.Elements {
		p.bytes += int64(len(text))
	}
	return p, nil
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
