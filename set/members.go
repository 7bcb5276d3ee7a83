package set

import (
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
)

// members writes and reads the members of the set of a name.
type members[T any] struct {
	e     *locking.Engine
	name  string
	codec codec.Codec[T]
}

func newMembers[T any](e *locking.Engine, name string, cfg config) (m members[T], err error) {
	m = members[T]{e: e, name: name}
	m.codec, err = object.MemberCodec[T](e, cfg.family, cfg.codec)
	return m, err
}

// text returns a member as it is in Redis.
func (m *members[T]) text(v T) (string, error) {
	text, err := codec.Encode(m.codec, v)
	if err == nil {
		err = m.e.Fits(len(text))
	}
	if err != nil {
		return "", fmt.Errorf("member: %w", err)
	}
	return text, nil
}

func (m *members[T]) texts(vs []T) ([]string, error) {
	texts := make([]string, len(vs))
	for i, v := range vs {
		var err error
		if texts[i], err = m.text(v); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func (m *members[T]) value(text string) (v T, err error) {
	if v, err = codec.Decode(m.codec, text); err != nil {
		err = &codec.DecodeError{Name: m.name, Bytes: []byte(text), Cause: err}
	}
	return v, err
}

// values returns the members that decode, and the errors of the others.
func (m *members[T]) values(texts []string) (vs []T, _ error) {
	var undecoded []error
	for _, text := range texts {
		if v, err := m.value(text); err == nil {
			vs = append(vs, v)
		} else {
			undecoded = append(undecoded, err)
		}
	}
	return vs, errors.Join(undecoded...)
}

// cut returns how many texts go out as one command, of most at most.
func cut(texts []string, most int) int {
	bytes := 0
	for i, text := range texts {
		if bytes += len(text); i > 0 && (i == most || bytes > paging.Bytes) {
			return i
		}
	}
	return len(texts)
}

// inParts calls do with parts of texts, one after the other, and adds up what it answers. It ends with the first error.
func inParts(texts []string, most int, do func(some []string) (int64, error)) (sum int64, err error) {
	for len(texts) > 0 {
		n := cut(texts, most)
		got, err := do(texts[:n])
		sum += got
		if err != nil {
			return sum, err
		}
		texts = texts[n:]
	}
	return sum, nil
}

// mostVain is how often in a row nothing new may come before a sample ends.
const mostVain = 16

// sample collects up to n different texts. ask brings up to so many at random, and says whether there are no others.
func sample(n int, ask func(n int) (some []string, all bool, err error)) (found []string, err error) {
	seen := map[string]bool{}
	for vain := 0; len(found) < n && vain < mostVain; {
		some, all, err := ask(n) // again all of them, since most of them are known by then
		if err != nil {
			return found, err
		}
		vain++
		for _, text := range some {
			if !seen[text] && len(found) < n {
				seen[text], vain = true, 0
				found = append(found, text)
			}
		}
		if all {
			break
		}
	}
	return found, nil
}
