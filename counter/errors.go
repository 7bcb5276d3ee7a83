package counter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// The errors that a program branches on. Every error of this package names the operation and the object, and wraps one of
// these, the context's error and its cause, or the error of Redis. No error shows a number or a member.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, an option, NaN, a block of ids that is not above 0. It
	// also says that a sum would be out of range. Nothing was changed.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it: the operation may or may not have
	// been done. An add of a [Counter] with [WithRequestIDs], and of an [Adder], counts once in any case: do not call again.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDecode says that the key holds a text that is no number of that kind. The text stays.
	ErrDecode = codec.ErrDecode

	// ErrExhausted is returned by [IDs.Next] and [IDs.Range] when fewer ids are left below 2^63-1 than a block has, or
	// than were asked for.
	ErrExhausted = errors.New("the ids are exhausted")

	// ErrNotReplicated is returned by [IDs.Next] and [IDs.Range] if too few replicas acknowledged a block of ids in time
	// (rueidisson.WithReplicaAcks). Ids of that block are given to no caller.
	ErrNotReplicated = core.ErrNotReplicated

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)

var (
	errOverflow  = fmt.Errorf("%w: the sum would leave the range of int64", ErrInvalidArgument)
	errInfinite  = fmt.Errorf("%w: the sum would be infinite", ErrInvalidArgument)
	errBlockSize = &foreignError{"the key of the block size holds no integer above 0", "Delete and Init set it"}
)

// foreignError says that a key holds something else.
type foreignError struct{ what, remedy string }

// Error says what is there, and what mends it.
func (e *foreignError) Error() string { return e.what + ": " + e.remedy }

// Unwrap has errors.Is find [ErrDecode].
func (*foreignError) Unwrap() error { return ErrDecode }

// foreign returns the error for a text of that many bytes in the place of a number.
func foreign(kind string, bytes int64) error {
	return &foreignError{fmt.Sprintf("the key holds no %s (%d bytes)", kind, bytes), "Set replaces it, Delete removes it"}
}

// The words by which servers and scripts refuse.
const (
	noInteger = "not an integer"
	noFloat   = "not a valid float"
	overflow  = "would overflow"
	infinite  = "would produce NaN or Infinity"
	exhausted = "EXHAUSTED"
	blockSize = "BLOCKSIZE"
)

// saysThat reports whether the server, or a script, has refused with these words.
func saysThat(err error, words string) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply) && strings.Contains(reply.Error(), words)
}
