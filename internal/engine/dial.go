package engine

import (
	"errors"
	"net"
)

// isDial reports an error from before anything was sent.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
