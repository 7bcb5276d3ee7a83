package main

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// redis sends a command to s as another program would.
func redis(t *testing.T, s *rueidissontest.Server, words ...string) {
	t.Helper()
	c, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	defer c.Close()
	err = c.Do(t.Context(), c.B().Arbitrary(words...).Build()).Error()
	require.True(t, err == nil || rueidis.IsRedisNil(err), "%v: %v", words, err)
}

func TestInspectFindsTheKindOfALock(t *testing.T) {
	t.Parallel()
	const java, goes = "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:7", "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:4611686018427387905"
	for title, of := range map[string]struct {
		set  []string
		json string
	}{
		"nothing": {nil, `{"name":"x","held":false,"count":0,"remaining_ms":0,"waiting":0}`},
		"a lock": {[]string{"HSET x " + java + " 2"},
			`{"name":"x","kind":"lock","held":true,"owner":"` + java + `","count":2,"remaining_ms":-1,"holders":[{"owner":"` + java + `","count":2,"remaining_ms":-1}],"waiting":0}`},
		"a fenced lock": {[]string{"SET redisson_lock_token:{x} 1790000000000007", "HSET x " + goes + " 1"},
			`{"name":"x","kind":"fenced","held":true,"owner":"` + goes + `","count":1,"remaining_ms":-1,"holders":[{"owner":"` + goes + `","count":1,"remaining_ms":-1}],"fence":1790000000000007,"waiting":0}`},
		"a fenced lock that nobody holds": {[]string{"SET redisson_lock_token:{x} 7"},
			`{"name":"x","kind":"fenced","held":false,"count":0,"remaining_ms":0,"fence":7,"waiting":0}`},
		"a fair lock": {[]string{"RPUSH redisson_lock_queue:{x} " + java + " " + goes},
			`{"name":"x","kind":"fair","held":false,"count":0,"remaining_ms":0,"queue":[{"owner":"` + java + `","client":"java","own":false},{"owner":"` + goes + `","client":"go","own":false}],"waiting":2}`},
		"an election": {[]string{"HSET x " + goes + " 1", "SET redisson_lock_token:{x} 9", "RPUSH redisson_lock_queue:{x} " + java,
			"HSET rueidisson_term:{x} owner " + goes + " token 9 after 7 version 1 value here"},
			`{"name":"x","kind":"election","held":true,"owner":"` + goes + `","count":1,"remaining_ms":-1,"holders":[{"owner":"` + goes + `","count":1,"remaining_ms":-1}],"queue":[{"owner":"` + java + `","client":"java","own":false}],"fence":9,"leader":{"value":"here","fence":9},"waiting":1}`},
		"an election whose leader has not said anything yet": {[]string{"HSET x " + goes + " 1", "HSET rueidisson_term:{x} owner " + java + " token 7 after 0 version 1 value gone"},
			`{"name":"x","kind":"election","held":true,"owner":"` + goes + `","count":1,"remaining_ms":-1,"holders":[{"owner":"` + goes + `","count":1,"remaining_ms":-1}],"waiting":0}`},
		"an election without a leader": {[]string{"HSET rueidisson_term:{x} token 7"},
			`{"name":"x","kind":"election","held":false,"count":0,"remaining_ms":0,"waiting":0}`},
		"a read-write lock": {[]string{"HSET x mode read b 1 a 2"},
			`{"name":"x","kind":"rwlock","mode":"read","held":true,"owner":"a","count":2,"remaining_ms":-1,"holders":[{"owner":"a","count":2,"remaining_ms":-1},{"owner":"b","count":1,"remaining_ms":-1}],"waiting":0}`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := rueidissontest.NewServer(t)
			for _, command := range of.set {
				redis(t, s, strings.Fields(command)...)
			}
			env := []string{envRedis + "=" + s.URL()}
			assert.Equal(t, said{out: of.json + "\n"}, runHere(t, env, "inspect", "x", "--json"))
			assert.Zero(t, runHere(t, env, "inspect", "x").code)
		})
	}
}

func TestInspectShowsAllThereIs(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + s.URL()}
	redis(t, s, "HSET", "x", "mode", "write", "a:write", "1")
	assert.Equal(t, said{out: "name       x\nkind       rwlock\nmode       write\nowner      a:write\ncount      1\nremaining  without end\nwaiting    0\n"},
		runHere(t, env, "inspect", "x"))
	redis(t, s, "SET", "redisson_lock_token:{y}", "7")
	redis(t, s, "RPUSH", "redisson_lock_queue:{y}", "a:1")
	assert.Equal(t, said{out: "name     y\nkind     fair\nowner    nobody\nfence    7\nqueued   a:1 (java)\nwaiting  1\n"}, runHere(t, env, "inspect", "y"))
}

