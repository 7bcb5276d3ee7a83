package ratelimiter_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// checkedCalls is a client that compares each call of a script with its header.
type checkedCalls struct {
	rueidis.Client
	t       testing.TB
	headers map[string]scripts.Header // by SHA1
	names   map[string]string
	before  func(script string)

	mu     sync.Mutex
	called map[string]bool
}

func newChecked(t testing.TB) *checkedCalls {
	t.Helper()
	c := &checkedCalls{
		Client: redistest.Shared(t).Client(t), t: t,
		headers: map[string]scripts.Header{}, names: map[string]string{}, called: map[string]bool{},
		before: func(string) {},
	}
	files, err := filepath.Glob("lua/log_*.lua")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		text := logText(t, name)
		sum := sha1.Sum([]byte(text))
		sha := hex.EncodeToString(sum[:])
		c.headers[sha], err = scripts.ParseHeader(text)
		require.NoError(t, err)
		c.names[sha] = name
	}
	return c
}

func (c *checkedCalls) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if args := cmd.Commands(); args[0] == "EVALSHA" {
		if header, known := c.headers[args[1]]; known {
			c.check(c.names[args[1]], header, args[2:])
		}
	}
	return c.Client.Do(ctx, cmd)
}

func (c *checkedCalls) check(name string, header scripts.Header, rest []string) {
	n, err := strconv.Atoi(rest[0])
	assert.NoError(c.t, err)
	assert.NoError(c.t, header.Check(n, len(rest)-1-n), name)
	for _, key := range rest[2 : 1+n] {
		assert.Equal(c.t, redistest.Slot(rest[1]), redistest.Slot(key), "%s: %s", name, key)
	}
	c.mu.Lock()
	c.called[name] = true
	c.mu.Unlock()
	c.before(name)
}

func TestRedissonCallsPassWhatTheHeadersName(t *testing.T) {
	t.Parallel()
	c := newChecked(t)
	e := engineOn(t, c)
	for _, form := range []string{"%", "{%}:x", "a{%}c"} {
		l := ratelimiter.NewRedisson(e, strings.ReplaceAll(form, "%", redistest.Name(t)))
		require.NoError(t, l.SetRate(t.Context(), atMost(9, time.Hour)))
		for op, err := range everyRedisson(t.Context(), l) {
			if op != "delete" && err != nil { // it comes at any time
				require.ErrorIs(t, err, ratelimiter.ErrNoRate, op)
			}
		}
	}

	// The answer to a caller who has left.
	r := &rig{t: t, raw: c.Client, e: e, name: redistest.Name(t)}
	r.Redisson = ratelimiter.NewRedisson(e, r.name)
	r.set(atMost(9, time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	left, undone := make(chan struct{}), make(chan struct{})
	c.before = func(script string) {
		switch script {
		case "log_take":
			cancel()
			<-left
		case "log_undo":
			close(undone)
		}
	}
	_, err := r.Take(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	close(left)
	<-undone
	for _, name := range c.names {
		assert.True(t, c.called[name], "%s is not called", name)
	}
}
