package rueidisson

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"weak"

	"github.com/redis/rueidis"
)

// connections are those of a client that New made. Close ends them when its
// context has: rueidis would wait for what a silent server owes on each.
type connections struct {
	mu   sync.Mutex
	open []func() net.Conn // nil of one that nobody uses any more
	cut  bool
}

// known returns conn as long as somebody uses it. It is not wrapped: rueidis sets
// options of the connections of net and crypto/tls.
func known(conn net.Conn) func() net.Conn {
	switch conn := conn.(type) {
	case *net.TCPConn:
		return weakly(conn, func(c *net.TCPConn) net.Conn { return c })
	case *tls.Conn:
		return weakly(conn, func(c *tls.Conn) net.Conn { return c })
	}
	return func() net.Conn { return conn }
}

func weakly[T any](conn *T, as func(*T) net.Conn) func() net.Conn {
	pointer := weak.Make(conn)
	return func() net.Conn {
		if c := pointer.Value(); c != nil {
			return as(c)
		}
		return nil
	}
}

// over makes option dial connections that are known here, as it would else.
func (all *connections) over(option *rueidis.ClientOption) {
	dial := option.DialCtxFn
	if dial == nil && option.DialFn != nil {
		plain := option.DialFn
		dial = func(_ context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
			return plain(addr, d, t)
		}
	}
	if dial == nil {
		dial = func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
			if t != nil {
				return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", addr)
			}
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	option.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		conn, err := dial(ctx, addr, d, t)
		if err != nil {
			return nil, err
		}
		return all.add(conn)
	}
}

func (all *connections) add(conn net.Conn) (net.Conn, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.cut {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	all.open = slices.DeleteFunc(all.open, func(known func() net.Conn) bool { return known() == nil })
	all.open = append(all.open, known(conn))
	return conn, nil
}

// end closes all connections, and those that are still made.
func (all *connections) end() {
	all.mu.Lock()
	all.cut = true
	open := all.open
	all.open = nil
	all.mu.Unlock()
	for _, known := range open {
		if conn := known(); conn != nil {
			_ = conn.Close()
		}
	}
}
