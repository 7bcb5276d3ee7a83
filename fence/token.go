package fence

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

var (
	// ErrMalformed says that a text, a name or a number is not a valid token.
	ErrMalformed = errors.New("not a fencing token")

	// ErrOtherLock says that two tokens are of different locks, so that neither is older.
	ErrOtherLock = errors.New("the fencing token is of another lock")
)

// Token is the fencing token of one hold: the lock's name, and a number that is higher than those
// of all holds before. The zero Token is no token. [Token.Compare] compares tokens; == tells
// whether they are the same.
type Token struct {
	lock   string
	number int64
	owner  string
}

// New returns the token of a lock with a number from elsewhere, such as from Redisson's
// RFencedLock. The Fence method of a hold returns the hold's own token.
//
// Errors: ErrMalformed if the name is empty, or the number not positive.
func New(lock string, number int64) (Token, error) {
	switch {
	case lock == "":
		return Token{}, fmt.Errorf("%w: no name of a lock", ErrMalformed)
	case number <= 0:
		return Token{}, fmt.Errorf("%w: number %d is not positive", ErrMalformed, number)
	}
	return Token{lock: lock, number: number}, nil
}

// By returns t with its owner: a text that tells holders apart. A guard that gets one number twice
// refuses it from another owner.
func (t Token) By(owner string) Token {
	t.owner = owner
	return t
}

// Lock returns the name of the lock.
func (t Token) Lock() string { return t.lock }

// Number returns the number, which rises from hold to hold. It is 0 for the zero Token.
func (t Token) Number() int64 { return t.number }

// Owner returns the owner of the hold, "" if it is not known.
func (t Token) Owner() string { return t.owner }

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool { return t == Token{} }

// Compare returns a negative number if t is older than u, 0 if their numbers are the same, and else
// a positive number. It returns ErrOtherLock if they are of different locks.
func (t Token) Compare(u Token) (int, error) {
	if t.lock != u.lock {
		return 0, fmt.Errorf("%w: %q and %q", ErrOtherLock, t.lock, u.lock)
	}
	return cmp.Compare(t.number, u.number), nil
}

// String returns the text of the token: "<number>;lock=<name>;owner=<owner>", names as in the query
// of a URL, without the owner if it is not known; "" for the zero Token. The text can be used in a
// header.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	text := strconv.FormatInt(t.number, 10) + ";lock=" + url.QueryEscape(t.lock)
	if t.owner != "" {
		text += ";owner=" + url.QueryEscape(t.owner)
	}
	return text
}

// Parse reads the text that String writes. For any other text it returns ErrMalformed.
func Parse(text string) (Token, error) {
	parts := strings.Split(text, ";")
	if len(parts) < 2 || len(parts) > 3 {
		return Token{}, fmt.Errorf("%w: %q", ErrMalformed, text)
	}
	number, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return Token{}, fmt.Errorf("%w: %q", ErrMalformed, text)
	}
	t, err := New(part(parts[1], "lock="), number)
	if err == nil && len(parts) == 3 {
		t = t.By(part(parts[2], "owner="))
	}
	if err != nil || t.String() != text { // what String does not write, such as +7
		return Token{}, fmt.Errorf("%w: %q", ErrMalformed, text)
	}
	return t, nil
}

// part returns the value after its key, "" if the key is not there.
func part(text, key string) string {
	value, ok := strings.CutPrefix(text, key)
	if !ok {
		return ""
	}
	value, err := url.QueryUnescape(value)
	if err != nil {
		return ""
	}
	return value
}
