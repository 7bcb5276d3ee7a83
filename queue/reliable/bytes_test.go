package reliable

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// large is a value of so many bytes that begins with its number.
func large(i, size int) string {
	front := strconv.Itoa(i) + " "
	return front + strings.Repeat("x", size-len(front))
}

// TestTakeStopsAtAMegabyte: what is too much goes back to its place, and the first message is taken whatever its length.
func TestTakeStopsAtAMegabyte(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithMaxBody(4 << 20))
		const size = 300 << 10
		var ids []string
		for i := range 12 {
			var opts []AddOption
			if i < 6 {
				opts = append(opts, WithPriority(1+i%2))
			}
			ids = append(ids, decimal(r.adds(large(i, size), opts...)))
		}
		want := []string{ids[1], ids[3], ids[5], ids[0], ids[2], ids[4], ids[6], ids[7], ids[8], ids[9], ids[10], ids[11]}
		for len(want) > 0 {
			_, took := r.steps("64", "60000")
			n := min(3, len(want))
			require.Equal(t, want[:n], strings.Fields(took))
			want = want[n:]
		}
		id := decimal(r.adds(large(12, 3<<20)))
		r.adds("after")
		_, took := r.steps("64", "60000")
		require.Equal(t, id, took)
	})
}

// TestLargeBodiesOfAnEarlierVersionAreTakenApart, though nobody has noted that there are some.
func TestLargeBodiesOfAnEarlierVersionAreTakenApart(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for i := range 6 {
			r.adds(large(i, 400<<10))
		}
		r.do("HDEL", r.part("meta"), "large")
		_, took := r.steps("64", "60000")
		require.Len(t, strings.Fields(took), 2)
	})
}

// TestMessagesAndResultsAreReadInPiecesOfAMegabyte, all of them.
func TestMessagesAndResultsAreReadInPiecesOfAMegabyte(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		const n, size = 12, 300 << 10
		for i := range n {
			var opts []AddOption
			if i%3 == 0 {
				opts = append(opts, WithPriority(1))
			}
			r.adds(large(i, size), opts...)
		}
		seen := 0
		for at := 0; at < n; at += seen {
			got, err := r.e.Run(t.Context(), listScript, r.of.parts, []string{"ready", decimal(at), "100"})
			require.NoError(t, err)
			all, err := texts(got)
			require.NoError(t, err)
			length := 0
			for _, text := range all {
				length += len(text)
			}
			require.LessOrEqual(t, length, 1<<20+4096)
			seen, err = strconv.Atoi(all[0])
			require.NoError(t, err)
			require.Positive(t, seen)
			require.LessOrEqual(t, seen, 3)
			if at+seen < n {
				require.Equal(t, "1", all[1], "there is more")
			}
		}
		listed := map[string]bool{}
		for info, err := range r.Messages(t.Context(), Ready) {
			require.NoError(t, err)
			require.Len(t, info.Body, size)
			listed[strings.Fields(string(info.Body))[0]] = true
		}
		require.Len(t, listed, n)

		calls := make([]*resultCall, n)
		for i := range calls {
			m, err := r.Poll(t.Context())
			require.NoError(t, err)
			require.NoError(t, m.AckWith(t.Context(), []byte(m.Value), time.Minute))
			calls[i] = &resultCall{Ask: asking{r.of, m.ID}}
		}
		left, err := r.h.someResults(calls)
		require.NoError(t, err)
		require.Len(t, left, n-3)
		require.NoError(t, r.h.sendResults("", 0, calls))
		for _, c := range calls {
			require.Len(t, c.Answer, 1+size)
		}
	})
}

// TestBacklogThatIsGoneIsPassedOverQuickly: messages that have expired or were removed cost few calls.
func TestBacklogThatIsGoneIsPassedOverQuickly(t *testing.T) {
	t.Parallel()
	for how, gone := range map[string]func(r *rig, n int){
		"expired": func(r *rig, n int) {
			addParts(r, n, WithExpiry(time.Millisecond))
			time.Sleep(5 * time.Millisecond)
		},
		"removed": func(r *rig, n int) {
			addParts(r, n)
			r.do("DEL", r.part("body"))
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, r *rig) {
				n := 3000
				if strings.HasSuffix(t.Name(), "miniredis") {
					n = 600 // a busy one passes over no thousand in the time of a request
				}
				gone(r, n)
				for _, v := range []string{"a", "b", "c"} {
					r.adds(v)
				}
				calls, took := 0, ""
				for ; took == ""; calls++ {
					_, took = r.steps("1", "60000")
				}
				require.LessOrEqual(t, calls, n/800+1)
				r.acks("b", "c")
			})
		})
	}
}

// addParts adds n messages, some at a time: a busy embedded server does not answer for thousands in time.
func addParts(r *rig, n int, opts ...AddOption) {
	r.t.Helper()
	const part = 300
	for range n / part {
		_, err := r.AddAll(r.t.Context(), make([]string, part), opts...)
		require.NoError(r.t, err)
	}
}

// slowLink reads at most so many bytes in a second.
type slowLink struct {
	net.Conn
	rate int
	read *atomic.Int64
}

func (l slowLink) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b[:min(len(b), 32<<10)])
	l.read.Add(int64(n))
	time.Sleep(time.Duration(n) * time.Second / time.Duration(l.rate))
	return n, err
}

// TestLargeMessagesAreHandledOverASlowLink, each once.
func TestLargeMessagesAreHandledOverASlowLink(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	n := redistest.Count(t, 10, 64)
	var read atomic.Int64
	slow := rigOn(t, server.Client(t, func(o *rueidis.ClientOption) {
		o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", addr)
			return slowLink{conn, 5 << 20, &read}, err
		}
	}))
	fast := &rig{t: t, raw: server.Client(t), e: engineOn(t, server.Client(t))}
	fast.Queue = New[string](fast.e, slow.name)
	const size = 1000 << 10
	for i := range n {
		fast.adds(large(i, size))
	}
	var handled atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- slow.Serve(ctx, func(context.Context, *Message[string]) error { handled.Add(1); return nil }, WithConcurrency(32))
	}()
	redistest.Eventually(t, func() bool { return fast.counter("acked") == int64(n) }, 4*soon, 10*time.Millisecond)
	cancel()
	require.NoError(t, redistest.Done(t, ended))
	require.EqualValues(t, n, handled.Load())
	require.Zero(t, fast.counter("ranout"))
	require.Less(t, read.Load(), int64(n*size*5/4), "each body is sent once")
}
