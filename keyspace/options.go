package keyspace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/core"
)

// A WalkOption says which keys [Keys.All] yields. Without one it yields all.
type WalkOption interface{ applyWalk(*walking) error }

// A DeleteOption changes one [Keys.DeleteMatch].
type DeleteOption interface{ applyDelete(*deleting) error }

// walking is what the options of a walk say.
type walking struct {
	pattern string
	is      Type
}

// deleting is what the options of a deletion say.
type deleting struct {
	share      float64 // of the time
	everything bool
}

type walkOption func(*walking) error

func (o walkOption) applyWalk(w *walking) error { return o(w) }

type deleteOption func(*deleting) error

func (o deleteOption) applyDelete(d *deleting) error { return o(d) }

// WithMatch yields the names that match a pattern, as Redis' KEYS reads it: * for any text, ? for one byte, [ab], [a-c] and
// [^a] for one byte of these or of others, \ before what is meant word for word.
func WithMatch(pattern string) WalkOption {
	return walkOption(func(w *walking) error {
		w.pattern = pattern
		return checkPattern(pattern)
	})
}

// WithType yields keys of that type only.
func WithType(t Type) WalkOption {
	return walkOption(func(w *walking) error {
		if w.is = t; t == "" || t == None {
			return fmt.Errorf("%w: type %q", core.ErrInvalidArgument, string(t))
		}
		return nil
	})
}

// leastShare is the least share of the time that a walk may be given.
const leastShare = 0.01

// WithPace has the deletion work for that share of the time, and rest for the others: 0.5 rests after each page for as long
// as that took. It leaves the server to others. The share is from 0.01 to 1; 1 does not rest.
func WithPace(share float64) DeleteOption {
	return deleteOption(func(d *deleting) error {
		if d.share = share; !(share >= leastShare && share <= 1) { // nor what is no number
			return fmt.Errorf("%w: pace %v is outside of %v to 1", core.ErrInvalidArgument, share, leastShare)
		}
		return nil
	})
}

// WithEverything permits a pattern that matches every name, such as *.
func WithEverything() DeleteOption {
	return deleteOption(func(d *deleting) error {
		d.everything = true
		return nil
	})
}

// checkPattern refuses what matches no name, and what would change the meaning of a text after it, such as that of a name mapper.
func checkPattern(pattern string) error {
	switch {
	case pattern == "":
		return fmt.Errorf("%w: an empty pattern", core.ErrInvalidArgument)
	case open(pattern):
		return fmt.Errorf("%w: a pattern that ends after a backslash or within brackets", core.ErrInvalidArgument)
	}
	return nil
}

// open reports whether a pattern ends after a backslash, or within brackets.
func open(pattern string) bool {
	within := false
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if i++; i == len(pattern) {
				return true
			}
		case '[':
			within = true
		case ']':
			within = false
		}
	}
	return within
}

// general reports whether a pattern says nothing of the names but how long they are.
func general(pattern string) bool {
	return strings.Contains(pattern, "*") && strings.Trim(pattern, "*?") == ""
}

// decimal returns a number for commands.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
