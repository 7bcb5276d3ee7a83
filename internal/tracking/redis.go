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
	id     string // by which the server knows it
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
	all := c.client.DoMulti(ctx, c.client.B().Arbitrary("CLIENT", "TRACKING", "ON").Build(), c.self())
	for i, what := range []string{"CLIENT TRACKING", "CLIENT INFO"} {
		if err := all[i].Error(); answered(err) {
			return fmt.Errorf("%w: the server refuses %s: %w", ErrUnsupported, what, err)
		} else if err != nil {
			return err
		}
	}
	text, _ := all[1].ToString()
	c.id = field(text, "id")
	return c.same(all[1])
}

// self asks the server who it takes us for.
func (c *Dedicated) self() rueidis.Completed {
	return c.client.B().Arbitrary("CLIENT", "INFO").Build()
}

var errReplaced = errors.New("another connection is in the place of the tracked one")

// same makes sure that the server tells us on the connection that it was asked on: something in between may have put
// another in its place. What was asked before self was asked on it, too.
func (c *Dedicated) same(self rueidis.RedisResult) error {
	text, err := self.ToString()
	if err != nil {
		return fmt.Errorf("not known to be tracked still: %s", err) // also a refusal: of no use any more
	}
	if id := field(text, "id"); id == "" || id != c.id || !strings.Contains(field(text, "flags"), "t") {
		return errReplaced
	}
	return nil
}

// field returns that of a line of the server about a client.
func field(line, name string) string {
	for word := range strings.FieldsSeq(strings.TrimPrefix(line, "txt:")) { // RESP3 says what kind of text it is
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

// texts returns the keys; nil where all are meant, or may be, as what was said cannot be read.
func texts(all []rueidis.RedisMessage) (keys []string) {
	for i := range all {
		key, err := all[i].ToString()
		if err != nil {
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}

// Left is Conn.Left.
func (c *Dedicated) Left(ctx context.Context, keys []string) ([]Answer, error) {
	commands := make(rueidis.Commands, 0, len(keys)+1)
	for _, key := range keys {
		commands = append(commands, c.client.B().Pttl().Key(key).Build())
	}
	results := c.client.DoMulti(ctx, append(commands, c.self())...)
	all := make([]Answer, len(keys))
	for i := range keys {
		ms, err := results[i].AsInt64()
		if err != nil && !answered(err) {
			return nil, err
		}
		left := time.Duration(ms) // Stays, or Gone
		if ms >= 0 {
			left *= time.Millisecond
		}
		all[i] = Answer{left, err}
	}
	return all, c.same(results[len(keys)])
}

// Master is Conn.Master. A server that does not tell is taken for one.
func (c *Dedicated) Master(ctx context.Context) (bool, error) {
	all := c.client.DoMulti(ctx, c.client.B().Info().Section("replication").Build(), c.self())
	info, err := all[0].ToString()
	if err != nil && !answered(err) {
		return false, err
	}
	return !strings.Contains(info, "role:slave"), c.same(all[1])
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
