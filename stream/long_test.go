package stream

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// long is a value of 3 MB.
var long = strings.Repeat("x", 3<<20)

// TestStreamConsumerIsGivenALargeEntry, which did not arrive at first: it is claimed with
// more time.
func TestStreamConsumerIsGivenALargeEntry(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	s := New[string, string](engineOn(t, server.Client(t)), redistest.Name(t), WithCodec(codec.Text))
	made(t, s)
	id := add(t, s, long)
	g := New[string, string](enginetest.Slow(t, server, 2<<20), s.Name(), WithCodec(codec.Text)).Group("g")
	for e, err := range g.Consume(within(t), "c", WithIdle(2*time.Second), WithBatch(16)) {
		require.NoError(t, err)
		require.Equal(t, id, e.ID)
		require.Len(t, e.Fields["v"], 3<<20)
		break
	}
}

// TestStreamReadThatIsTooSlowMovesFewEntries to a consumer that does not see them.
func TestStreamReadThatIsTooSlowMovesFewEntries(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	s := New[string, string](engineOn(t, server.Client(t)), redistest.Name(t), WithCodec(codec.Text))
	g := made(t, s)
	for range 6 {
		add(t, s, long)
	}
	slow := New[string, string](enginetest.Slow(t, server, 2<<20), s.Name(), WithCodec(codec.Text)).Group("g")
	for _, err := range slow.Consume(within(t), "c", WithBatch(16)) {
		require.NoError(t, err)
		break
	}
	require.LessOrEqual(t, len(all(t, g.Pending(t.Context()))), 3, "the one that came, and what was lost before")
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
		s := New[string, string](e, name, WithCodec(codec.Text))
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
