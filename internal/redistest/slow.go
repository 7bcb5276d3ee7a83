package redistest

import (
	"context"
	"crypto/tls"
	"net"
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
			return &slowConn{c, rate}, nil
		}
	}
}

type slowConn struct {
	net.Conn
	rate int
}

// slowStep is how many bytes go at once.
const slowStep = 32 << 10

func (c *slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), slowStep)])
	c.takes(n)
	return n, err
}

func (c *slowConn) Write(b []byte) (int, error) {
	for sent := 0; ; {
		n, err := c.Conn.Write(b[sent:min(len(b), sent+slowStep)])
		if sent += n; err != nil || sent == len(b) {
			return sent, err
		}
		c.takes(n)
	}
}

func (c *slowConn) takes(n int) {
	time.Sleep(time.Duration(n) * time.Second / time.Duration(c.rate))
}
