package sortedset

import (
	"fmt"
	"math"
	"strconv"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
)

// Entry is a member of a set and its score.
type Entry[T any] struct {
	Value T
	Score float64
}

// members writes and reads the members of the set of a name.
type members[T any] struct {
	e     *locking.Engine
	name  string
	codec codec.Codec[T]
}

func newMembers[T any](e *locking.Engine, name string, opts []Option) (m members[T], err error) {
	m = members[T]{e: e, name: name}
	cfg, err := object.Options(config{}, opts, Option.applyHandle)
	if err == nil {
		m.codec, err = object.MemberCodec[T](e, cfg.family, cfg.codec)
	}
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

// scored is a member as it is in Redis. Its score is written as the server writes it.
type scored struct{ text, score string }

// entry returns a member that was read.
func (m *members[T]) entry(is scored) (e Entry[T], err error) {
	if e.Value, err = m.value(is.text); err == nil {
		e.Score, err = strconv.ParseFloat(is.score, 64)
	}
	return e, err
}

// scoreText returns a score as it is sent: the shortest decimal, without an exponent, as Java's.
func scoreText(score float64) (string, error) {
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return "", fmt.Errorf("%w: score %v", ErrInvalidArgument, score)
	}
	if score == 0 {
		score = 0 // and not its negative
	}
	return strconv.FormatFloat(score, 'f', -1, 64), nil
}

// mostMembers bounds the members of one command, which keeps the server for about a millisecond.
const mostMembers = 1000

// cut returns how many of n things go out as one command, one at least. bytes returns those of one.
func cut(n, most int, bytes func(i int) int) int {
	sum := 0
	for i := range n {
		if sum += bytes(i); i > 0 && (i == most || sum > paging.Bytes) {
			return i
		}
	}
	return n
}

// inParts calls do with parts of words, one after the other, and adds up what it answers. Each member is so many words. It ends with
// the first error.
func inParts(words []string, each int, do func(some []string) (int64, error)) (sum int64, err error) {
	for len(words) > 0 {
		n := each * cut(len(words)/each, mostMembers, func(i int) int { return len(words[each*i+each-1]) })
		got, err := do(words[:n])
		sum += got
		if err != nil {
			return sum, err
		}
		words = words[n:]
	}
	return sum, nil
}
