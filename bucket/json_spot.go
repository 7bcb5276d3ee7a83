package bucket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// document names the type of keys in errors.
	document = "JSON document"
	// root is the path of a whole document.
	root = "$"
)

// errSeveral refuses an operation whose answer has room for one place.
var errSeveral = fmt.Errorf("%w: the path matches several places, and nothing was changed", ErrInvalidArgument)

// spot is a place of a document, or the whole of it, with a value of type V.
type spot[V any] struct {
	b     *base
	path  string
	codec codec.Codec[V]
}

// newSpot returns a place of a document, with the error of its type.
func newSpot[V any](b *base, path string) spot[V] {
	c := codec.For[V](codec.JSON)
	b.Bad = cmp.Or(b.Bad, codec.Check(c))
	if b.Bad == nil && reflect.TypeFor[V]() == reflect.TypeFor[json.Number]() {
		b.Bad = fmt.Errorf("%w: json.Number would be a string: take a type of numbers, or a struct with it", ErrInvalidArgument)
	}
	return spot[V]{b, path, c}
}

const null = "null"

// encoded returns a value as JSON. A nil pointer or interface is null.
func (s *spot[V]) encoded(v V) (string, error) {
	if of := reflect.ValueOf(&v).Elem(); (of.Kind() == reflect.Pointer || of.Kind() == reflect.Interface) && of.IsNil() {
		return null, nil
	}
	return encodedBy(s.b, s.codec, v)
}

// encodedBy returns a value as it is sent.
func encodedBy[V any](b *base, c codec.Codec[V], v V) (string, error) {
	text, err := codec.Encode(c, v)
	if err == nil {
		err = b.Engine.Fits(len(text))
	}
	if err == nil && slices.ContainsFunc(integersOf(text), rounded) {
		err = fmt.Errorf("%w: an integer of more than 64 bits, which the server would round", ErrInvalidArgument)
	}
	if err != nil {
		return "", fmt.Errorf("value: %w", err)
	}
	return text, nil
}

// decoded returns the value of JSON, if there is any. Null is nil.
func (s *spot[V]) decoded(got value) (v V, there bool, err error) {
	if !got.there {
		return v, false, nil
	}
	if got.text == null {
		switch reflect.TypeFor[V]().Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
			return v, true, nil
		}
	}
	if v, err = codec.Decode(s.codec, got.text); err != nil {
		err = s.undecoded(got.text, err)
	}
	return v, true, err
}

// undecoded returns the error of JSON that is no V. It does not show the path, since there may be values in it.
func (s *spot[V]) undecoded(text string, cause error) error {
	return &codec.DecodeError{Name: s.b.Name, Bytes: []byte(text), Cause: cause}
}

// updated is a document that is decoded to be written again.
type updated[V any] struct{ *spot[V] }

var errRounded = errors.New("a value of type any would round an integer beyond 2^53")

// decoded returns the value of a document, or an error if it has an integer that a value of type any rounds.
func (u updated[V]) decoded(got value) (v V, there bool, err error) {
	v, there, err = u.spot.decoded(got)
	if err != nil || !there || !slices.ContainsFunc(integersOf(got.text), inexact) {
		return v, there, err
	}
	var exactly V
	in := json.NewDecoder(strings.NewReader(got.text))
	in.UseNumber()
	if in.Decode(&exactly) != nil { // the codec reads it in its own way
		return v, there, nil
	}
	one, err := u.encoded(v)
	other, err2 := u.encoded(exactly)
	if err == nil && err2 == nil && !equalTexts(one, other) {
		return v, there, u.undecoded(got.text, errRounded)
	}
	return v, there, nil
}

// integersOf returns the numbers of JSON that are integers of many digits.
func integersOf(text string) (all []string) {
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case c == '-' || '0' <= c && c <= '9':
			end := at + 1
			for end < len(text) && strings.IndexByte("0123456789.eE+-", text[end]) >= 0 {
				end++
			}
			if one := text[at:end]; len(one) >= len("9007199254740993") && !strings.ContainsAny(one, ".eE") {
				all = append(all, one)
			}
			at = end - 1
		}
	}
	return all
}

// inexact reports whether a float64 of an integer is another number.
func inexact(integer string) bool {
	f, err := strconv.ParseFloat(integer, 64)
	return err != nil || strconv.FormatFloat(f, 'f', 0, 64) != integer
}

