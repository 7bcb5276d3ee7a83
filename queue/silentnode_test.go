package queue

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// silence is a node that a client hears nothing of any more, while the rest of a
// cluster does: none takes over for it.
type silence struct {
	addr string
	is   atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

// mute is a connection to it.
type mute struct {
	net.Conn
	of *silence
}

func (c mute) Write(p []byte) (int, error) {
	if c.of.is.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (s *silence) of(o *rueidis.ClientOption) {
	o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil || addr != s.addr {
			return conn, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns = append(s.conns, conn)
		return mute{conn, s}, nil
	}
}

// over ends it. What was not answered never is.
func (s *silence) over() {
	s.is.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

// aSilentNodeHoldsUpNoOther looks at more delayed queues of a node that is silent
// than are moved at once, and what is due on another node is moved.
func aSilentNodeHoldsUpNoOther(t *testing.T, cluster *redistest.Cluster) {
	node := &silence{addr: cluster.Master("silent").Addr()}
	e := engineOn(t, cluster.Client(t, node.of))
	var other *Delayed[string]
	for there := 0; there < 20*movingAtOnce || other == nil; {
		q := delayedOn(t, e)
		postponedTo(t, q, "later", time.Hour)
		if e.Node(q.Name()) == node.addr {
			there++
		} else {
			other = q
		}
	}
	taker := also(t, other, cluster.Client(t)).Queue()
	node.is.Store(true)
	defer node.over()
	hubOf(e).movers.hurry()
	for _, v := range []string{"first", "next"} {
		postponedTo(t, other, v, 10*time.Millisecond)
		got, err := taker.Take(within(t))
		require.NoError(t, err)
		require.Equal(t, v, got)
	}
}
