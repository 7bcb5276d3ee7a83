package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestStandardInput: "-" is its lines, or of map put one value.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := []string{envRedis + "=redis://" + server.Addr()}
	client := server.Client(t)
	require.NoError(t, client.Do(t.Context(), client.B().Set().Key("redisson_bqs:{b}").Value("3").Build()).Error())
	for _, c := range []struct {
		args, input string
		want        said
		show, shown string // a command that shows what is there afterwards
	}{
		{"queue add q -", "a\nb c\r\n\nlast", said{out: "4\n"}, "queue drain q", "a\nb c\n\nlast\n"},
		{"queue add f - --first", "a\nb\n", said{out: "2\n"}, "queue drain f", "b\na\n"},
		{"queue add n - --as int --json", "1\n2\n", said{out: `{"name":"n","size":2}` + "\n"}, "queue ls n", "1\n2\n"},
		{"queue add n -", "", said{out: "2\n"}, "queue len n", "2\n"},
		{"queue add d - --delayed --delay 60", "a\nb\n", said{out: "2\n"}, "queue len d --delayed", "2\n"},
		{"queue add b - --bounded --wait 0", "a\nb\nc\n", said{out: "3\n"}, "queue ls b", "a\nb\nc\n"},
		{"queue add dash - -", "a\n", said{out: "2\n"}, "queue ls dash", "-\n-\n"},
		{"map put m k -", "one\ntwo\n", said{}, "map get m k", "one\ntwo\n"},
		{"map put m k -", "no end", said{}, "map get m k", "no end\n"},
		{"map put m k -", "dos\r\n", said{}, "map get m k", "dos\n"},
		{"map put m k - --as int", "7\n", said{}, "map ls m", "k\t7\n"},
		{"map put m k -", "", said{}, "map get m k", "\n"},
		{"topic publish t -", "a\nb\n", said{out: "0\n0\n"}, "", ""},
		{"topic publish t - --json --as int", "1\n", said{out: `{"name":"t","receivers":0}` + "\n"}, "", ""},
		{"topic publish t -", "", said{}, "", ""},
		{"job add j -", "", said{}, "job stats j --json", ""},
	} {
		assert.Equal(t, c.want, runWithInput(t, env, c.input, strings.Fields(c.args)...), c.args)
		if c.shown != "" {
			assert.Equal(t, said{out: c.shown}, runHere(t, env, strings.Fields(c.show)...), c.args)
		}
	}
	assert.Equal(t, exit.NotAcquired, runWithInput(t, env, "d\n", "queue", "add", "b", "-", "--bounded", "--wait", "0").code)
	for _, args := range []string{"queue add q - --as int", "topic publish t - --as int", "job add j - --as int", "map put m k - --as int"} {
		got := runWithInput(t, env, "no number", strings.Fields(args)...)
		assert.Equal(t, exit.Usage, got.code, args)
		assert.Contains(t, got.errors, "no number", args)
	}
	long := strings.Repeat("x", 2<<20+1)
	for _, args := range []string{"queue add q -", "topic publish t -", "job add j -"} {
		got := runWithInput(t, env, long, strings.Fields(args)...)
		assert.Equal(t, exit.Usage, got.code, args)
		assert.Contains(t, got.errors, "standard input", args)
	}
}

// TestPublishedLinesArrive: in their order, each a message.
func TestPublishedLinesArrive(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := "redis://" + server.Addr()
	p := start(t, url, "topic", "listen", "t")
	env := []string{envRedis + "=" + url}
	redistest.Eventually(t, func() bool { return runHere(t, env, "topic", "publish", "t", "first").out == "1\n" }, patience, time.Millisecond)
	p.await("first")
	require.Equal(t, said{out: "1\n1\n"}, runWithInput(t, env, "a\nlast\n", "topic", "publish", "t", "-"))
	p.await("last")
	lines := p.said()
	assert.Equal(t, []string{"a", "last"}, lines[len(lines)-2:])
}
