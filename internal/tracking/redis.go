package tracking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Dedicated is a tracked connection of a node's client.
type Dedicated struct {
	client rueidis.DedicatedClient
	proto  int64
	done   <-chan error
}

// Take takes a connection for ourselves, which is not tracked yet.
func Take(node rueidis.Client) *Dedicated {
	c := &Dedicated{}
	c.client, _ = node.Dedicate()
	return c
}

// Probe finds out whether the connection lives, and which protocol it speaks.
func (c *Dedicated) Probe(ctx context.Context) error {
	hello, err := c.client.Do(ctx, c.client.B().Arbitrary("HELLO").Build()).AsMap()
	if _, refused := rueidis.IsRedisErr(err); refused {
		return nil // it answers, and speaks what came before HELLO
	}
	if err != nil {
		return err
	}
	proto := hello["proto"]
	c.proto, err = proto.AsInt64()
	return err
}

// Start has the server tell. With RESP2 it would say that it does, and tell
// nothing.
func (c *Dedicated) Start(ctx context.Context, changed func(keys []string)) error {
	if c.proto < 3 {
		return fmt.Errorf("%w: tracking needs RESP3, and the connection speaks RESP%d (see rueidis.ClientOption.AlwaysRESP2)", ErrUnsupported, max(c.proto, 2))
	}
	c.done = c.client.SetOnInvalidations(func(all []rueidis.RedisMessage) { changed(texts(all)) })
	err := c.client.Do(ctx, c.client.B().Arbitrary("CLIENT", "TRACKING", "ON").Build()).Error()
	if answered(err) {
		return fmt.Errorf("%w: the server refuses CLIENT TRACKING: %w", ErrUnsupported, err)
	}
	return err
}

// texts is the keys; nil where all are meant.
func texts(all []rueidis.RedisMessage) (keys []string) {
	for i := range all {
		if key, err := all[i].ToString(); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Left is Conn.Left.
func (c *Dedicated) Left(ctx context.Context, keys []string) ([]Answer, error) {
	commands := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		commands[i] = c.client.B().Pttl().Key(key).Build()
	}
	all := make([]Answer, len(keys))
	for i, r := range c.client.DoMulti(ctx, commands...) {
		ms, err := r.AsInt64()
		if err != nil && !answered(err) {
			return nil, err
		}
		all[i] = Answer{left(ms), err}
	}
	return all, nil
}

func left(ms int64) time.Duration {
	if ms < 0 {
		return time.Duration(ms)
	}
	return time.Duration(ms) * time.Millisecond
}

// Master is Conn.Master. A server that does not tell is taken for one.
func (c *Dedicated) Master(ctx context.Context) (bool, error) {
	info, err := c.client.Do(ctx, c.client.B().Info().Section("replication").Build()).ToString()
	if err != nil && !answered(err) {
		return false, err
	}
	return !strings.Contains(info, "role:slave"), nil
}

// Done is Conn.Done.
func (c *Dedicated) Done() <-chan error { return c.done }

// Close is Conn.Close. It takes a second if the server is silent.
func (c *Dedicated) Close() { c.client.Close() }

// answered reports whether the server has said so.
func answered(err error) bool {
	var reply *rueidis.RedisError
	return errors.As(err, &reply)
}