// rounded reports whether the module would make another number of an integer. It does not of what encoding/json writes for a
// float64, since it reads the same float64.
func rounded(number string) bool {
	if _, kept := integer(number); kept {
		return false
	}
	f, err := strconv.ParseFloat(number, 64)
	return err != nil || inexact(number) && strconv.FormatFloat(f, 'f', -1, 64) != number
}

// found is the answer to a request for what is at a path.
type found struct {
	value        // of the first place
	array string // of all places
	n     int64  // in place of a text: how many places there are, or 1 for what was done
}

// found returns an answer that is an array of what is at the path, a number, or nil.
func (s *spot[V]) found(got send.Answer, err error) (f found, _ error) {
	switch {
	case err != nil || got.Nil:
		return f, unplaced(err)
	case got.IsInt64():
		f.n, err = got.AsInt64()
		return f, err
	}
	if f.array, err = got.ToString(); err != nil {
		return f, err
	}
	if s.path == root {
		f.value = onlyOf(f.array)
		return f, nil
	}
	f.value, err = firstOf(f.array)
	return f, err
}

// documentOf returns an answer that is an array of a document.
func documentOf(got send.Answer, err error) (v value, _ error) {
	if v, err = valueOf(got, err); err == nil && v.there {
		v = onlyOf(v.text)
	}
	return v, err
}

// onlyOf returns the element of an array that has one, without copying it.
func onlyOf(array string) value {
	return value{strings.TrimSuffix(strings.TrimPrefix(array, "["), "]"), true}
}

// firstOf returns the first element of an array.
func firstOf(array string) (v value, err error) {
	in := json.NewDecoder(strings.NewReader(array))
	var one json.RawMessage
	if _, err = in.Token(); err == nil && in.More() {
		err, v.there = in.Decode(&one), true
		v.text = string(one)
	}
	return v, err
}

// firstNotNull returns the first element of an array that is not null.
func firstNotNull(array string) (v value, err error) {
	var all []json.RawMessage
	err = json.Unmarshal([]byte(array), &all)
	for _, one := range all {
		if string(one) != null {
			return value{string(one), true}, err
		}
	}
	return v, err
}

// each returns the values of an array.
func (s *spot[V]) each(array string) ([]V, error) {
	var texts []json.RawMessage
	if err := json.Unmarshal([]byte(array), &texts); err != nil {
		return nil, err
	}
	all := make([]V, len(texts))
	for i, text := range texts {
		v, _, err := s.decoded(value{string(text), true})
		if err != nil {
			return nil, err
		}
		all[i] = v
	}
	return all, nil
}

// nowhere is how an error begins by which the module says that a path leads nowhere, or that there is no document.
var nowhere = []string{
	"could not perform this operation on a key that doesn't exist", "new objects must be created at the root",
	"Err wrong static path", "array index out of range", "index out of bounds",
}

// unplaced returns err unless it says that a path leads nowhere.
func unplaced(err error) error {
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) {
		return err
	}
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	is := func(begins string) bool { return strings.HasPrefix(text, begins) }
	if slices.ContainsFunc(nowhere, is) || is("Path '") && strings.Contains(text, "' does not exist") {
		return nil
	}
	return err
}

// unread returns an error of the module without the path, in which there may be values: that of a path which it cannot read,
// and that of a server which has no module.
func unread(err error) error {
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) {
		return err
	}
	if send.UnknownCommand(reply) {
		return fmt.Errorf("%w: the server does not have the command of the module RedisJSON", errors.ErrUnsupported)
	}
	at := 0
	if _, miss := fmt.Sscanf(reply.Error(), "Error occurred on position %d", &at); miss == nil {
		return fmt.Errorf("%w: the server cannot read the path from its byte %d on, and nothing was done", ErrInvalidArgument, at)
	}
	return err
}

// answering returns an operation whose answer has what is in the document.
func (s *spot[V]) answering(op send.Operation) send.Operation {
	bytes := s.size().Load()
	return send.Expect(op, cmp.Or(bytes, s.b.h.sizes.Of(s.b.Key).Load()))
}

// size returns how long what is at the path is.
func (s *spot[V]) size() *paging.Size {
	if s.path == root {
		return s.b.h.sizes.Of(s.b.Key)
	}
	return s.b.h.sizes.Of(s.b.Key + s.path)
}

// get reads all that is at the path.
func (s *spot[V]) get(ctx context.Context) (found, error) {
	got, err := read(ctx, s.b, s.found, s.answering(readDocument), s.path)
	if err == nil && got.there {
		s.size().Saw(len(got.array), 1)
	}
	return got, err
}

