package redistest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAProxyAnswersInTheServersPlace(t *testing.T) {
	s, p, key := setup(t)
	c := dial(t, p.Addr())
	r := p.Answer(Command("INCR"), "LOADING data")
	c.send("GET", key)
	c.send("INCR", key)
	c.send("SET", key, "7")
	require.Nil(t, c.read())
	require.Equal(t, replyError("LOADING data"), c.read())
	require.Equal(t, "OK", c.read())
	require.Equal(t, "7", get(t, s, key))
	require.Equal(t, 1, r.Calls())
	r.Cancel()
	require.Equal(t, int64(8), c.do("INCR", key))
	require.Equal(t, 1, r.Calls())
}

func TestAProxyDeliversTwice(t *testing.T) {
	s, p, key := setup(t)
	c := dial(t, p.Addr())
	r := p.Twice(Command("INCR", "SUBSCRIBE"))
	d := p.DropReply(Command("INCR"), 0) // none, so that rules and drops meet
	c.send("INCR", key)
	c.send("INCR", key)
	c.send("GET", key)
	require.Equal(t, int64(1), c.read())
	require.Equal(t, int64(3), c.read())
	require.Equal(t, "4", c.read())
	require.Equal(t, 2, r.Calls())
	require.Zero(t, d.Dropped())
	require.Equal(t, []any{"subscribe", key, int64(1)}, c.do("SUBSCRIBE", key))
	require.Equal(t, int64(1), dial(t, s.Addr()).do("PUBLISH", key, "m"))
	require.Equal(t, []any{"message", key, "m"}, c.read())
	r.Cancel()
	require.Equal(t, int64(5), dial(t, p.Addr()).do("INCR", key))
}

func TestARequestThatIsHeldIsTold(t *testing.T) {
	_, p, key := setup(t)
	h := p.HoldRequest(Arg(key))
	require.Nil(t, h.Command())
	dial(t, p.Addr()).send("INCR", key)
	h.Await(t)
	require.Equal(t, []string{"INCR", key}, h.Command())
	h.Release()
}

func TestJitterKeepsTheOrder(t *testing.T) {
	_, p, key := setup(t)
	p.Jitter(3*time.Millisecond, 3*time.Millisecond)
	c := dial(t, p.Addr())
	for range 100 {
		c.send("INCR", key)
	}
	for i := range int64(100) {
		require.Equal(t, i+1, c.read())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	most := time.Now().Add(time.Hour)
	p.jitters[requests] = time.Hour
	late := map[time.Duration]bool{}
	for range 10 {
		due := p.due(requests)
		require.True(t, due.Before(most.Add(time.Minute)))
		late[time.Until(due).Round(time.Second)] = true
	}
	require.Greater(t, len(late), 1, "each is late by a time of its own")
	p.jitters[requests] = 0
	require.Zero(t, p.due(requests))
}

// TestBandwidthBoundsBothWays: 1 MB there and back at 10 MB/s take at least 0.2 s, except what is made up for.
func TestBandwidthBoundsBothWays(t *testing.T) {
	_, p, _ := setup(t)
	c := dial(t, p.Addr())
	p.Bandwidth(10 << 20)
	text := strings.Repeat("x", 1<<20)
	began := time.Now()
	require.Equal(t, text, c.do("ECHO", text))
	require.Greater(t, time.Since(began), 190*time.Millisecond)
	p.Bandwidth(0)
	require.Equal(t, text, c.do("ECHO", text))
}

func TestALossTakesWhatFollows(t *testing.T) {
	s, p, key := setup(t)
	for name, c := range map[string]struct {
		requests, replies float64
		runs              bool
	}{"requests": {1, 0, false}, "replies": {0, 1, true}} {
		t.Run(name, func(t *testing.T) {
			lossy, other := dial(t, p.Addr()), dial(t, p.Addr())
			require.Equal(t, "PONG", lossy.do("PING"))
			require.Equal(t, "PONG", other.do("PING"))
			p.Lose(c.requests, c.replies)
			lossy.send("SET", key+name, "v")
			lossy.hearsNothing()
			p.Lose(0, 0)
			require.Equal(t, "PONG", other.do("PING"))
			lossy.send("PING")
			lossy.hearsNothing()
			if c.runs {
				require.Equal(t, "v", get(t, s, key+name))
			} else {
				require.Nil(t, get(t, s, key+name))
			}
			p.Restore()
			lossy.isCut()
			require.Equal(t, "PONG", other.do("PING"))
			require.Equal(t, "PONG", dial(t, p.Addr()).do("PING"))
		})
	}
}
