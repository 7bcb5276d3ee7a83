package rmap

import (
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
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

// found is the answer that a command has for a value.
func found(got engine.Answer, err error) (value, error) {
	if err != nil || got.Nil {
		return value{}, err
	}
	text, err := got.ToString()
	return value{text: text, there: true}, err
}

// values is the answer to a command that has one for each key.
func values(got engine.Answer, err error) ([]value, error) {
	if err != nil {
		return nil, err
	}
	all, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	vs := make([]value, len(all))
	for i := range all {
		if vs[i], err = element(&all[i]); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

// element is one of several values.
func element(m *rueidis.RedisMessage) (value, error) {
	if m.IsNil() {
		return value{}, nil
	}
	text, err := m.ToString()
	return value{text: text, there: true}, err
}

// changeArgs is what change.lua takes from the field on.
func changeArgs(key string, old, to value) []string {
	return []string{key, flag(old.there), old.text, flag(to.there), to.text}
}

// changed is the answer of change.lua: whether it was done, and else what is
// there.
func changed(got engine.Answer, err error) (there value, done bool, _ error) {
	if err == nil && got.IsInt64() {
		return value{}, true, nil
	}
	there, err = found(got, err)
	return there, false, err
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// scanArgs is what HSCAN takes behind the key.
func scanArgs(cursor, match string, page int) []string {
	args := []string{cursor, "COUNT", decimal(int64(page))}
	if match != "" {
		args = append(args, "MATCH", match)
	}
	return args
}

func scanned(got engine.Answer, err error) (next string, pairs []pair, _ error) {
	next, texts, err := scannedTexts(got, err)
	pairs = make([]pair, len(texts)/2)
	for i := range pairs {
		pairs[i] = pair{key: texts[2*i], value: value{text: texts[2*i+1], there: true}}
	}
	return next, pairs, err
}

// scannedTexts is a page of a walk, where entries have several texts each.
func scannedTexts(got engine.Answer, err error) (next string, texts []string, _ error) {
	if err != nil {
		return "", nil, err
	}
	page, err := got.ToArray()
	if err != nil {
		return "", nil, err
	}
	if next, err = page[0].ToString(); err != nil {
		return "", nil, err
	}
	texts, err = page[1].AsStrSlice()
	return next, texts, err
}