// first returns the first value at the path.
func (s *spot[V]) first(ctx context.Context) (v V, there bool, err error) {
	got, err := s.get(ctx)
	return s.answer("get", got, err)
}

// answer returns the value of an operation, or its error.
func (s *spot[V]) answer(op string, got found, err error) (v V, there bool, _ error) {
	if err == nil && got.n > 1 {
		err = errSeveral
	}
	if err == nil {
		v, there, err = s.decoded(got.value)
	}
	return v, there, s.b.Failed(op, err)
}

// mostAnswered bounds what a comparison that fails answers at once, unless what it has compared is longer.
const mostAnswered = 1 << 20

// change writes, or deletes, if what is at the path equals old. What is there may be spelled in another way: then it is
// asked again, with the text that is there. What is much longer than old is read, in the time that it takes.
func (s *spot[V]) change(ctx context.Context, old V, writes bool, text string, l lifetime) (did bool, err error) {
	if s.b.Bad != nil {
		return false, s.b.Bad
	}
	was, err := s.encoded(old)
	if err != nil {
		return false, err
	}
	was = "[" + was + "]"
	for {
		most := decimal(int64(max(mostAnswered, 2*len(was))))
		got, err := write(ctx, s.b, s.found, send.Expect(documentChange, int64(2*len(was))), "1", was, flag(writes), text, l.text(), "", "0", s.path, most)
		if err == nil && got.n < 0 {
			got, err = s.get(ctx)
		}
		if err != nil || !got.there {
			return got.n == 1, err
		}
		if same, several := sameJSON(was, got.array); several {
			return false, errSeveral
		} else if !same {
			return false, nil
		}
		was = got.array
	}
}

// merge merges a patch into what is at the path, and reports whether there is such a place.
func (s *spot[V]) merge(ctx context.Context, patch any) (did bool, err error) {
	if s.b.Bad != nil {
		return false, s.b.Bad
	}
	text, err := encodedBy(s.b, codec.For[any](codec.JSON), patch)
	if err != nil {
		return false, err
	}
	return write(ctx, s.b, done, jsonMerge, s.path, text)
}

// done reports whether the module has done what it was asked for.
func done(got send.Answer, err error) (bool, error) {
	return err == nil && !got.Nil, unplaced(err)
}

// sameJSON reports whether two arrays of what is at a path are the same JSON, and whether the second one is of several places.
func sameJSON(one, other string) (same, several bool) {
	var a, b []any
	for _, of := range []struct {
		text string
		to   *[]any
	}{{one, &a}, {other, &b}} {
		in := json.NewDecoder(strings.NewReader(of.text))
		in.UseNumber()
		if err := in.Decode(of.to); err != nil && err != io.EOF {
			return false, false
		}
	}
	return equal(a, b), len(b) > 1
}

// equal compares JSON.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, is := b.(json.Number)
		return is && sameNumber(a.String(), b.String())
	case []any:
		b, is := b.([]any)
		if !is || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, is := b.(map[string]any)
		if !is || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, there := b[name]; !there || !equal(v, w) {
				return false
			}
		}
		return true
	}
	return a == b // a text, a bool or null
}

// equalTexts reports whether two texts are the same JSON.
func equalTexts(one, other string) bool {
	same, _ := sameJSON("["+one+"]", "["+other+"]")
	return same
}

// exact bounds the integers that a float64 has all of.
const exact = 1 << 53

// sameNumber compares numbers by value: integers as such, and others as float64, which the module keeps. An integer equals a
// float64 that is exactly that.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	m, aInteger := integer(a)
	n, bInteger := integer(b)
	if aInteger && bInteger {
		return m == n
	}
	f, err := strconv.ParseFloat(a, 64)
	g, err2 := strconv.ParseFloat(b, 64)
	switch {
	case err != nil || err2 != nil:
		return false
	case aInteger:
		return m == digits(g)
	case bInteger:
		return n == digits(f)
	}
	return f == g
}

// digits returns all digits of a float64 that is an integer, or nothing if it is none.
func digits(f float64) string {
	if f == 0 {
		return "0" // -0, too
	}
	if f != math.Trunc(f) {
		return ""
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// integer returns an integer in its one spelling, and whether a number is one that the module keeps as such.
func integer(number string) (string, bool) {
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && number != "-0" {
		return strconv.FormatInt(n, 10), true
	}
	if n, err := strconv.ParseUint(number, 10, 64); err == nil {
		return strconv.FormatUint(n, 10), true
	}
	return "", false
}
