package pubsub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// ErrUnknownNode says that the client does not know the node: a topology that one side has not yet heard of.
var ErrUnknownNode = errors.New("pubsub: unknown node")

const (
	// dialGrace is how long an abandoned dial is waited for.
	dialGrace = 2 * time.Second
	// releaseGrace is how long a silent server may take to unsubscribe a connection that is given back.
	releaseGrace = time.Second
	// maxStale is how many dead connections in a row are taken out of the client's pool. It learns of a death
	// only when it uses the connection.
	maxStale = 8
	// probeChannel is unsubscribed from, to find out whether a connection lives. Nobody subscribes to it.
	probeChannel = "rueidisson:probe"
)

type redis struct {
	client rueidis.Client
	locate func(context.Context) (Where, error)
}

// NewRedis returns the source of a rueidis client. Locate is Source.Locate, whose nodes are keys of
// client.Nodes(): for a single server or Sentinel the present master, on a cluster the master of the channel's
// slot, or for plain channels and patterns any node.
func NewRedis(client rueidis.Client, locate func(context.Context) (Where, error)) Source {
	return &redis{client: client, locate: locate}
}

func (r *redis) Locate(ctx context.Context) (Where, error) { return r.locate(ctx) }

// Connect takes a connection for ourselves. It comes from the node's own client: a cluster client's Dedicate
// panics as soon as channels of two slots are used.
func (r *redis) Connect(ctx context.Context, line Line, handler Handler) (Conn, error) {
	client, ok := r.client.Nodes()[line.Node]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknownNode, line.Node)
	}
	conn, err := Take(ctx, client, func() *redisConn { return dedicate(client, line, handler) })
	if err != nil {
		return nil, fmt.Errorf("pubsub: connect to %s: %w", line.Node, err)
	}
	return conn, nil
}

// Dedicated is a connection that was taken out of a client's pool.
type Dedicated interface {
	comparable
	// Probe finds out whether the connection lives.
	Probe(ctx context.Context) error
	// Close ends it, whatever state it is in.
	Close()
}

// Take takes a connection of a node's client for ourselves, one that lives. It ends with ctx, also where rueidis would
// wait for the pool.
func Take[C Dedicated](ctx context.Context, client rueidis.Client, dedicate func() C) (C, error) {
	return abandonable(ctx, func() (C, error) { return open(ctx, client, dedicate) })
}

// abandonable runs dial, which somebody who takes the connection that was free a moment ago can make
// uninterruptible, and stops waiting for it some time after ctx. What comes later is closed.
func abandonable[C Dedicated](ctx context.Context, dial func() (C, error)) (none C, _ error) {
	type result struct {
		conn C
		err  error
	}
	dialed := make(chan result)
	abandoned := make(chan struct{})
	go func() { // ends with ctx, else once the pool has a connection again, or its client is closed
		conn, err := dial()
		select {
		case dialed <- result{conn, err}:
		case <-abandoned:
			discard(conn)
		}
	}()
	select {
	case r := <-dialed:
		return r.conn, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-dialed:
		if r.err != nil {
			return none, r.err // says more than that the time is over
		}
		discard(r.conn)
	case <-time.After(dialGrace):
		close(abandoned)
	}
	return none, ended(ctx)
}

// open takes connections until one answers.
func open[C Dedicated](ctx context.Context, client rueidis.Client, dedicate func() C) (none C, _ error) {
	for stale := 0; ; stale++ {
		conn, err := try(ctx, client, dedicate)
		if err == nil {
			return conn, nil
		}
		if stale == maxStale || ctx.Err() != nil || !isStale(err) {
			return none, err
		}
	}
}

func try[C Dedicated](ctx context.Context, client rueidis.Client, dedicate func() C) (none C, _ error) {
	if err := vacancy(ctx, client); err != nil {
		return none, err
	}
	conn := dedicate()
	if err := conn.Probe(ctx); err != nil {
		conn.Close()
		return none, err
	}
	return conn, nil
}

// isStale tells a connection that has died in the pool from one that could not be opened.
func isStale(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	return !errors.As(err, new(*rueidis.RedisError)) && !errors.Is(err, rueidis.ErrClosing)
}

