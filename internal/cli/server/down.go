package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// Answering bounds the answer of the server that decides how a command ends.
const Answering = 5 * time.Second

// NotInTime returns the ending of a wait whose time is over, for which ask has asked the server once more. A server that
// does not answer is down: nobody knows then whether what was waited for has come.
func NotInTime(why error, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Answering)
	defer cancel()
	if err := ask(ctx); Unreached(err) {
		return err
	}
	return &exit.Error{Code: exit.NotAcquired, Err: why}
}

// Asks returns a question to the server of a name, for [NotInTime].
func (s *Server) Asks(name string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		redis, err := s.Dial()
		if err != nil {
			return err
		}
		defer redis.Close()
		return redis.Do(ctx, redis.B().Exists().Key(name).Build()).Error()
	}
}

// Naming adds the address of the server to an error which says that it was not reached, unless it is there already.
func (s *Server) Naming(err error) error {
	if !Unreached(err) {
		return err
	}
	option, bad := s.Option()
	if bad != nil {
		return err
	}
	for _, address := range option.InitAddress {
		if strings.Contains(err.Error(), address) {
			return err
		}
	}
	return fmt.Errorf("server %s: %w", strings.Join(option.InitAddress, ", "), err)
}

// Unreached reports whether an error is that of a server which was not reached, or has not answered.
func Unreached(err error) bool {
	if err == nil || errors.As(err, new(*rueidis.RedisError)) {
		return false
	}
	var network net.Error
	if errors.As(err, &network) {
		return true
	}
	for _, sign := range []error{
		context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, rueidis.ErrClosing,
		rueidisson.ErrUnreached, rueidisson.ErrOutcomeUnknown, rueidisson.ErrDeferred,
	} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
