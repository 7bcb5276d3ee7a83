package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// TestInfoOfNothing: info of all kinds ends with 1 if there is no such object.
func TestInfoOfNothing(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	for _, noun := range []string{"sem", "permit", "latch", "barrier", "map", "multimap", "queue", "stream", "election"} {
		check(t, env, []call{
			{noun + " info nothing", "", exit.Refused},
			{noun + " info nothing --json", `{"name":"nothing","found":false}` + "\n", exit.Refused},
		})
	}
	// What is there, and has nothing left, is there.
	check(t, env, []call{
		{"sem set s 1", "1\n", 0},
		{"sem try s", "s: took 1\n", 0},
		{"sem info s", "0\n", 0},
		{"sem info s --json", `{"name":"s","available":0}` + "\n", 0},
		{"permit set p 1", "1\n", 0},
		{"latch set l 1", "1\n", 0},
		{"latch info l", "1\n", 0},
		{"latch down l", "0\n", 0},
		{"latch info l", "", exit.Refused},
	})
	permit, err := server.NewClient(t).PermitSemaphore("p").Acquire(t.Context())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(runHere(t, env, "permit", "info", "p").out, "0\n"))
	require.NoError(t, permit.Release(t.Context()))
}

// TestNumbersOfOtherKinds: a semaphore or a latch that this library has written is refused by the commands of the other.
func TestNumbersOfOtherKinds(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	check(t, env, []call{{"sem set s 3", "3\n", 0}, {"latch set l 3", "3\n", 0}})
	for _, args := range []string{
		"latch down s", "latch set s 2", "latch await s --wait 0", "latch info s", "latch rm s",
		"sem set l 5", "sem try l", "sem acquire l --wait 0", "sem release l", "sem info l", "sem rm l",
		"permit run s -- true", "permit info s", "permit set s 1", "permit run l --wait 0 -- true", "permit set l 5", "permit info l", "permit rm l",
	} {
		got := runHere(t, env, strings.Fields(args)...)
		require.Equal(t, exit.Unavailable, got.code, args)
		require.Contains(t, got.errors, "it is a ", args)
		require.Empty(t, got.out, args)
	}
	check(t, env, []call{{"sem info s", "3\n", 0}, {"latch info l", "3\n", 0}, {"sem rm s", "s: removed\n", 0}, {"latch set s 2", "2\n", 0}, {"latch down s", "1\n", 0}})
	redis(t, server, "SET", "java", "2") // nothing tells what it is
	check(t, env, []call{{"latch down java", "1\n", 0}, {"sem release java", "java: released 1\n", 0}})
}

// TestNumbersOfALimiter: the number in which Redisson's limiter counts is no semaphore and no latch.
func TestNumbersOfALimiter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := []string{envRedis + "=redis://" + server.Addr()}
	c, err := rueidisson.Open("redis://" + server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(t.Context())) })
	for _, name := range []string{"api", "app:{api}", "{tagged}"} {
		l := c.RedissonRateLimiter(name)
		require.NoError(t, l.SetRate(t.Context(), redissonlimiter.Rate{Permits: 5, Interval: time.Hour}))
		_, err := l.AllowN(t.Context(), 1)
		require.NoError(t, err)
	}
	client := server.Client(t)
	require.NoError(t, client.Do(t.Context(), client.B().Set().Key("{api}:value:6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11").Value("4").Build()).Error())
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*:value*").Build()).AsStrSlice()
	require.NoError(t, err)
	require.Len(t, keys, 4, "Redisson's limiter has such keys")
	check(t, env, []call{
		{"sem ls", "", 0}, {"latch ls", "", 0}, {"permit ls", "", 0},
		{"sem set {t}:value 3", "3\n", 0},
		{"sem ls", "{t}:value\n", 0},
	})
}

// TestAcquireTellsThatNothingIsSet: a wait without an end for permits that nobody has set is told, and goes on.
func TestAcquireTellsThatNothingIsSet(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=" + rueidissontest.NewServer(t).URL()}
	for args, want := range map[string]string{
		"sem acquire s":               "rueidisson: no permits are set under \"s\" yet: waiting for \"rueidisson sem set\"\n",
		"sem acquire j --json":        `{"message":"no permits are set under \"j\" yet: waiting for \"rueidisson sem set\""}` + "\n",
		"permit run p -- true":        "rueidisson: no permits are set under \"p\" yet: waiting for \"rueidisson permit set\"\n",
		"permit run q --json -- true": `{"message":"no permits are set under \"q\" yet: waiting for \"rueidisson permit set\""}` + "\n",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(args)
			var out, errors heard
			done := make(chan int, 1)
			go func() { // ends when permits are set
				done <- cli.Run(context.WithoutCancel(t.Context()), words, strings.NewReader(""), &out, &errors, env)
			}()
			redistest.Eventually(t, func() bool { return errors.String() == want }, redistest.Soon, time.Millisecond)
			redistest.Waits(t, done)
			require.Zero(t, runHere(t, env, words[0], "set", words[2], "1").code)
			require.Zero(t, redistest.Done(t, done), errors.String())
		})
	}
	check(t, env, []call{
		{"sem acquire none --wait 0", "", exit.NoRate}, {"sem set some 1", "1\n", 0}, {"sem acquire some", "some: took 1\n", 0},
	})
	require.Empty(t, runHere(t, env, "sem", "acquire", "set", "--wait", "1ms").out)
	require.NotContains(t, runHere(t, env, "sem", "acquire", "none", "--wait", "1ms").errors, "waiting for")
}
