package rueidisson_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var patience = redistest.Soon

// fortress is servers without a plain port that let nobody in who has no
// certificate, seen by somebody who may do no more than the page on Redis says.
type fortress struct {
	testing.TB
	option rueidis.ClientOption
	nodes  []*redistest.Server
}

func TestTLSOneServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.TLS(), redistest.Version(version))
			replica := redistest.Start(t, redistest.TLS(), redistest.Version(version), redistest.Config("replicaof", "127.0.0.1", fmt.Sprint(server.Port())))
			f := newFortress(t, []*redistest.Server{server, replica}, "+wait")
			f.option.InitAddress, f.option.ForceSingleClient = []string{server.Addr()}, true
			f.serves()
		})
	}
}

func TestTLSBehindSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t, redistest.TLS(), redistest.Version("valkey-8.1"))
	for _, s := range sentinel.Sentinels() {
		command(t, s, "ACL", "SETUSER", "watcher", "on", ">secret", "&*", "+@all")
	}
	f := newFortress(t, sentinel.Nodes(), "+wait", "+role")
	f.option.InitAddress = sentinel.Addrs()
	f.option.Sentinel = rueidis.SentinelOption{
		MasterSet: sentinel.MasterName(), TLSConfig: redistest.TLSConfig(t), Username: "watcher", Password: "secret",
	}
	f.serves()
}

func TestTLSOnACluster(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0"} { // rueidis asks them for the map in different ways
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, redistest.TLS(), redistest.Version(version))
			f := newFortress(t, cluster.Nodes(), "+wait", "+cluster +asking", "+spublish +ssubscribe")
			f.option.InitAddress = cluster.Addrs()
			f.serves()
		})
	}
}

// newFortress gives the user of the page, with these additions of it, to all
// nodes.
func newFortress(t testing.TB, nodes []*redistest.Server, additions ...string) *fortress {
	t.Helper()
	words := redistest.UserOfThePage(t, "docs/redis.md", additions...)
	for _, node := range nodes {
		command(t, node, words...)
	}
	return &fortress{t, rueidis.ClientOption{
		Username: "orders", Password: "password", TLSConfig: redistest.TLSConfig(t), ClientName: "fortress", DisableCache: true,
		Dialer: net.Dialer{Timeout: patience}, // a handshake takes a busy machine longer than the watchdog would allow
	}, nodes}
}

// command is what the administrator says.
func command(t testing.TB, server *redistest.Server, words ...string) rueidis.RedisMessage {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableCache: true, TLSConfig: redistest.TLSConfig(t),
	})
	require.NoError(t, err)
	defer c.Close()
	reply, err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).ToMessage()
	require.NoError(t, err)
	return reply
}

func (f *fortress) open() *rueidisson.Client {
	f.Helper()
	c, err := rueidisson.New(f.option, rueidisson.WithWatchdogTimeout(4*time.Second), rueidisson.WithReplicaAcks(1, 10*time.Second))
	require.NoError(f, err)
	f.Cleanup(func() { shut(f, c) })
	return c
}

// serves locks, which a replica acknowledges, renews past the lease, and waits
// for a release: each by a connection of its own.
func (f *fortress) serves() {
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	mine, other := f.open().Lock("orders:1"), f.open().Lock("orders:1")
	hold, err := mine.Lock(ctx)
	require.NoError(f, err)
	lease := hold.Deadline()
	woken := make(chan error, 1)
	go func() { // ends with the unlock below
		next, err := other.Lock(ctx)
		if err == nil {
			err = next.Unlock(ctx)
		}
		woken <- err
	}()
	require.Eventually(f, func() bool {
		n, err := mine.Waiting(ctx)
		return err == nil && n == 1
	}, patience, 5*time.Millisecond, "nobody listens")
	require.Eventually(f, func() bool { return time.Now().After(lease) || hold.Err() != nil }, patience, 20*time.Millisecond)
	require.NoError(f, hold.Err(), "it was not renewed")
	f.allIsTheUsers()
	require.NoError(f, hold.Unlock(ctx))
	require.NoError(f, <-woken)
	for _, node := range f.nodes {
		denied := command(f, node, "ACL", "LOG")
		log, err := denied.ToAny()
		require.NoError(f, err)
		require.Empty(f, log)
	}
}

// allIsTheUsers looks who is connected: the one that subscribes is among them.
func (f *fortress) allIsTheUsers() {
	f.Helper()
	subscribers := 0
	for _, node := range f.nodes {
		list := command(f, node, "CLIENT", "LIST")
		text, err := list.ToString()
		require.NoError(f, err)
		for line := range strings.Lines(text) {
			if !strings.Contains(line, " name=fortress ") {
				continue
			}
			require.Contains(f, line, " user=orders ")
			if !strings.Contains(line, " sub=0 ") || !strings.Contains(line, " ssub=0 ") {
				subscribers++
			}
		}
	}
	require.Positive(f, subscribers)
}

func TestACertificateThatWillNotDoIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.TLS())
	good := redistest.TLSConfig(t)
	for name, of := range map[string]struct {
		server *redistest.Server
		change func(*tls.Config)
		says   string
	}{
		"the server's has expired": {redistest.Start(t, redistest.TLSExpired()), func(*tls.Config) {}, "certificate has expired"},
		"the client's has expired": {server, func(c *tls.Config) {
			c.Certificates = []tls.Certificate{redistest.ExpiredCertificate(t)}
		}, "certificate has expired"},
		"the client has none":              {server, func(c *tls.Config) { c.Certificates = nil }, server.Addr()},
		"nobody whom the client knows":     {server, func(c *tls.Config) { c.RootCAs = nil }, "unknown authority"},
		"one of another host":              {server, func(c *tls.Config) { c.ServerName = "elsewhere" }, "elsewhere"},
		"the client does not speak TLS":    {server, nil, server.Addr()},
		"a password that is not the right": {server, func(*tls.Config) {}, "WRONGPASS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			option := rueidis.ClientOption{InitAddress: []string{of.server.Addr()}, ForceSingleClient: true, DisableCache: true}
			if of.change != nil {
				option.TLSConfig = good.Clone()
				of.change(option.TLSConfig)
			}
			if of.says == "WRONGPASS" {
				option.Username, option.Password = "orders", "guess"
			}
			_, err := rueidisson.New(option)
			require.ErrorContains(t, err, of.says)
			require.ErrorContains(t, err, of.server.Addr())
		})
	}
}

func TestOpenSpeaksTLSWhereTheURLSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.TLSForAll())
	sentinel := redistest.StartSentinel(t, redistest.TLSForAll())
	for name, url := range map[string]string{
		"one server": fmt.Sprintf("rediss://orders:password@%s?skip_verify=1", server.Addr()),
		"Sentinels":  fmt.Sprintf("rediss://orders:password@%s?skip_verify=1&master_set=%s", sentinel.Addrs()[0], sentinel.MasterName()),
	} {
		t.Run(name, func(t *testing.T) {
			newFortress(t, append(sentinel.Nodes(), server), "+role")
			c, err := rueidisson.Open(url)
			require.NoError(t, err)
			defer shut(t, c)
			hold, err := c.Lock("orders:1").Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, hold.Unlock(t.Context()))

			_, err = rueidisson.Open(strings.ReplaceAll(url, "skip_verify=1", "skip_verify=0"))
			require.ErrorContains(t, err, "unknown authority", "certificates are checked unless told otherwise")
		})
	}
}