func dedicate(client rueidis.Client, line Line, handler Handler) *redisConn {
	c := &redisConn{line: line, count: count{has: map[string]bool{}}}
	c.client, c.release = client.Dedicate()
	c.done = c.client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) { handler.Message(line.heard(m), m.Channel, m.Message) },
		OnSubscription: func(s rueidis.PubSubSubscription) {
			c.count.heard(s)
			if kind, ended := strings.CutSuffix(s.Kind, "unsubscribe"); ended {
				handler.Unsubscribed(Channel{Kind: kindOf(kind), Name: s.Channel})
			}
		},
	})
	return c
}

// heard returns the channel that a message came by.
func (l Line) heard(m rueidis.PubSubMessage) Channel {
	switch {
	case l.Sharded:
		return Channel{Kind: Sharded, Name: m.Channel}
	case m.Pattern != "":
		return Channel{Kind: Pattern, Name: m.Pattern}
	}
	return Channel{Name: m.Channel}
}

// kindOf returns the kind whose confirmations have that prefix.
func kindOf(prefix string) Kind {
	for _, kind := range []Kind{Sharded, Pattern} {
		if kind.prefix() == prefix {
			return kind
		}
	}
	return Plain
}

// redisConn is a dedicated connection whose hooks tell a Handler.
type redisConn struct {
	client  rueidis.DedicatedClient
	release func()
	done    <-chan error
	line    Line
	count   count
}

// Probe finds out whether the connection lives. The command is one that rueidis sends where the subscriptions
// go: with RESP2 they have a connection of their own. If opening that one failed only done says so: a later
// command would open another, without our hooks.
func (c *redisConn) Probe(ctx context.Context) error {
	select {
	case err := <-c.done:
		return cmp.Or(err, error(rueidis.ErrClosing))
	default:
	}
	err := c.mayLeave(ctx)
	if err == nil {
		err = c.client.Do(ctx, c.client.B().Unsubscribe().Channel(probeChannel).Build()).Error()
	}
	if _, refused := rueidis.IsRedisErr(err); refused {
		return nil // it answers
	}
	return err
}

// Same is Conn.Same. It unsubscribes from what nobody subscribes to, in the slot of the channel, and the server says
// how many there are.
func (c *redisConn) Same(ctx context.Context, of Channel) error {
	leave := c.client.B().Unsubscribe().Channel(probeChannel).Build()
	if of.Kind == Sharded {
		beside, ok := beside(of.Name)
		if !ok {
			return fmt.Errorf("%w: no name is known that is where %q is", errReplaced, of.Name)
		}
		leave = c.client.B().Sunsubscribe().Channel(beside).Build()
	}
	if err := c.mayLeave(ctx); err != nil {
		if _, answered := rueidis.IsRedisErr(err); answered {
			return fmt.Errorf("%w: %w", errUntold, err)
		}
		return err
	}
	if err := c.client.Do(ctx, leave).Error(); err != nil {
		return err
	}
	return c.count.err()
}

// mayLeave returns an error while the server would refuse a PING for want of disk, or of its master: rueidis sends one of its
// own behind each command that unsubscribes, and panics over any such answer to it but those that it knows. That is so in
// 1.0.79, and bounds what can be done here: a save that fails between this PING and that one still ends the process.
func (c *redisConn) mayLeave(ctx context.Context) error {
	err := c.client.Do(ctx, c.client.B().Ping().Build()).Error()
	if refusal, refused := rueidis.IsRedisErr(err); refused && !strings.HasPrefix(refusal.Error(), "MISCONF") && !strings.HasPrefix(refusal.Error(), "MASTERDOWN") {
		return nil // it is denied to this user, which rueidis knows
	}
	return err
}

func (c *redisConn) Subscribe(ctx context.Context, channels []Channel) ([]error, error) {
	return c.do(ctx, channels, func(b rueidis.Builder, of Channel) rueidis.Completed {
		switch of.Kind {
		case Sharded:
			return b.Ssubscribe().Channel(of.Name).Build()
		case Pattern:
			return b.Psubscribe().Pattern(of.Name).Build()
		}
		return b.Subscribe().Channel(of.Name).Build()
	})
}

