package redistest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// ThroughProxy returns a client of a server whose replies and requests the proxy loses. It has one connection for all, and
// sends nothing again by itself.
func ThroughProxy(t testing.TB, s *Server, change ...func(*rueidis.ClientOption)) (rueidis.Client, *Proxy) {
	t.Helper()
	proxy := NewProxy(t, s.Addr())
	return newClient(t, rueidis.ClientOption{
		InitAddress: []string{proxy.Addr()}, DisableCache: true, DisableRetry: true, ForceSingleClient: true,
		Dialer: net.Dialer{Timeout: 5 * time.Second}, ConnWriteTimeout: 3 * time.Second,
	}, change...), proxy
}

// Confined returns a client of a server under the user that the page of docs sets up, behind a proxy. When the test ends,
// the server must have denied it nothing.
func Confined(t *testing.T, s *Server, page string) (rueidis.Client, *Proxy) {
	t.Helper()
	admin := s.Client(t)
	Do(t, admin, UserOfThePage(t, page)...)
	t.Cleanup(func() {
		msg := Do(t, admin, "ACL", "LOG")
		if denied, err := msg.ToArray(); err != nil || len(denied) > 0 {
			t.Errorf("redistest: denied under the user of %s: %v %v", page, denied, err)
		}
	})
	proxy := NewProxy(t, s.Addr())
	return newClient(t, rueidis.ClientOption{
		InitAddress: []string{proxy.Addr()}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
	}), proxy
}

// Do sends one command, whose first argument is a key on a cluster, and returns the reply: also one that says that
// there is nothing.
func Do(t testing.TB, c rueidis.Client, command ...string) rueidis.RedisMessage {
	t.Helper()
	of := c.B().Arbitrary(command[0])
	if len(command) > 1 {
		of = of.Keys(command[1]).Args(command[2:]...)
	}
	msg, err := c.Do(context.Background(), of.Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("redistest: %q: %v", command, err)
	}
	return msg
}
