package redissonlimiter_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

func TestCallsPassWhatTheHeadersName(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	c := redistest.RecordScripts(t, raw)
	names := learnLogScripts(t, c)
	e := engineOn(t, c)
	for _, form := range []string{"%", "{%}:x", "a{%}c"} {
		l := redissonlimiter.New(e, strings.ReplaceAll(form, "%", redistest.Name(t)))
		require.NoError(t, l.SetRate(t.Context(), atMost(9, time.Hour)))
		for op, err := range everyOperation(t.Context(), l) {
			if op != "delete" && err != nil { // it comes at any time
				require.ErrorIs(t, err, ratelimiter.ErrNoRate, op)
			}
		}
	}

	// The answer to a caller who has left.
	r := &rig{t: t, raw: raw, e: e, name: redistest.Name(t)}
	r.Limiter = redissonlimiter.New(e, r.name)
	r.set(atMost(9, time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	c.Around(func(script string) {
		if script == "log_take.lua" {
			cancel()
			<-left
		}
	}, nil)
	_, err := r.Take(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	close(left)
	calls := c.Await("log_undo.lua")
	for _, call := range calls {
		call.Check(t)
	}
	assert.Subset(t, redistest.ScriptNames(calls), names, "all are called")
}

// learnLogScripts tells the recorder of the log's scripts, which the shared
// server may know already.
func learnLogScripts(t *testing.T, r *redistest.ScriptRecorder) (names []string) {
	t.Helper()
	files, err := filepath.Glob("lua/log_*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		r.Learn(logText(t, strings.TrimSuffix(name, ".lua")))
		names = append(names, name)
	}
	return names
}
