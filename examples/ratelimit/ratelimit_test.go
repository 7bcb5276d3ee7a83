package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestMain(m *testing.M) {
	crew.Join(asServer, "ratelimit: a server", serve)
	redistest.Main(m, redistest.Children{"show": showChild})
}

// showChild runs with the flags that it hears, in a process of its own.
func showChild(p *redistest.Parent) {
	args, _ := p.Hear()
	os.Exit(run(strings.Fields(args), os.Stderr, os.Stderr))
}

func shows(t *testing.T, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, 0, run(args, &out, &errs), "%s\n%s", &out, &errs)
	assert.Empty(t, errs.String())
	assert.Equal(t, 3, strings.Count(out.String(), "never above the limit"), out.String())
	for _, name := range []string{"alice", "bob", "mallory"} {
		assert.Regexp(t, `(?m)^`+name+` +allowed +[1-9]\d* of +\d+  limit 10 \+ 5/s × \d+\.\d\ds`, out.String())
		assert.Regexp(t, `(?m)^ +\d+\.\ds  `+name+` +\d+/s  allowed `, out.String())
	}
}

func TestNobodyGetsMoreThanTheLimitOfTwoServers(t *testing.T) {
	shows(t, "-for", "1600ms")
}

func TestNothingStaysOnARealServer(t *testing.T) {
	s := redistest.Start(t)
	shows(t, "-for", "1600ms", "-addr", s.Addr())
	redis := s.Client(t)
	require.Eventually(t, func() bool {
		keys, err := redis.Do(t.Context(), redis.B().Keys().Pattern("*ratelimit:*").Build()).AsStrSlice()
		return err == nil && len(keys) == 0
	}, redistest.Soon, 20*time.Millisecond, "buckets go when they are full")
}

func TestFlagsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"-for 0s is not above 0", []string{"-for", "0s"}},
		{"-for 1h0m0s is not above 0 and up to 1m0s", []string{"-for", "1h"}},
		{`invalid value "long"`, []string{"-for", "long"}},
		{`what is "alice"?`, []string{"alice"}},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitUsage, run(c.args, &out, &errs))
		assert.Empty(t, out.String())
		assert.Contains(t, errs.String(), c.says)
		assert.Contains(t, errs.String(), "Usage of ratelimit:")
	}
	assert.Equal(t, 0, run([]string{"-h"}, io.Discard, io.Discard))
}

func TestARedisThatIsNotThere(t *testing.T) {
	addr := redistest.NobodyThere(t)
	var out, errs bytes.Buffer
	assert.Equal(t, exitFailed, run([]string{"-addr", "redis://user:secret@" + addr}, &out, &errs))
	assert.Empty(t, out.String())
	assert.Contains(t, errs.String(), addr)
	assert.NotContains(t, errs.String(), "secret")
}

// inProcess runs a server in this process and returns what it says first.
func inProcess(t *testing.T, o order) (said ready, send *io.PipeWriter, result chan error) {
	in, send := io.Pipe()
	heard, out := io.Pipe()
	result = make(chan error, 1)
	// Ends with its standard input.
	go func() {
		err := serve(in, out)
		out.Close()
		result <- err
	}()
	t.Cleanup(func() { send.Close(); heard.Close() })
	require.NoError(t, json.NewEncoder(send).Encode(o))
	require.NoError(t, json.NewDecoder(heard).Decode(&said))
	return said, send, result
}

func TestTheServersShareTheLimitAndEndWithTheirInput(t *testing.T) {
	s, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	c, err := rueidisson.New(s.ClientOption())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(t.Context())) })
	require.NoError(t, c.RateLimiter("api").SetRate(t.Context(), ratelimiter.PerHour(1).WithBurst(3)))
	first, endFirst, firstResult := inProcess(t, order{URL: s.URL(), Limiter: "api"})
	second, endSecond, secondResult := inProcess(t, order{URL: s.URL(), Limiter: "api"})

	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	asks := func(name string, servers ...string) (got []int) {
		for _, server := range servers {
			status, err := (&client{name: name}).ask(t.Context(), web, server)
			require.NoError(t, err)
			got = append(got, status)
		}
		return got
	}
	assert.Equal(t, []int{200, 200, 200, 429, 429}, asks("alice", first.URL, second.URL, first.URL, second.URL, first.URL))
	assert.Equal(t, []int{200}, asks("bob", second.URL))

	endFirst.Close()
	endSecond.Close()
	require.NoError(t, <-firstResult)
	require.NoError(t, <-secondResult)
}

