package send

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// isDial reports an error from before anything was sent.
func isDial(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	return errors.As(err, new(*tls.CertificateVerificationError)) // rueidis dials and shakes hands in one step
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

// discarded is what the server says before the reason for which it runs nothing of a transaction.
const discarded = "EXECABORT Transaction discarded because of: "

// class is what an error says about the request that met it.
type class int

const (
	final   class = iota // the answer stands
	refused              // nothing was done; it may be sent again
	lost                 // it may have been done
)

// classify tells which. rueidis says "closing" also of a single connection, to a
// node that was demoted or has fallen silent, so that is a lost reply: whether
// the client itself was closed, Core.Open knows. A context's error is the caller's business only if the
// caller's context has ended: rueidis also gives one caller's error to others
// that waited for the same connection.
func classify(err error) class {
	var reply *rueidis.RedisError
	if errors.As(err, &reply) {
		return classifyReply(reply.Error())
	}
	if errors.As(err, new(*scripts.ApartError)) || errors.Is(err, core.ErrClosed) { // the latter was not sent
		return final
	}
	if isDial(err) || errors.Is(err, errUnmet) || errors.Is(err, errNoTurn) {
		return refused
	}
	return lost
}

func classifyReply(text string) class {
	if strings.Contains(text, nonLocal) {
		return lost
	}
	text = strings.TrimPrefix(text, discarded)
	for _, prefix := range passing {
		if strings.HasPrefix(text, prefix) {
			return refused
		}
	}
	return final
}

// Transient reports whether err may be over soon: the server was not reached, or
// said that it cannot answer now, such as for want of memory or disk. An error may be neither
// transient nor [Permanent], such as a refusal by an ACL.
func Transient(err error) bool { return err != nil && !ours(err) && classify(err) != final }

// Unreached reports whether err says that the server was not reached, or did not answer.
func Unreached(err error) bool {
	return Transient(err) && !errors.As(err, new(*rueidis.RedisError))
}

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
	return slices.ContainsFunc([]error{core.ErrClosed, core.ErrInvalidArgument, core.ErrNotReplicated, core.ErrLost, core.ErrWrongKind}, func(own error) bool {
		return errors.Is(err, own)
	})
}

// Permanent reports whether saying again what met err would be in vain: a key is of another type, or the
// error is no server's. A server may take any other refusal back, such as that of an ACL which is being
// reloaded.
func Permanent(err error) bool {
	var reply *rueidis.RedisError
	return ours(err) || errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "WRONGTYPE")
}

// OutOfMemory reports whether the server refused a request because it has no memory.
func OutOfMemory(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply) && strings.HasPrefix(strings.TrimPrefix(reply.Error(), discarded), "OOM ")
}

// UnknownCommand reports whether the server said that it has no such command, to
// a client or to a script.
func UnknownCommand(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "unknown command") || strings.Contains(text, "unknown redis command")
}
