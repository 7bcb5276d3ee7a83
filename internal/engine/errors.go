package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
)

// The outcomes that programs branch on. The public packages alias them.
var (
	ErrClosed        = errors.New("client is closed")
	ErrOption        = codec.ErrOption // so that what a codec refuses is one, too
	ErrUnknown       = errors.New("outcome unknown: the reply was lost")
	ErrDeferred      = errors.New("not done yet: the client goes on trying")
	ErrNotAcquired   = errors.New("not acquired")
	ErrLost          = errors.New("hold was lost")
	ErrReleased      = errors.New("hold was released")
	ErrNotReplicated = errors.New("too few replicas acknowledged")
	ErrWrongKind     = errors.New("the name is that of an object of another kind")
	ErrFamily        = error(familyError{}) // which wraps ErrWrongKind
	ErrMoving        = errors.New("the slot is on the move")
)

type familyError struct{}

func (familyError) Error() string { return "the name is that of a lock of another family" }
func (familyError) Unwrap() error { return ErrWrongKind }

// ContextError returns how ctx ended: its error, and its cause where that says more.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cmpErr(cause, err)
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func cmpErr(cause, err error) error {
	if cause != nil {
		return cause
	}
	return err
}

// passing lists the server's answers that say "not now, not here": nothing was
// done, and another try may find things in order. A script that is refused for
// one of them has not written: a server checks its state before the first write
// of a script, and not again.
var passing = []string{
	"LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "READONLY", "MOVED", "ASK", "BUSY ", "NOREPLICAS",
	"MISCONF", "OOM ", "ERR max number of clients",
}

// nonLocal is what ends a script in the middle whose slot is on the move: it
// came to a key that is not there, after what it had written.
const nonLocal = "attempted to access a non local key"

// verdict is what an error says about the request that met it.
type verdict int

const (
	final   verdict = iota // the server answered, and will not answer otherwise
	refused                // nothing was done; it may be sent again
	lost                   // it may have been done
)

// judge tells which. rueidis says "closing" also of a single connection, to a
// node that was demoted or has fallen silent, so that is a lost reply: whether
// the client itself was closed, the engine knows. A context's error is the caller's business only if the
// caller's context has ended: rueidis also gives one caller's error to others
// that waited for the same connection.
func judge(err error) verdict {
	var reply *rueidis.RedisError
	if errors.As(err, &reply) {
		return judgeReply(reply.Error())
	}
	if isDial(err) || errors.Is(err, errUnmet) || errors.Is(err, errNoTurn) {
		return refused
	}
	return lost
}

func judgeReply(text string) verdict {
	if strings.Contains(text, nonLocal) {
		return lost
	}
	for _, prefix := range passing {
		if strings.HasPrefix(text, prefix) {
			return refused
		}
	}
	return final
}

// Passing reports whether err may be over soon: the server was not reached, or
// said that it cannot answer now, such as for want of memory or disk.
func Passing(err error) bool { return err != nil && !ours(err) && judge(err) != final }

// Moving reports whether err says that the slot of the keys is on its way to
// another node, so that a request for several of them has to wait.
func Moving(err error) bool {
	if err == nil {
		return false
	}
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) {
		return false
	}
	_, ask := reply.IsAsk()
	return ask || reply.IsTryAgain()
}

// ours reports an outcome that is not the server's word, and stands.
func ours(err error) bool {
	return slices.ContainsFunc([]error{ErrClosed, ErrOption, ErrNotReplicated, ErrLost, ErrWrongKind}, func(own error) bool {
		return errors.Is(err, own)
	})
}

// hopeless reports whether an errand that met err need not be said again. A
// server may take any refusal back, such as that of an ACL which is being
// reloaded, but one: a key of another type is not what was left there.
func hopeless(err error) bool {
	var reply *rueidis.RedisError
	return ours(err) || errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "WRONGTYPE")
}
