package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func openAt(t *testing.T, url string) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	return c
}

func TestLimitTakeWaitsForWhatComesInTime(t *testing.T) {
	t.Parallel()
	url, name := "redis://"+redistest.Shared(t).Addr(), redistest.Name(t)
	env := []string{envRedis + "=" + url}
	require.Zero(t, runHere(t, env, "limit", "set", name, "--rate", "1/300ms").code)
	require.Zero(t, runHere(t, env, "limit", "take", name).code)
	began := time.Now()
	got := runHere(t, env, "limit", "take", name, "--wait", "1m", "--json")
	require.Zero(t, got.code, got.errors)
	var told takenJSON
	require.NoError(t, json.Unmarshal([]byte(got.out), &told))
	assert.True(t, told.Allowed)
	assert.Zero(t, told.RetryAfterMS)
	assert.LessOrEqual(t, told.WaitedMS, time.Since(began).Milliseconds())
	assert.Equal(t, said{out: "granted, 0 of 1 left\n"}, runHere(t, env, "limit", "take", name, "--wait", "1m"))
}

func TestAWaitOfLimitTakeStandsBehindThoseBeforeIt(t *testing.T) {
	t.Parallel()
	url, name := "redis://"+redistest.Shared(t).Addr(), redistest.Name(t)
	env := []string{envRedis + "=" + url}
	l := openAt(t, url).RateLimiter(name)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.Every(1, time.Hour)))
	_, err := l.Reserve(t.Context())
	require.NoError(t, err)
	_, err = l.Reserve(t.Context())
	require.NoError(t, err)
	got := runHere(t, env, "limit", "take", name, "--wait", "90m", "--json")
	assert.Equal(t, exit.Refused, got.code, got.errors)
	var told takenJSON
	require.NoError(t, json.Unmarshal([]byte(got.out), &told))
	assert.Greater(t, told.RetryAfterMS, (90 * time.Minute).Milliseconds())
	assert.Equal(t, exit.NoRate, runHere(t, env, "limit", "take", name+"-other", "--wait", "1s").code)
}

// A pause that is longer than the wait is a refusal, also if it was not known at
// first when the pause ends.
func TestAPauseOutlastsAWaitOfLimitTake(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	l := s.NewClient(t).RateLimiter("x")
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(5)))
	require.NoError(t, l.Pause(t.Context()))
	got := runHere(t, []string{envRedis + "=" + s.URL()}, "limit", "take", "x", "--wait", "1100ms")
	assert.Equal(t, said{exit.Refused, "refused while paused, retry after 1s\n", ""}, got)
}
