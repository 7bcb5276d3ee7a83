package main

import (
	"bytes"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// failing is a file that takes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestAnAnswerThatCannotBeWritten is an error, and none of the server's.
func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	for _, args := range []string{
		"sem set permits 2", "latch set ready 2", "limit set api --rate 5/s", "queue add orders a", "job add jobs a", "map put users k v",
		"counter add hits", "set add members a", "zset add points 1 a", "bloom init seen 10",
	} {
		got := runHere(t, env, strings.Fields(args)...)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
	}
	for _, args := range []string{
		"version", "sem info permits", "sem ls", "latch ls --json", "latch info ready", "inspect ready", "inspect nothing", "limit ls",
		"limit show api", "queue ls orders", "queue take orders", "job ls jobs", "job queues", "map ls users", "map get users k --json", "map get users absent --json",
		"counter get hits", "set ls members", "set has members a", "zset top points --json", "bloom info seen", "keys ls *", "keys count *",
	} {
		var said bytes.Buffer
		code := cli.Run(t.Context(), strings.Fields(args), strings.NewReader(""), failing{syscall.ENOSPC}, &said, env)
		assert.Equal(t, exit.Unavailable, code, args)
		if strings.Contains(args, "--json") {
			assert.Equal(t, `{"error":"standard output: no space left on device","exit":69}`+"\n", said.String(), args)
		} else {
			assert.Equal(t, "rueidisson: standard output: no space left on device\n", said.String(), args)
		}
	}
	// Nobody listens to a pipe that is closed.
	for _, closed := range []error{syscall.EPIPE, io.ErrClosedPipe} {
		var said bytes.Buffer
		assert.Zero(t, cli.Run(t.Context(), []string{"sem", "ls"}, strings.NewReader(""), failing{closed}, &said, env))
		assert.Empty(t, said.String())
	}
}
