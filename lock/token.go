package lock

import (
	"fmt"

	"github.com/rueidisson/rueidisson/internal/owner"
)

// Token names a hold that others may take part in. It is no secret: a client that can reach the
// Redis can reach the lock. Its text is the owner in Redis, so the owner of a Java hold is a token
// too.
type Token struct{ id owner.ID }

// ParseToken reads the text of a token, as [Token.String] or Redisson writes
// it: "<uuid>:<decimal>". It returns ErrToken for anything else, and for the
// owner of a hold of this library that was not made joinable with [Hold.Token].
func ParseToken(text string) (Token, error) {
	id, err := owner.Parse(text)
	if err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	t := Token{id}
	if err := t.check(); err != nil {
		return Token{}, err
	}
	return t, nil
}

// String returns the text of the token, "" for the zero Token.
func (t Token) String() string {
	if t.id == (owner.ID{}) {
		return ""
	}
	return t.id.String()
}

// check refuses what must not be joined.
func (t Token) check() error {
	switch {
	case t.id == (owner.ID{}):
		return fmt.Errorf("%w: the zero token", ErrToken)
	case t.id.Class() == owner.Private:
		return fmt.Errorf("%w: %q is a private hold; its holder must call Hold.Token first", ErrToken, t)
	}
	return nil
}

// checkFenced refuses a plain hold of this library, which has no fencing token.
func (t Token) checkFenced() error {
	if t.id.Class() == owner.Exported && t.id.Fence() == 0 {
		return fmt.Errorf("%w: %q is a hold without a fencing token", ErrToken, t)
	}
	return nil
}
