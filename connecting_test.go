package rueidisson_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// web is the address of a server that answers by HTTP.
func web(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { // ends with the listener
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 512))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request")
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-done
	})
	return l.Addr().String()
}

// TestOpenNamesTheAddressAndTheLikelyCause of what a program has mistaken.
func TestOpenNamesTheAddressAndTheLikelyCause(t *testing.T) {
	t.Parallel()
	plain, secret := redistest.Shared(t), redistest.Start(t, redistest.TLS())
	cluster := redistest.StartCluster(t)
	for name, of := range map[string]struct{ url, addr, cause string }{
		"TLS to a plain port":      {"rediss://" + plain.Addr(), plain.Addr(), "the port may be one without TLS: use redis://"},
		"a plain client to TLS":    {"redis://" + secret.Addr(), secret.Addr(), "the port may be one for TLS: use rediss://"},
		"a database too high":      {"redis://" + plain.Addr() + "/99", plain.Addr(), "the server has no database 99"},
		"a database of a cluster":  {"redis://" + cluster.Addrs()[0] + "/1", cluster.Addrs()[0], "a cluster has database 0 only"},
		"an HTTP port":             {"redis://" + web(t), "127.0.0.1:", "the server speaks HTTP"},
		"TLS to an HTTP port":      {"rediss://" + web(t), "127.0.0.1:", "the server speaks HTTP"},
		"a scheme that is not one": {"http://" + plain.Addr(), "", `the scheme is "http", not redis, rediss`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rueidisson.Open(of.url)
			require.ErrorContains(t, err, of.cause)
			require.ErrorContains(t, err, of.addr)
		})
	}
}
