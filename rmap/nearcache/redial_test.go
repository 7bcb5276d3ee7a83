package nearcache

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// relay passes bytes on, and can put other connections to the server in place of
// those that there are, of which its clients learn nothing.
type relay struct {
	t      *testing.T
	target string
	l      net.Listener
	all    sync.WaitGroup

	busy atomic.Int64 // when something passed

	mu    sync.Mutex
	links []*relayed
}

type relayed struct {
	r      *relay
	client net.Conn
	mu     sync.Mutex
	server net.Conn
}

func newRelay(t *testing.T, target string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{t: t, target: target, l: l}
	r.all.Go(r.accept) // ends with the listener
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		for _, one := range r.links {
			one.client.Close()
			one.upstream().Close()
		}
		r.mu.Unlock()
		r.all.Wait()
	})
	return r
}

func (r *relay) accept() {
	for {
		client, err := r.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.target)
		if err != nil {
			client.Close()
			continue
		}
		one := &relayed{r: r, client: client, server: server}
		r.mu.Lock()
		r.links = append(r.links, one)
		r.mu.Unlock()
		r.all.Go(one.up)
		r.all.Go(func() { one.down(server) })
	}
}

func (one *relayed) upstream() net.Conn {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.server
}

// up ends with the client, and ends the server's side.
func (one *relayed) up() {
	b := make([]byte, 1<<16)
	for {
		n, err := one.client.Read(b)
		if err != nil {
			one.upstream().Close()
			return
		}
		one.r.busy.Store(time.Now().UnixNano())
		_, _ = one.upstream().Write(b[:n])
	}
}

// down ends with the server, and ends the client's side unless it has another.
func (one *relayed) down(server net.Conn) {
	_, _ = io.Copy(one.client, server)
	if one.upstream() == server {
		one.client.Close()
	}
}

// redial puts new connections in place of all, when nothing is asked on them. They
// speak RESP3, as the clients do.
func (r *relay) redial() {
	redistest.Eventually(r.t, func() bool { return time.Now().UnixNano()-r.busy.Load() > int64(20*time.Millisecond) }, maptest.Soon, time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.links {
		server, err := net.Dial("tcp", r.target)
		require.NoError(r.t, err)
		_, err = server.Write([]byte("HELLO 3\r\n"))
		require.NoError(r.t, err)
		_, err = server.Read(make([]byte, 4096)) // less than a segment
		require.NoError(r.t, err)
		one.mu.Lock()
		before := one.server
		one.server = server
		one.mu.Unlock()
		before.Close()
		r.all.Go(func() { one.down(server) })
	}
}

// redialSilence is what the near caches of these tests bear.
const redialSilence = 600 * time.Millisecond

// Nobody tells of what happened on connections that are gone.
func TestConnectionsThatAreReplacedUnseenDropAll(t *testing.T) {
	t.Parallel()
	for mode, opts := range nears {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			relay := newRelay(t, server.Addr())
			behind, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{relay.l.Addr().String()}, DisableCache: true, ForceSingleClient: true})
			require.NoError(t, err)
			t.Cleanup(behind.Close)
			rightBehindRedials(t, behind, server.Client(t), opts, relay)
		})
	}
}

// TestConnectionsToAClusterThatAreReplacedUnseenDropAll: of any of its nodes.
func TestConnectionsToAClusterThatAreReplacedUnseenDropAll(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	for mode, opts := range nears {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			var all []*relay
			by := map[string]string{}
			for _, addr := range cluster.Addrs() {
				one := newRelay(t, addr)
				all, by[addr] = append(all, one), one.l.Addr().String()
			}
			behind := cluster.Client(t, func(o *rueidis.ClientOption) {
				o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
					return d.DialContext(ctx, "tcp", by[addr])
				}
			})
			rightBehindRedials(t, behind, cluster.Client(t), opts, all...)
		})
	}
}

// rightBehindRedials writes what nobody is told of, and reads until it is seen.
func rightBehindRedials(t *testing.T, behind, raw rueidis.Client, opts []Option, relays ...*relay) {
	t.Helper()
	name := redistest.Name(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, behind), name, rmap.WithAnnounce()), append([]Option{WithMaxSilence(redialSilence)}, opts...)...)
	t.Cleanup(n.Close)
	w := rmap.New[string, string](maptest.EngineOn(t, raw), name, rmap.WithAnnounce())
	for _, want := range []string{"a", "b", "c"} {
		require.NoError(t, w.Put(t.Context(), "k", want))
		becomes(t, n, "k", want)
		hot(t, n, "k", want)
		for _, one := range relays {
			one.redial()
		}
		require.NoError(t, w.Put(t.Context(), "k", want+"!"))
		written := time.Now()
		for {
			asked := time.Now()
			v, _, err := n.Get(t.Context(), "k")
			if err == nil && v == want+"!" {
				break
			}
			require.Less(t, asked.Sub(written), redialSilence, "%q, %v", v, err)
		}
	}
}