func TestInspectShowsAnElection(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	c := s.NewClient(t)
	el := c.Election("z")
	term, err := el.Campaign(t.Context(), "10.0.0.7:8080")
	require.NoError(t, err)
	candidate, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { // ends with candidate
		defer close(left)
		_, _ = el.Campaign(candidate, "10.0.0.8:8080")
	}()
	var out string
	redistest.Eventually(t, func() bool {
		out = runHere(t, []string{envRedis + "=" + s.URL()}, "inspect", "z").out
		return strings.HasSuffix(out, "waiting    1\n")
	}, time.Minute, 5*time.Millisecond)
	token := strconv.FormatInt(term.Fence().Number(), 10)
	assert.Regexp(t, `^name       z\nkind       election\nleader     10\.0\.0\.7:8080\nterm       `+token+`\nowner      `+c.ID()+`:\d+\ncount      1\n`+
		`remaining  2\d.*s\nfence      `+token+`\nqueued     `+c.ID()+`:\d+ \(go\)\nwaiting    1\n$`, out)
	leave()
	<-left
	require.NoError(t, term.Resign(t.Context()))
}

// A side of a read-write lock is taken by name, and nothing else is.
func TestTheSidesOfAReadWriteLockAreTakenAndForced(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + s.URL()}
	c, err := rueidisson.New(s.ClientOption())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	run := func(args ...string) said { return runHere(t, env, args...) }
	hold, err := c.RWLock("x").Read().Lock(t.Context())
	require.NoError(t, err)
	assert.Zero(t, run("lock", "--read", "x", "--wait", "0", "--", "true").code, "others may read")
	assert.Equal(t, exit.NotAcquired, run("lock", "--write", "x", "--wait", "0", "--", "true").code)
	for _, args := range [][]string{
		{"lock", "--read", "--write", "x", "--", "true"}, {"lock", "--read", "--export", "x", "--", "true"},
		{"force-unlock", "--read", "--write", "x"}, {"force-unlock", "x"},
	} {
		assert.Equal(t, exit.Usage, run(args...).code, "%v", args)
	}
	assert.Equal(t, "x: nobody held it\n", run("force-unlock", "--write", "x").out)
	assert.Equal(t, "x: taken from its holder\n", run("force-unlock", "--read", "x").out)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)

	hold, err = c.RWLock("x").Write().Lock(t.Context())
	require.NoError(t, err)
	assert.Equal(t, exit.NotAcquired, run("lock", "--read", "x", "--wait", "0", "--", "true").code)
	assert.Contains(t, run("inspect", "x").out, "mode       write")
	assert.Equal(t, "x: nobody held it\n", run("force-unlock", "--read", "x").out)
	assert.Equal(t, "x: taken from its holder\n", run("force-unlock", "--write", "x").out)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	assert.Equal(t, "x: nobody held it\n", run("force-unlock", "--write", "x").out)

	plain, err := c.Lock("x").Lock(t.Context())
	require.NoError(t, err)
	for _, side := range []string{"--read", "--write"} {
		refused := run("force-unlock", side, "x")
		assert.NotZero(t, refused.code)
		assert.Contains(t, refused.errors, "another kind")
		assert.NotZero(t, run("lock", side, "x", "--wait", "0", "--", "true").code)
	}
	require.NoError(t, plain.Unlock(t.Context()))
}

// A fair lock is forced as one: who waits for it is told, and stays in order.
func TestAFairLockIsQueuedForShownAndForced(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + s.URL()}
	c, err := rueidisson.New(s.ClientOption())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	hold, err := c.FairLock("x").Lock(t.Context())
	require.NoError(t, err)
	assert.Equal(t, exit.NotAcquired, runHere(t, env, "lock", "--fair", "x", "--wait", "0", "--", "true").code)
	assert.Equal(t, exit.Usage, runHere(t, env, "lock", "--fair", "--export", "x", "--", "true").code)
	ran := make(chan said, 1)
	go func() { ran <- runHere(t, env, "lock", "--fair", "x", "--", "true") }() // ends with the force
	redistest.Eventually(t, func() bool {
		out := runHere(t, env, "inspect", "x").out
		return strings.Contains(out, "kind       fair") && strings.Contains(out, " (go)")
	}, redistest.Soon, 10*time.Millisecond)
	assert.Equal(t, "x: taken from its holder\n", runHere(t, env, "force-unlock", "x").out)
	assert.Zero(t, (<-ran).code)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	assert.Zero(t, runHere(t, env, "lock", "--fair", "x", "--", "true").code)
}
