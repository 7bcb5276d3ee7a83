package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// The outcomes that programs branch on. The public packages alias them.
var (
	ErrClosed        = errors.New("client is closed")
	ErrOption        = errors.New("invalid argument")
	ErrUnknown       = errors.New("outcome unknown: the reply was lost")
	ErrNotAcquired   = errors.New("not acquired")
	ErrLost          = errors.New("hold was lost")
	ErrReleased      = errors.New("hold was released")
	ErrNotReplicated = errors.New("too few replicas acknowledged")
)

// ContextError is how ctx ended: its error, and its cause where that says more.
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
// done, and another try may find things in order.
var passing = []string{"LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "READONLY", "MOVED", "ASK", "BUSY ", "NOREPLICAS"}

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
	if isDial(err) {
		return refused
	}
	return lost
}

func judgeReply(text string) verdict {
	for _, prefix := range passing {
		if strings.HasPrefix(text, prefix) {
			return refused
		}
	}
	return final
}

// Passing reports whether err may be over soon: the server was not reached, or
// said that it cannot answer now.
func Passing(err error) bool {
	for _, own := range []error{ErrClosed, ErrOption, ErrNotReplicated, ErrLost} {
		if errors.Is(err, own) {
			return false
		}
	}
	return err != nil && judge(err) != final
}