func (c *redisConn) Unsubscribe(ctx context.Context, channels []Channel) ([]error, error) {
	if err := c.mayLeave(ctx); err != nil {
		if _, answered := rueidis.IsRedisErr(err); !answered {
			return nil, err
		}
		return slices.Repeat([]error{err}, len(channels)), nil
	}
	return c.do(ctx, channels, func(b rueidis.Builder, of Channel) rueidis.Completed {
		switch of.Kind {
		case Sharded:
			return b.Sunsubscribe().Channel(of.Name).Build()
		case Pattern:
			return b.Punsubscribe().Pattern(of.Name).Build()
		}
		return b.Unsubscribe().Channel(of.Name).Build()
	})
}

// do sends one command per channel in one pipeline. One command for all would be answered as a whole, and
// rueidis returns at the first of its confirmations.
func (c *redisConn) do(
	ctx context.Context, channels []Channel, command func(rueidis.Builder, Channel) rueidis.Completed,
) (refused []error, err error) {
	commands := make(rueidis.Commands, len(channels))
	for i, channel := range channels {
		commands[i] = command(c.client.B(), channel)
	}
	for i, result := range c.client.DoMulti(ctx, commands...) {
		err := result.Error()
		if err == nil {
			continue
		}
		refusal, answered := rueidis.IsRedisErr(err)
		if !answered {
			return nil, err
		}
		if refused == nil {
			refused = make([]error, len(channels))
		}
		refused[i] = refusal
		if addr, moved := refusal.IsMoved(); moved {
			refused[i] = &MovedError{Addr: Absolute(addr, c.line.Node)}
		}
	}
	return refused, nil
}

// Absolute completes an address whose host a node of a cluster left out, or gave as "?", because it does not know
// it or is not to tell: it is the host of the node that was asked.
func Absolute(addr, asked string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host != "" && host != "?" {
		return addr
	}
	own, _, err := net.SplitHostPort(asked)
	if err != nil {
		return addr
	}
	return net.JoinHostPort(own, port)
}

func (c *redisConn) Done() <-chan error { return c.done }

// Release gives the connection back to the client's pool. That takes a round trip, under no deadline: a
// server that is silent by now must not hold us up.
func (c *redisConn) Release() {
	escaped := make(chan struct{})
	escape := time.AfterFunc(releaseGrace, func() {
		defer close(escaped)
		c.client.Close()
	})
	if c.mayLeave(context.Background()) != nil {
		c.client.Close()
	}
	c.release()
	if !escape.Stop() {
		<-escaped
	}
}

// Close ends the connection. It takes a second if the server is silent.
func (c *redisConn) Close() { c.client.Close() }

func discard[C Dedicated](c C) {
	var none C
	if c != none {
		c.Close()
	}
}

// count is how many subscriptions the server says that a connection has, beside how many it must have. One that was
// put in its place has less.
type count struct {
	has map[string]bool // by prefix and name; only who reads the connection uses it
	bad atomic.Pointer[string]
}

var errReplaced = errors.New("pubsub: another connection is in the place of this one")

// heard takes in a confirmation, or that the server has ended a subscription.
func (c *count) heard(s rueidis.PubSubSubscription) {
	if prefix, ended := strings.CutSuffix(s.Kind, "unsubscribe"); ended {
		delete(c.has, prefix+" "+s.Channel)
	} else {
		c.has[strings.TrimSuffix(s.Kind, "subscribe")+" "+s.Channel] = true
	}
	if int64(len(c.has)) != s.Count {
		why := fmt.Sprintf("%d subscriptions, and not %d", s.Count, len(c.has))
		c.bad.CompareAndSwap(nil, &why)
	}
}

// err says whether there was ever another number.
func (c *count) err() error {
	if why := c.bad.Load(); why != nil {
		return fmt.Errorf("%w: it has %s", errReplaced, *why)
	}
	return nil
}

// beside returns a name in the slot of another.
func beside(name string) (string, bool) {
	open := strings.IndexByte(name, '{')
	if open >= 0 && strings.IndexByte(name[open:], '}') > 1 {
		return name + ":" + probeChannel, true
	}
	return "{" + name + "}:" + probeChannel, name != "" && !strings.Contains(name, "}")
}
