package timeseries

import (
	"crypto/rand"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
)

// Entry is a value of a time series.
type Entry[T any] struct {
	Time  time.Time // in whole milliseconds
	Value T
	Label string // empty: it has none
}

// Earliest and Latest are the first and the last time that an entry may be added with: 285,000 years before and after 1970, since
// the server counts milliseconds exactly up to 2^53. A range from Earliest, or before it, begins with the first entry, and one to Latest, or
// after it, ends with the last one, whatever times they have. A range that ends before Earliest, or begins after Latest, has none.
var (
	Earliest = time.UnixMilli(-1 << 53).UTC()
	Latest   = time.UnixMilli(1 << 53).UTC()
)

// scoreOf returns a time as the server takes it.
func scoreOf(t time.Time) (string, error) {
	if t.Before(Earliest) || t.After(Latest) {
		return "", fmt.Errorf("%w: time %v is outside of 285,000 years around 1970", ErrInvalidArgument, t)
	}
	return decimal(t.UnixMilli()), nil
}

// moment returns the range of one time as the server takes it.
func moment(t time.Time) (within [2]string, err error) {
	score, err := scoreOf(t)
	return [2]string{score, score}, err
}

// bounds returns a range of times as the server takes it.
func bounds(from, to time.Time) [2]string {
	lowest, highest := "-inf", "+inf"
	if from.After(Latest) || to.Before(Earliest) {
		return [2]string{"+inf", "-inf"} // which is empty
	}
	if from.After(Earliest) {
		lowest = decimal(from.UnixMilli())
	}
	if to.Before(Latest) {
		highest = decimal(to.UnixMilli())
	}
	return [2]string{lowest, highest}
}

// stored is an entry as it is in Redis, with its time as the server writes it.
type stored struct{ text, score string }

// entries writes and reads the entries of the series of a name.
type entries[T any] struct {
	e      *locking.Engine
	name   string
	values codec.Codec[T]
	labels codec.Codec[string]
}

func newEntries[T any](e *locking.Engine, name string, cfg config) (m entries[T], err error) {
	m = entries[T]{e: e, name: name}
	if m.values, err = object.Codec[T](e, cfg.family, cfg.codec); err == nil {
		m.labels, err = object.Codec[string](e, cfg.family, nil)
	}
	return m, err
}

// store returns an entry as it is written to Redis.
func (m *entries[T]) store(in Entry[T]) (is stored, err error) {
	if is.score, err = scoreOf(in.Time); err != nil {
		return is, err
	}
	p := packed{hasLabel: in.Label != ""}
	if p.value, err = codec.Encode(m.values, in.Value); err != nil {
		return is, fmt.Errorf("value: %w", err)
	}
	if p.hasLabel {
		if p.label, err = codec.Encode(m.labels, in.Label); err != nil {
			return is, fmt.Errorf("label: %w", err)
		}
	}
	if err = m.e.Fits(len(p.value) + len(p.label)); err != nil {
		return is, fmt.Errorf("value: %w", err)
	}
	var id [idSize]byte
	_, _ = rand.Read(id[:]) // which never fails
	is.text = p.text(string(id[:]))
	return is, nil
}

// load returns an entry that was read.
func (m *entries[T]) load(is stored) (out Entry[T], err error) {
	bad := func(text string, why error) (Entry[T], error) {
		return Entry[T]{}, &codec.DecodeError{Name: m.name, Bytes: []byte(text), Cause: why}
	}
	p, err := unpack(is.text)
	if err != nil {
		return bad(is.text, err)
	}
	if out.Time, err = timeOf(is.score); err != nil {
		return bad(is.text, err)
	}
	if out.Value, err = codec.Decode(m.values, p.value); err != nil {
		return bad(p.value, err)
	}
	if p.hasLabel {
		if out.Label, err = codec.Decode(m.labels, p.label); err != nil {
			return bad(p.label, err)
		}
	}
	return out, nil
}

// timeOf returns a time of the server. Other clients may have written any number.
func timeOf(score string) (time.Time, error) {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil || ms != math.Trunc(ms) || math.Abs(ms) >= 1<<63 {
		return time.Time{}, fmt.Errorf("its time %.30q is no whole number of milliseconds", score)
	}
	return time.UnixMilli(int64(ms)), nil
}
