package queue

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// rated has connections carry so many bytes a second, which may be changed; 0: any number.
func rated(rate *atomic.Int64) func(*rueidis.ClientOption) {
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
	n, err := c.Conn.Read(b[:min(len(b), 32<<10)])
	if rate := c.rate.Load(); rate > 0 {
		time.Sleep(time.Duration(int64(n) * int64(time.Second) / rate))
	}
	return n, err
}

// TestTakeOfALongElementThatIsOfferedMeanwhile: the handle has taken such before, so that there is time for it.
func TestTakeOfALongElementThatIsOfferedMeanwhile(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	server := redistest.Shared(t, redistest.Version("8.0"))
	var rate atomic.Int64
	q := New[string](engineOn(t, server.Client(t, rated(&rate)), shortSends), redistest.Name(t), WithCodec(codec.Text))
	other := New[string](engineOn(t, server.Client(t)), q.Name(), WithCodec(codec.Text))
	offer := func() {
		_, err := other.Offer(t.Context(), strings.Repeat("x", size))
		require.NoError(t, err)
	}
	offer()
	_, err := q.Take(t.Context())
	require.NoError(t, err)
	rate.Store(5 << 18) // 8 s, and a command blocks for 5 s and has one more
	got := make(chan error, 1)
	go func() {
		v, err := q.Take(t.Context())
		assert.Len(t, v, size)
		got <- err
	}()
	untilWaiting(t, q, poller.Head)
	time.Sleep(100 * time.Millisecond) // it blocks
	offer()
	require.NoError(t, <-got)
}

// TestTakeBesideALongEntryThatIsPolled: a stream of the same client has it, which is on its way for seconds.
func TestTakeBesideALongEntryThatIsPolled(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	var rate atomic.Int64
	rate.Store(1 << 20)
	e := engineOn(t, server.Client(t, rated(&rate)), shortSends, func(c *core.Config) { c.BlockedConnections = 1 })
	fill, name := engineOn(t, server.Client(t)), redistest.Name(t)
	s, from := NewStream[string, string](e, name+":log", WithCodec(codec.Text)), NewStream[string, string](fill, name+":log", WithCodec(codec.Text))
	add(t, from, "first")
	q, other := New[string](e, name+":jobs", WithCodec(codec.Text)), New[string](fill, name+":jobs", WithCodec(codec.Text))
	began, read := make(chan struct{}), make(chan int, 1)
	go func() {
		for it, err := range s.ReadFrom(t.Context(), "") {
			assert.NoError(t, err)
			if err != nil || len(it.Fields["v"]) > 5 {
				read <- len(it.Fields["v"])
				return
			}
			close(began)
		}
	}()
	<-began
	took := make(chan error, 1)
	go func() { _, err := q.Take(t.Context()); took <- err }()
	untilWaiting(t, q, poller.Head)
	add(t, from, strings.Repeat("x", 6<<20))
	time.Sleep(100 * time.Millisecond) // it is on its way
	_, err := other.Offer(t.Context(), "small")
	require.NoError(t, err)
	require.NoError(t, <-took)
	select {
	case <-read:
		t.Fatal("the taker waited for the entry")
	default:
	}
	require.Equal(t, 6<<20, <-read)
}

// TestBoundedTakeOfALongElementThatIsOfferedMeanwhile, which is announced by an answer as long.
func TestBoundedTakeOfALongElementThatIsOfferedMeanwhile(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	server := redistest.Shared(t, redistest.Version("8.0"))
	var rate atomic.Int64
	q := NewBounded[string](engineOn(t, server.Client(t, rated(&rate)), shortSends), redistest.Name(t), WithCodec(codec.Text))
	other := NewBounded[string](engineOn(t, server.Client(t)), q.Name(), WithCodec(codec.Text))
	_, err := other.TrySetCapacity(t.Context(), 10)
	require.NoError(t, err)
	rate.Store(9 << 17) // 7 s, and a command blocks for 5 s and has one more
	q.q.seen.longest.Store(size)
	redistest.Within(t, 2*time.Second, func() time.Duration { // of a process that stands still meanwhile the answer may be too late
		ctx, cancel := context.WithTimeout(t.Context(), redistest.Soon)
		defer cancel()
		got := make(chan error, 1)
		go func() { _, err := q.Take(ctx); got <- err }()
		redistest.Eventually(t, func() bool { return q.q.h.poller.InLine(announced, q.q.key) == 1 }, soon, time.Millisecond)
		_, err = other.Offer(t.Context(), strings.Repeat("x", size))
		require.NoError(t, err)
		if err := <-got; err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return time.Hour // the element is lost
		}
		return 0
	})
}

// TestReadersOfManyStreamsAreToldAtOnce: the server sends each entry to those who wait, and to its reader.
func TestReadersOfManyStreamsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	const streams, size = 100, 10 << 10
	server := redistest.Start(t, redistest.Version("8.0"))
	raw := server.Client(t)
	e := engineOn(t, server.Client(t))
	var ready, all sync.WaitGroup
	for i := range streams {
		name := "log" + strconv.Itoa(i)
		redistest.Do(t, raw, "XADD", name, "*", "v", "x")
		s := NewStream[string, string](e, name, WithCodec(codec.Text))
		ready.Add(1)
		all.Go(func() {
			first := true
			for _, err := range s.ReadFrom(within(t), "") {
				assert.NoError(t, err)
				if !first || err != nil {
					return
				}
				first = false
				ready.Done()
			}
		})
	}
	ready.Wait()
	redistest.Eventually(t, func() bool { return hubOf(e).tips.Len() == streams }, soon, time.Millisecond)
	time.Sleep(500 * time.Millisecond) // one command waits for all of them
	before := sentBy(t, raw)
	redistest.Do(t, raw, "EVAL", "for i = 0, ARGV[1] - 1 do redis.call('xadd', 'log' .. i, '*', 'v', ARGV[2]) end", "0", strconv.Itoa(streams), strings.Repeat("x", size))
	all.Wait()
	require.Less(t, sentBy(t, raw)-before, int64(5*streams*size))
}

// sentBy returns how many bytes a server has sent.
func sentBy(t testing.TB, node rueidis.Client) int64 {
	t.Helper()
	text, err := node.Do(t.Context(), node.B().Info().Section("stats").Build()).ToString()
	require.NoError(t, err)
	_, rest, _ := strings.Cut(text, "total_net_output_bytes:")
	line, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseInt(line, 10, 64)
	require.NoError(t, err)
	return n
}
