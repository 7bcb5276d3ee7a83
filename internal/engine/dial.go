package engine

import (
	"crypto/tls"
	"errors"
	"net"
)

// isDial reports an error from before anything was sent.
func isDial(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	return errors.As(err, new(*tls.CertificateVerificationError)) // rueidis dials and shakes hands in one step
}
