package topic

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// TestReliableTopicOfLongMessagesLeavesOthersAlone on a slow link: all messages arrive, a megabyte and more of one topic too, and the
// connection that the topics share is not given up.
func TestReliableTopicOfLongMessagesLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 2*time.Second, func() time.Duration { return longMessagesRound(t) })
}

// longMessagesRound is one round, which returns an hour if the connection is another: rueidis gives one up when this process stands
// still for a second.
func longMessagesRound(t *testing.T) (took time.Duration) {
	server := redistest.Shared(t, redistest.Version("8.0"))
	slow := server.Client(t, redistest.Slow(4<<20), func(o *rueidis.ClientOption) { o.ConnWriteTimeout = time.Second })
	raw := server.Client(t)
	e := engineOn(t, slow, func(c *core.Config) { c.WatchdogTimeout = 9 * time.Second })
	long, small := reliableBy(t, raw, e, redistest.Name(t)), reliableBy(t, raw, e, redistest.Name(t))
	heard, beside := long.listening(), small.listening()
	from := reliableOn(t, raw, long.Name())
	var want []string
	for _, kilobytes := range []int{1, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 1500, 1500, 6000, 1500, 300, 300, 300, 300, 300, 300} {
		want = append(want, strconv.Itoa(len(want))+strings.Repeat("x", kilobytes<<10))
	}
	link := func() *link { l, err := small.r.linkOf(beside.f); require.NoError(t, err); return l }
	beside.f.isQuiet(t)
	before := link()
	from.publishes(1, want...)
	other := reliableOn(t, raw, small.Name())
	for i := range 20 {
		other.publishes(1, strconv.Itoa(i))
		beside.hears(t, strconv.Itoa(i))
	}
	heard.hears(t, want...)
	if link() != before {
		took = time.Hour
	}
	heard.Close()
	beside.Close()
	return took
}

// TestServerWithoutRoomToTrackIsNotAskedForEver: it forgets one topic when it is to announce another, and says that the first
// has changed.
func TestServerWithoutRoomToTrackIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	const topics, lasts = 50, 3 * time.Second
	server := redistest.Start(t, redistest.Version("8.0"))
	raw := server.Client(t)
	require.NoError(t, raw.Do(t.Context(), raw.B().ConfigSet().ParameterValue().ParameterValue("tracking-table-max-keys", "10").Build()).Error())
	e := engineOn(t, server.Client(t))
	var all []reliably
	var rigs []*reliableRig
	for range topics {
		r := reliableBy(t, raw, e, redistest.Name(t))
		rigs, all = append(rigs, r), append(all, r.listening())
	}
	server.ResetStats()
	time.Sleep(lasts)
	require.Less(t, server.CommandCalls(t, "xreadgroup"), int64(topics*(mostVain+2)*int(lasts/lookGrid)))
	for i, s := range all {
		from := reliableOn(t, raw, rigs[i].Name())
		from.publishes(1, "x")
		s.hears(t, "x")
	}
}

// TestWhatIsPendingIsAskedForWhenThereIsRoom for a long answer again: that others had the room forgets nothing.
func TestWhatIsPendingIsAskedForWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	r := reliableOn(t, raw, redistest.Name(t))
	s := r.listening()
	s.f.isQuiet(t)
	l, err := r.r.linkOf(s.f)
	require.NoError(t, err)
	require.True(t, l.large.TryAcquire(mostLarge))
	s.f.turn.Lock() // between two visits
	reliableOn(t, raw, r.Name()).publishes(1, "lost")
	got := redistest.Do(t, raw, "XREADGROUP", "GROUP", s.f.group, consumer, "STREAMS", r.of.key, ">") // by a reader whose answer was lost
	require.NoError(t, got.Error())
	s.f.amount.late = 1
	s.f.mu.Lock()
	s.f.claim = true
	s.f.mu.Unlock()
	s.f.turn.Unlock()
	began := time.Now()
	s.f.post()
	redistest.Eventually(t, func() bool { // it was refused
		s.f.turn.Lock()
		defer s.f.turn.Unlock()
		s.f.mu.Lock()
		defer s.f.mu.Unlock()
		return s.f.claimed.After(began)
	}, soon, time.Millisecond)
	l.large.Release(mostLarge)
	s.hears(t, "lost")
}

