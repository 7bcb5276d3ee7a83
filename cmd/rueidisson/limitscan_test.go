package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// onServer runs limit's commands on a real server, and knows its limiters.
type onServer struct {
	t   *testing.T
	url string
	c   *rueidisson.Client
}

func newOnServer(t *testing.T, addr string) onServer {
	t.Helper()
	url := "redis://" + addr
	c, err := rueidisson.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(t.Context())) })
	return onServer{t, url, c}
}

func (o onServer) run(args ...string) said {
	o.t.Helper()
	return runHere(o.t, []string{envRedis + "=" + o.url}, append([]string{"limit"}, args...)...)
}

func (o onServer) rated(name string, r ratelimiter.Rate) *ratelimiter.Limiter {
	o.t.Helper()
	l := o.c.RateLimiter(name)
	_, _, err := l.TrySetRate(o.t.Context(), r)
	require.NoError(o.t, err)
	return l
}

func (o onServer) charge(l *ratelimiter.Limiter, key string, n int64) {
	o.t.Helper()
	_, err := l.For(key).Charge(o.t.Context(), n)
	require.NoError(o.t, err)
}

func TestLimitList(t *testing.T) {
	t.Parallel()
	o := newOnServer(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	l := o.rated(name+":b", ratelimiter.PerSecond(5).WithBurst(10))
	o.charge(l, "a key, which is no limiter", 1)
	require.NoError(t, o.rated(name+":a", ratelimiter.PerHour(1)).Pause(t.Context()))
	o.rated(name+":c", ratelimiter.PerHour(1).PerClient())
	redis := redistest.Shared(t).Client(t)
	for key, value := range map[string]string{":x": "tb1 what somebody else wrote", ":y": strings.Repeat("9 ", 10_000), ":z": ""} {
		require.NoError(t, redis.Do(t.Context(), redis.B().Set().Key(name+key).Value(value).Build()).Error())
	}
	require.NoError(t, redis.Do(t.Context(), redis.B().Hset().Key(name+":h").FieldValue().FieldValue("rate", "5").Build()).Error())

	assert.Equal(t, said{0, name + ":a  1/h burst 1, paused\n" + name + ":b  5/s burst 10\n" + name + ":c  1/h burst 1 per client\n", ""}, o.run("ls", name+"*"))
	assert.Equal(t, said{0, name + ":b  5/s burst 10\n", ""}, o.run("ls", name+":[b]"))
	assert.Equal(t, said{0, "", ""}, o.run("ls", name+":nothing"))
	assert.Equal(t, said{0, `{"name":"` + name + `:a","paused":true,"rate":{"text":"1/h burst 1","n":1,"per_ns":3600000000000,"burst":1,"per_client":false}}` + "\n", ""},
		o.run("ls", name+":a", "--json"))
	assert.Contains(t, o.run("ls").out, name+":b")
}

func TestLimitTop(t *testing.T) {
	t.Parallel()
	o := newOnServer(t, redistest.Shared(t).Addr())
	name := redistest.Name(t) + "*[x]" // nothing of it is a pattern
	l, other := o.rated(name, ratelimiter.PerHour(10)), o.rated(redistest.Name(t)+"xx", ratelimiter.PerHour(10))
	o.charge(other, "of another", 9)
	long := strings.Repeat("k", 65)
	for key, n := range map[string]int64{"{braces}%": 3, "debt": 13, long: 5, "one": 1} {
		o.charge(l, key, n)
	}
	require.NoError(t, l.For("blocked").Block(t.Context(), time.Hour))
	o.charge(l, "filled", 3)
	require.NoError(t, l.For("filled").Refund(t.Context(), 3))

	got := o.run("top", name)
	require.Zero(t, got.code, got.errors)
	require.Empty(t, got.errors)
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	require.Len(t, lines, 5, got.out)
	for i, want := range []string{"debt -3 of 10 left", "%#", "{braces}% 7 of 10 left", "one 9 of 10 left", "blocked 10 of 10 left, blocked for 59m"} {
		assert.True(t, strings.HasPrefix(strings.Join(strings.Fields(lines[i]), " "), want), lines[i])
	}
	assert.Contains(t, lines[1], " 5 of 10 left")

	got = o.run("top", name, "2", "--json")
	require.Zero(t, got.code, got.errors)
	var all []scarceJSON
	for dec := json.NewDecoder(strings.NewReader(got.out)); dec.More(); {
		var one scarceJSON
		require.NoError(t, dec.Decode(&one))
		all = append(all, one)
	}
	require.Len(t, all, 2)
	assert.Equal(t, scarceJSON{Name: name, Key: "debt", Remaining: -3, Limit: 10}, all[0])
	assert.True(t, all[1].Hashed)

	// A reset is seen, also in what is stored of before it.
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(10), ratelimiter.WithReset()))
	got = o.run("top", name)
	assert.Regexp(t, `^blocked  10 of 10 left, blocked for 59m[^ ]*\n$`, got.out, "a block stays")
}

