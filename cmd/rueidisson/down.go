package main

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
)

// answering bounds the answer of the server that decides how a command ends.
const answering = 5 * time.Second

// notInTime returns the ending of a wait whose time is over, for which ask has asked the server once more. A server that
// does not answer is down: nobody knows then whether what was waited for has come.
func notInTime(why error, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), answering)
	defer cancel()
	if err := ask(ctx); unreached(err) {
		return err
	}
	return &ending{code: exitNotAcquired, err: why}
}

// asks returns a question to the server of a name, for notInTime.
func (s *server) asks(name string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		redis, err := s.dial()
		if err != nil {
			return err
		}
		defer redis.Close()
		return redis.Do(ctx, redis.B().Exists().Key(name).Build()).Error()
	}
}

// naming adds the address of the server to an error which says that it was not reached, unless it is there already.
func (s *server) naming(err error) error {
	if !unreached(err) {
		return err
	}
	option, bad := s.option()
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

// unreached reports whether an error is that of a server which was not reached, or has not answered.
func unreached(err error) bool {
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
