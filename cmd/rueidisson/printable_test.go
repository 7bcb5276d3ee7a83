package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// hostile is a text that gives a terminal another title, clears it, and turns around
// what is behind it.
const (
	hostile     = "a\x1b]0;owned\x07\r\tb\u009b2J\x7f\u202e"
	hostileLine = `"a\x1b]0;owned\a\r\tb\u009b2J\x7f\u202e"`
	hostileJSON = `"a\u001b]0;owned\u0007\r\tb\u009b2J\u007f\u202e"`
)

// TestLinesAreHarmless: what somebody has written is shown on a line of its own, and
// does nothing to a terminal.
func TestLinesAreHarmless(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=" + rueidissontest.NewServer(t).URL()}
	do := func(args ...string) string {
		t.Helper()
		got := runHere(t, env, args...)
		require.Zero(t, got.code, "%q: %s", args, got.errors)
		return got.out
	}
	do("map", "put", "m", hostile, hostile)
	assert.Equal(t, hostileLine+"\t"+hostileLine+"\n", do("map", "ls", "m"))
	assert.Equal(t, `{"key":`+hostileJSON+`,"value":`+hostileJSON+"}\n", do("map", "ls", "m", "--json"))
	assert.Equal(t, hostile+"\n", do("map", "get", "m", hostile), "it is no terminal")
	do("map", "put", "l", "k", "a \"word\" of many: ä, 😀")
	assert.Equal(t, "k\ta \"word\" of many: ä, 😀\n", do("map", "ls", "l"))
	do("queue", "add", "q", hostile)
	assert.Equal(t, hostileLine+"\n", do("queue", "ls", "q"))
	assert.Equal(t, hostile+"\n", do("queue", "take", "q"))
	do("queue", "add", "d", hostile, "--delayed", "--delay", "1h")
	assert.Contains(t, do("queue", "ls", "d", "--delayed"), "\t"+hostileLine+"\n")
	got := runHere(t, env, "map", "get", "m", "k", "--codec", hostile)
	assert.Equal(t, exit.Usage, got.code)
	assert.False(t, strings.ContainsAny(got.errors, "\x1b\u009b\x7f\u202e"), "%q", got.errors)
}

func TestMessagesAndEventsAreHarmless(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	env := []string{envRedis + "=redis://" + server.Addr()}
	listen := func(args ...string) *heard {
		ctx, cancel := context.WithCancel(t.Context())
		var out, errors heard
		ended := make(chan int)
		go func() { ended <- cli.Run(ctx, args, strings.NewReader(""), &out, &errors, env) }()
		t.Cleanup(func() { cancel(); <-ended })
		return &out
	}
	channel := name + ":\x1b[2J\xff"
	topic, pattern := listen("topic", "listen", channel), listen("topic", "listen", name+":*", "--pattern")
	redistest.Eventually(t, func() bool {
		runHere(t, env, "topic", "publish", channel, hostile)
		return topic.String() != "" && pattern.String() != ""
	}, time.Minute, 10*time.Millisecond)
	assert.True(t, strings.HasPrefix(topic.String(), hostileLine+"\n"), "%q", topic)
	assert.True(t, strings.HasPrefix(pattern.String(), `"`+name+`:\x1b[2J\xff"`+"\t"+hostileLine+"\n"), "%q", pattern)

	events := listen("map", "watch", name, "--cache")
	t.Cleanup(func() { redistest.Do(t, raw, "DEL", name, "{"+name+"}:redisson_options") })
	redistest.Eventually(t, func() bool {
		runHere(t, env, "map", "put", name, hostile, hostile, "--cache")
		return strings.Contains(events.String(), "updated")
	}, time.Minute, 10*time.Millisecond)
	words := []string{"updated", hostileLine, hostileLine, hostileLine}
	assert.Contains(t, events.String(), strings.Join(words, "\t")+"\n")
}
