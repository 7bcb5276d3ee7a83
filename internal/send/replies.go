package send

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// What objects make of answers.

// Number returns an answer that is an integer.
func Number(got Answer, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return got.AsInt64()
}

// Yes returns an answer that is 1 or more, or 0.
func Yes(got Answer, err error) (bool, error) {
	n, err := Number(got, err)
	return n > 0, err
}

// Remainder returns an answer of PTTL: 0 if there is nothing, -1 if it has no end.
func Remainder(ms int64, err error) (time.Duration, error) {
	switch {
	case ms == -2 || err != nil:
		return 0, err
	case ms == -1:
		return -1, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// Texts returns an answer that is an array of texts; nil is none.
func Texts(got Answer, err error) ([]string, error) {
	if err != nil || got.Nil {
		return nil, err
	}
	return got.AsStrSlice()
}

// Text returns an answer that is a text, if it is one.
func Text(got Answer, err error) (text string, there bool, _ error) {
	if err != nil || got.Nil {
		return "", false, err
	}
	text, err = got.ToString()
	return text, true, err
}

// CheckTTL refuses a time to live that no key can have.
func CheckTTL(what string, d time.Duration) error {
	if d < time.Millisecond || d > core.LongestLease {
		return fmt.Errorf("%w: %s %v is outside of 1ms to %v", core.ErrInvalidArgument, what, d, core.LongestLease)
	}
	return nil
}

// Instant returns when a key ends as scripts take it: @ and the time, ms.
func Instant(at time.Time) (string, error) {
	if at.UnixMilli() <= 0 || time.Until(at) > core.LongestLease {
		return "", fmt.Errorf("%w: time %v", core.ErrInvalidArgument, at)
	}
	return "@" + strconv.FormatInt(at.UnixMilli(), 10), nil
}

// SizeScript answers how many bytes of memory keys take.
var SizeScript = scripts.Must(lua, "lua/size.lua")

// SizeInMemory returns how many bytes keys of one slot take on the server.
func (s *Sender) SizeInMemory(ctx context.Context, keys []string) (int64, error) {
	return Number(s.Run(ctx, SizeScript, keys, nil))
}

// WrongType reports whether the server, or a module, said, also by way of a script, that a key
// is of another type.
func WrongType(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply) && (strings.Contains(reply.Error(), "WRONGTYPE") || strings.HasPrefix(reply.Error(), "Existing key has wrong Redis type"))
}

// WrongKind reports whether a script said that a key is that of an object of
// another kind.
func WrongKind(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply) && strings.Contains(reply.Error(), "WRONGKIND")
}