func TestAmount(t *testing.T) {
	t.Parallel()
	messages := func(n, size int) (all []rueidis.XRangeEntry) {
		for range n {
			all = append(all, rueidis.XRangeEntry{FieldValues: map[string]string{"": strings.Repeat("x", size)}})
		}
		return all
	}
	var a amount
	require.Equal(t, 1, a.count())
	for _, want := range []int{4, 16, 64, 100} {
		a.saw(messages(a.count(), 10))
		require.Equal(t, want, a.count())
	}
	a.saw(messages(1, mostRead/2))
	require.Equal(t, 2, a.count())
	require.False(t, a.large())
	a.saw(messages(1, 2*mostRead))
	require.Equal(t, 1, a.count())
	require.True(t, a.large())
	a.saw(nil)
	require.True(t, a.large())
	for range 20 {
		a.saw(messages(1, 10))
	}
	require.False(t, a.large())
	a.missed()
	require.True(t, a.large())
	a.saw(nil)
	require.False(t, a.large())
}

// TestTopicReadsALongMessageOverASlowLink, with more time for each try.
func TestTopicReadsALongMessageOverASlowLink(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Version("8.0"))
	slow := server.Client(t, redistest.Slow(4<<20), func(o *rueidis.ClientOption) { o.ConnWriteTimeout, o.BlockingPoolSize = time.Second, 100 })
	raw := server.Client(t)
	r := reliableBy(t, raw, engineOn(t, slow, leased(2*time.Second)), redistest.Name(t))
	s := r.listening()
	from := reliableOn(t, raw, r.Name())
	from.publishes(1, "small")
	s.hears(t, "small")
	from.publishes(1, strings.Repeat("x", 10<<20), "behind")
	require.Len(t, s.next(t, 1)[0].text, 10<<20)
	s.hears(t, "behind")
}

// TestTopicsKeepTheirConnectionBehindLongExchanges of others.
func TestTopicsKeepTheirConnectionBehindLongExchanges(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Version("8.0"))
	redistest.Within(t, 2*time.Second, func() time.Duration { return longExchangesRound(t, server) })
}

// longExchangesRound is one round, which returns an hour if the connection is another: it is given up when this process stands still
// for as long as an exchange may take.
func longExchangesRound(t *testing.T, server *redistest.Server) (took time.Duration) {
	slow := server.Client(t, redistest.Slow(2<<20), func(o *rueidis.ClientOption) { o.ConnWriteTimeout, o.BlockingPoolSize = 5*time.Second, 100 })
	raw := server.Client(t)
	e := engineOn(t, slow, leased(3*time.Second))
	long, beside := reliableBy(t, raw, e, redistest.Name(t)), reliableBy(t, raw, e, redistest.Name(t))
	heard, small := long.listening(), beside.listening()
	from := reliableOn(t, raw, long.Name())
	from.publishes(1, strings.Repeat("x", 400<<10))
	require.Len(t, heard.next(t, 1)[0].text, 400<<10)
	small.f.isQuiet(t)
	before, err := beside.r.linkOf(small.f)
	require.NoError(t, err)
	redistest.Do(t, raw, "SET", "big", strings.Repeat("y", 4<<20))
	get := send.Expect(scripts.NewCommand("GET", scripts.Reads), 4<<20)
	done := make(chan error, 2)
	for range 2 {
		go func() { _, err := e.Run(context.Background(), get, []string{"big"}, nil); done <- err }() // ends with the answer
	}
	time.Sleep(200 * time.Millisecond) // they are on their way
	from.publishes(1, strings.Repeat("z", 400<<10))
	require.Len(t, heard.next(t, 1)[0].text, 400<<10)
	for range 2 {
		require.NoError(t, <-done)
	}
	after, err := beside.r.linkOf(small.f)
	require.NoError(t, err)
	if after != before {
		took = time.Hour
	}
	heard.Close()
	small.Close()
	return took
}