func TestLimitListAndTopLookAtAllMasters(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	o := newOnServer(t, cluster.Addrs()[0])
	var want []string
	slots := map[int]bool{}
	for i := range 12 {
		name := fmt.Sprintf("limit-%02d", i)
		want = append(want, name)
		slots[redistest.Slot(name)*3/16384] = true
		o.rated(name, ratelimiter.PerHour(100))
	}
	require.Len(t, slots, 3)
	l := o.c.RateLimiter(want[0])
	for i := range int64(20) {
		o.charge(l, fmt.Sprintf("user:%02d", i), 20-i)
	}
	got := o.run("ls")
	require.Zero(t, got.code, got.errors)
	var names []string
	for line := range strings.Lines(got.out) {
		names = append(names, strings.Fields(line)[0])
	}
	assert.Equal(t, want, names)
	got = o.run("top", want[0], "20")
	require.Zero(t, got.code, got.errors)
	names = nil
	for line := range strings.Lines(got.out) {
		names = append(names, strings.Fields(line)[0])
	}
	assert.Len(t, names, 20)
	assert.True(t, slices.IsSorted(names), "the emptiest first: %v", names)
}

// A bound that was reached is told.
func TestLimitListAndTopTellTheirBound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := newOnServer(t, server.Addr())
	l := o.rated("api", ratelimiter.PerHour(100))
	for i := range 100 {
		o.charge(l, fmt.Sprint("user:", i), 1)
	}
	const more = "there are more keys than the 10 that were looked at: --scan N looks at more"
	for _, command := range []string{"ls", "top api"} {
		got := o.run(append(strings.Fields(command), "--scan", "10")...)
		assert.Zero(t, got.code)
		assert.Equal(t, more+"\n", got.errors)
		got = o.run(append(strings.Fields(command), "--scan", "10", "--json")...)
		assert.Equal(t, `{"message":"`+more+`"}`+"\n", got.errors)
		got = o.run(append(strings.Fields(command), "--scan", "3000")...)
		assert.Empty(t, got.errors)
		assert.NotEmpty(t, got.out)
	}
}

func TestLimitListAndTopThatCannotBe(t *testing.T) {
	t.Parallel()
	o := newOnServer(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	o.rated(name, ratelimiter.PerHour(1).PerClient())
	for args, code := range map[string]int{
		"ls a b": exit.Usage, "ls --scan 0": exit.Usage, "ls --redisson": exit.Usage, "ls --key k": exit.Usage,
		"top": exit.Usage, "top a b": exit.Usage, "top a 0": exit.Usage, "top a 1 2": exit.Usage, "top --scan -1 a": exit.Usage,
		"top " + name + ":none": exit.NoRate, "top " + name: exit.NoRate, "--redis redis://127.0.0.1:1 ls": exit.Unavailable,
	} {
		got := o.run(strings.Fields(args)...)
		assert.Equal(t, code, got.code, "%s: %s", args, got.errors)
		assert.Empty(t, got.out, args)
		assert.NotEmpty(t, got.errors, args)
	}
}