func TestAServerSaysThatItCannotConnect(t *testing.T) {
	said, _, result := inProcess(t, order{URL: "redis://127.0.0.1:1", Limiter: "api"})
	assert.Contains(t, said.Err, "127.0.0.1:1")
	require.NoError(t, <-result)
}

func TestNothingOutlivesAKilledShow(t *testing.T) {
	s := redistest.Start(t)
	redis := s.Client(t, func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 })
	alone := s.Connections(t)
	child := redistest.StartChild(t, "show")
	child.Send("-addr %s -for 1m", s.Addr())
	decided := func() bool {
		keys, err := redis.Do(t.Context(), redis.B().Keys().Pattern("ratelimit:*:{mallory}").Build()).AsStrSlice()
		require.NoError(t, err)
		return len(keys) == 1
	}
	require.Eventually(t, decided, redistest.Soon, time.Millisecond)
	child.Kill()
	redistest.Eventually(t, func() bool { return s.Connections(t) == alone }, redistest.Soon, 5*time.Millisecond)
}

// windows is what an audit means, window by window.
func windows(sent, answered []time.Duration) (above bool) {
	for i := range sent {
		for j := i; j < len(sent); j++ {
			grants, most := int64(j-i+1)*token, burst*token+rate*int64(answered[j]+grain-sent[i])
			above = above || grants > most
		}
	}
	return above
}

func TestTheAuditLooksAtEveryWindow(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	found := map[bool]int{}
	for range 2000 {
		var a audit
		var sent, answered []time.Duration
		now := time.Duration(random.Int64N(int64(time.Second)))
		for range 30 {
			s := now + time.Duration(random.Int64N(int64(260*time.Millisecond)))
			now = s + time.Duration(random.Int64N(int64(5*time.Millisecond)))
			sent, answered = append(sent, s), append(answered, now)
			a.grant(s, now)
			require.Equal(t, windows(sent, answered), a.above)
		}
		found[a.above]++
	}
	assert.Greater(t, found[true], 100)
	assert.Greater(t, found[false], 100)
}

func TestMoreThanTheLimitIsFound(t *testing.T) {
	t.Parallel()
	c := &client{name: "mallory"}
	for range burst {
		c.count(http.StatusOK, nil, time.Minute, time.Minute)
	}
	assert.Equal(t, 0, verdict([]*client{c}, io.Discard))
	var errs bytes.Buffer
	c.count(http.StatusServiceUnavailable, nil, time.Minute, time.Minute)
	c.count(0, errors.New("gone"), time.Minute, time.Minute)
	assert.Equal(t, exitFailed, verdict([]*client{c}, &errs))
	assert.Contains(t, errs.String(), "2 requests of mallory were not decided about, the last: gone")
	c.count(http.StatusOK, nil, time.Minute, time.Minute)
	assert.Equal(t, exitWrong, verdict([]*client{c}, &errs), "a minute without requests does not save tokens up")
	assert.Contains(t, errs.String(), "mallory got more than the limit allows")
	assert.Equal(t, "ABOVE THE LIMIT", c.judged())
}

func TestABarShowsTheLimit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "     │", bar(answers{}))
	assert.Equal(t, "███  │", bar(answers{3, 0}))
	assert.Equal(t, "████░│░", bar(answers{4, 2}))
	assert.Equal(t, "█████│█"+strings.Repeat("░", barWidth-6)+"…", bar(answers{6, 1000}))
}
