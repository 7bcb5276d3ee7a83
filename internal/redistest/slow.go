package redistest

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// Slow has each connection of a client carry so many bytes a second at most, each way.
func Slow(rate int) func(*rueidis.ClientOption) {
	return func(o *rueidis.ClientOption) {
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return &slowConn{Conn: c, rate: rate}, nil
		}
	}
}

// Rated has each connection of a client read so many bytes a second, which may be changed; 0: any number.
func Rated(rate *atomic.Int64) func(*rueidis.ClientOption) {
	return func(o *rueidis.ClientOption) {
		o.BlockingPoolSize, o.ConnWriteTimeout = 100, 5*time.Second
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return &ratedConn{c, rate}, nil
		}
	}
}

type ratedConn struct {
	net.Conn
	rate *atomic.Int64
}

func (c *ratedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), slowStep)])
	if rate := c.rate.Load(); rate > 0 {
		time.Sleep(time.Duration(int64(n) * int64(time.Second) / rate))
	}
	return n, err
}

type slowConn struct {
	net.Conn
	rate            int
	reads, writings meter
}

const (
	// slowStep is how many bytes go at once.
	slowStep = 32 << 10
	// mostCredit is by how much a sleep may have been too long and be made up for: a timer of a busy machine is late each time.
	mostCredit = 200 * time.Millisecond
)

// meter keeps one way of a connection to its rate. Only one goroutine reads, and one writes.
type meter struct{ late time.Duration }

func (c *slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), slowStep)])
	c.reads.takes(n, c.rate)
	return n, err
}

func (c *slowConn) Write(b []byte) (int, error) {
	for sent := 0; ; {
		n, err := c.Conn.Write(b[sent:min(len(b), sent+slowStep)])
		if sent += n; err != nil || sent == len(b) {
			return sent, err
		}
		c.writings.takes(n, c.rate)
	}
}

// takes waits until n more bytes have passed.
func (m *meter) takes(n, rate int) {
	due := time.Now().Add(time.Duration(n)*time.Second/time.Duration(rate) - m.late)
	time.Sleep(time.Until(due))
	m.late = min(time.Since(due), mostCredit)
}
