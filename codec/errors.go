package codec

import (
	"errors"
	"fmt"
	"strconv"
)

var (
	// ErrInvalidArgument is wrapped by the error for a type or a value that a codec cannot write.
	// Examples are a nil pointer, a float as a key, and text that is no UTF-8. It is
	// rueidisson.ErrInvalidArgument. Nothing was sent to the server.
	ErrInvalidArgument = errors.New("invalid argument")

	// ErrDecode is wrapped by every [DecodeError].
	ErrDecode = errors.New("cannot be decoded")
)

// DecodeError is the error of a map, a queue or a topic that found bytes which
// are none of its type. They stay where they are, and others are still read.
type DecodeError struct {
	Name  string // of the object
	Key   string // of the entry, as it is in Redis; "" where there are no keys
	Bytes []byte // what was found
	Cause error  // what is wrong with it
}

// Error says where the bytes are and what is wrong with them. It does not show
// them, since they may be secret or long.
func (e *DecodeError) Error() string {
	at := strconv.Quote(e.Name)
	if e.Key != "" {
		at += ", key " + quote(e.Key)
	}
	return fmt.Sprintf("%s: %d bytes that cannot be decoded: %v", at, len(e.Bytes), e.Cause)
}

// Unwrap makes errors.Is work for [ErrDecode] and for the cause.
func (e *DecodeError) Unwrap() []error { return []error{ErrDecode, e.Cause} }

// longestQuote is how much of a key an error shows.
const longestQuote = 64

func quote(s string) string {
	if len(s) > longestQuote {
		return strconv.Quote(s[:longestQuote]) + "…"
	}
	return strconv.Quote(s)
}

func optionf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalidArgument}, args...)...)
}
