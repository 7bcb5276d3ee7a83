package peer

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// null is the word for Java's null; the text "-" is written %2D.
const null = "-"

// Value is one value that Java returned.
type Value struct {
	Text string // as Java prints it; raw bytes where the operation has those
	Null bool
}

// Reply is what an operation returned: no value if it is void, one, or one for each element.
type Reply []Value

// Text returns the one value as text. Null is an error, so that it is not mistaken for the empty text.
func (r Reply) Text() (string, error) {
	if len(r) != 1 {
		return "", fmt.Errorf("java returned %d values, not one", len(r))
	}
	if r[0].Null {
		return "", ErrNull
	}
	return r[0].Text, nil
}

// Bool returns the one value as a boolean.
func (r Reply) Bool() (bool, error) {
	return parsed(r, strconv.ParseBool)
}

// Int returns the one value as a number.
func (r Reply) Int() (int64, error) {
	return parsed(r, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
}

// Ints returns all values as numbers.
func (r Reply) Ints() ([]int64, error) {
	all := make([]int64, len(r))
	for i := range r {
		n, err := r[i : i+1].Int()
		if err != nil {
			return nil, err
		}
		all[i] = n
	}
	return all, nil
}

// Texts returns all values as text.
func (r Reply) Texts() ([]string, error) {
	all := make([]string, len(r))
	for i := range r {
		text, err := r[i : i+1].Text()
		if err != nil {
			return nil, err
		}
		all[i] = text
	}
	return all, nil
}

func parsed[T any](r Reply, parse func(string) (T, error)) (v T, err error) {
	text, err := r.Text()
	if err != nil {
		return v, err
	}
	return parse(text)
}

// ErrNull is returned where Java returned null and a value was asked for.
var ErrNull = errors.New("java returned null")

// JavaError is an exception of the Java side. It is returned as *JavaError.
type JavaError struct {
	Class   string // with its package
	Message string
}

func (e *JavaError) Error() string { return "java: " + e.Class + ": " + e.Message }

// Thrown returns the class of the exception in err, without its package; empty if there is none.
func Thrown(err error) string {
	var thrown *JavaError
	if !errors.As(err, &thrown) {
		return ""
	}
	return thrown.Class[strings.LastIndexByte(thrown.Class, '.')+1:]
}

func encode(word string) string {
	if word == null {
		return "%2D"
	}
	return url.QueryEscape(word)
}

func decode(word string) (Value, error) {
	if word == null {
		return Value{Null: true}, nil
	}
	text, err := url.QueryUnescape(word)
	return Value{Text: text}, err
}

func requestLine(id string, words []string) string {
	var line strings.Builder
	line.WriteString(id)
	for _, word := range words {
		line.WriteString(" " + encode(word))
	}
	return line.String() + "\n"
}

// answer is one line of the peer. The tag is a request's id, or ready, or fatal.
type answer struct {
	tag   string
	reply Reply
	err   error
}

func parseLine(line string) (answer, error) {
	tag, rest, _ := strings.Cut(line, " ")
	kind := tag
	if tag != "ready" && tag != "fatal" {
		kind, rest, _ = cutWord(rest)
	}
	reply, err := decodeAll(rest)
	if err != nil {
		return answer{}, fmt.Errorf("peer wrote %q: %w", line, err)
	}
	switch {
	case kind == "ok" || kind == "ready":
		return answer{tag: tag, reply: reply}, nil
	case (kind == "err" || kind == "fatal") && len(reply) == 2:
		return answer{tag: tag, err: &JavaError{Class: reply[0].Text, Message: reply[1].Text}}, nil
	}
	return answer{}, fmt.Errorf("peer wrote %q, which is no answer", line)
}

// cutWord keeps the space before the next word, so that no word and an empty one stay apart.
func cutWord(s string) (word, rest string, found bool) {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[:i], s[i:], true
	}
	return s, "", false
}

func decodeAll(rest string) (Reply, error) {
	if rest == "" {
		return nil, nil
	}
	var reply Reply
	for word := range strings.SplitSeq(strings.TrimPrefix(rest, " "), " ") {
		value, err := decode(word)
		if err != nil {
			return nil, err
		}
		reply = append(reply, value)
	}
	return reply, nil
}
