package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestHelpOfTopic(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"topic": {"topic", "--help"}}
	for _, command := range []string{"publish", "listen", "dead", "redrive", "purge"} {
		files["topic-"+command] = []string{"topic", command, "--help"}
	}
	for name, args := range files {
		got := runHere(t, nil, args...)
		assert.Zero(t, got.code)
		file := filepath.Join("testdata", "help", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.out, "go test -update writes it anew")
	}
}

func TestTopicThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	for args, code := range map[string]int{
		"publish t":                         exit.Usage,
		"publish t a b":                     exit.Usage,
		"publish t a --as int":              exit.Usage,
		"publish t a --codec xml":           exit.Usage,
		"publish t a --for 1s":              exit.Usage,
		"listen":                            exit.Usage,
		"listen t --for 0s":                 exit.Usage,
		"listen t --codec xml":              exit.Usage,
		"listen t --pattern --sharded":      exit.Usage,
		"":                                  exit.Usage,
		"lisen t":                           exit.Usage,
		"listen t --sharded --for 1m":       exit.Unavailable, // which that server is without
		"publish t a --sharded":             exit.Unavailable,
		"publish t a":                       0,
		"listen t --for 10ms":               0,
		"listen t --for 10ms --pattern":     0,
		"publish t {} --as json --json":     0,
		"publish t a --codec kryo5":         0,
		"publish t /0E= --as base64":        0,
		"publish t 1 --as int --codec text": 0,
	} {
		got := runHere(t, []string{envRedis + "=" + server.URL()}, append([]string{"topic"}, strings.Fields(args)...)...)
		assert.Equal(t, code, got.code, "%s: %s", args, got.errors)
		assert.Equal(t, code == 0, got.errors == "", "%s: %s", args, got.errors)
	}
}

// TestTopic publishes and listens as programs of their own.
func TestTopic(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := "redis://" + server.Addr()
	publish := func(args ...string) string {
		t.Helper()
		got := runHere(t, []string{envRedis + "=" + url}, append([]string{"topic", "publish"}, args...)...)
		require.Zero(t, got.code, got.errors)
		return strings.TrimSuffix(got.out, "\n")
	}
	for kind, flags := range map[string][]string{"plain": nil, "sharded": {"--sharded"}} {
		p := start(t, url, append([]string{"topic", "listen", kind}, flags...)...)
		redistest.Eventually(t, func() bool { return publish(append([]string{kind, "first"}, flags...)...) == "1" }, redistest.Soon, 10*time.Millisecond)
		p.await("first")
		require.Equal(t, "1", publish(append([]string{kind, "120", "--as", "int"}, flags...)...))
		p.await("120")
		require.Equal(t, "1", publish(append([]string{kind, "\xff\x00", "--codec", "bytes"}, flags...)...)) // no msgpack
		require.Equal(t, "1", publish(append([]string{kind, "last"}, flags...)...))
		p.await("last")
		p.signal(syscall.SIGINT)
		require.Zero(t, p.code())
		require.Contains(t, p.errors(), "cannot be decoded")
	}
	p := start(t, url, "topic", "listen", "orders:*", "--pattern", "--json", "--codec", "text")
	redistest.Eventually(t, func() bool { return publish("orders:42", "paid", "--codec", "text") == "1" }, redistest.Soon, 10*time.Millisecond)
	require.Equal(t, `{"name":"orders:42","receivers":1}`, publish("orders:42", "paid", "--codec", "text", "--json"))
	redistest.Eventually(t, func() bool { return len(p.said()) > 0 }, redistest.Soon, 10*time.Millisecond)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(p.said()[0]), &line))
	require.Equal(t, "orders:42", line["channel"])
	require.Equal(t, "paid", line["message"])
	require.NotEmpty(t, line["time"])
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), p.code())

	bounded := start(t, url, "topic", "listen", "t", "--for", "100ms")
	require.Zero(t, bounded.code())
}

// TestAListenerIsToldOfAGap when its connection is cut.
func TestAListenerIsToldOfAGap(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	p := start(t, "redis://"+proxy.Addr(), "topic", "listen", "t", "--json")
	proxy.AwaitCount(t, redistest.Command("SUBSCRIBE"), 1)
	redistest.Eventually(t, func() bool {
		got := runHere(t, []string{envRedis + "=redis://" + server.Addr()}, "topic", "publish", "t", "a")
		return got.out == "1\n"
	}, redistest.Soon, 10*time.Millisecond)
	proxy.CutAll()
	p.await(`{"missed":-1}`)
	p.signal(syscall.SIGINT)
	require.Zero(t, p.code())
}
