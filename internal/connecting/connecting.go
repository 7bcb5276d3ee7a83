// Package connecting says why a connection was not made, in words that help.
package connecting

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/rueidis"
)

// WithCause adds to the error of a connection what the program has probably mistaken.
func WithCause(err error, option rueidis.ClientOption) error {
	err = withExpired(err, option)
	if cause := likelyCause(err, option); cause != "" {
		return fmt.Errorf("%w (%s)", err, cause)
	}
	return err
}

func likelyCause(err error, option rueidis.ClientOption) string {
	var record tls.RecordHeaderError
	var dial *net.OpError
	secret := option.TLSConfig != nil
	if reply, is := rueidis.IsRedisErr(err); is {
		return wrongDatabase(reply.Error(), option)
	}
	switch {
	case errors.As(err, &record) && string(record.RecordHeader[:4]) == "HTTP",
		strings.Contains(err.Error(), "unknown message type: 72"): // H
		return "the server speaks HTTP: it is not Redis or Valkey"
	case strings.Contains(err.Error(), "unknown message type"):
		return "the server does not speak the protocol of Redis"
	case errors.As(err, &record):
		return noTLS
	case errors.As(err, &dial) && dial.Op == "dial":
		return ""
	case secret && errors.Is(err, context.DeadlineExceeded): // Redis waits for the end of a line
		return noTLS
	case !secret && slices.ContainsFunc([]error{syscall.ECONNRESET, io.EOF, io.ErrUnexpectedEOF}, func(end error) bool { return errors.Is(err, end) }):
		return "the server closed the connection: the port may be one for TLS: use rediss:// or TLSConfig"
	}
	return ""
}

const noTLS = "the server does not answer by TLS: the port may be one without TLS: use redis://, or no TLSConfig"

// wrongDatabase explains a server that refuses the database of option; "" for any other refusal.
func wrongDatabase(reply string, option rueidis.ClientOption) string {
	switch {
	case strings.Contains(reply, "DB index is out of range"):
		return fmt.Sprintf("the server has no database %d: it has 16, from 0 on, unless its setting \"databases\" says otherwise", option.SelectDB)
	case strings.Contains(reply, "SELECT is not allowed in cluster mode"):
		return "a cluster has database 0 only"
	}
	return ""
}

// WithScheme returns a URL of an address that has none.
func WithScheme(address string) string {
	if address == "" || strings.Contains(address, "://") {
		return address
	}
	return "redis://" + address
}
