package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestCommandThatTheServerRefusesSaysThatItMayBeCalledAgain: nobody goes on with it when
// the process has ended.
func TestCommandThatTheServerRefusesSaysThatItMayBeCalledAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	run := func(args string) said {
		return runHere(t, []string{envRedis + "=redis://" + server.Addr()}, strings.Fields(args)...)
	}
	for _, args := range []string{"sem set s 1", "sem acquire s", "latch set l 1"} {
		require.Zero(t, run(args).code, args)
	}
	refuse := func(replicas string) {
		require.NoError(t, admin.Do(t.Context(), admin.B().ConfigSet().ParameterValue().ParameterValue("min-replicas-to-write", replicas).Build()).Error())
	}
	refuse("1")
	for _, args := range []string{"sem release s", "latch down l"} {
		got := run(args)
		assert.Equal(t, exit.Unavailable, got.code, args)
		assert.Contains(t, got.errors, "not done; it may be called again", args)
		assert.Contains(t, got.errors, "NOREPLICAS", args)
	}
	refuse("0")
	for _, args := range []string{"sem release s", "latch down l"} {
		assert.Zero(t, run(args).code, args)
	}
	assert.Contains(t, run("sem info s").out, "1")
}
