package main

import (
	"github.com/rueidisson/rueidisson/rmap"

	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestInspectWhatIsNoLock: by the keys that the library itself, or Java, leaves.
func TestInspectWhatIsNoLock(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, url := server.Client(t), "redis://"+server.Addr()
	c, env := openAt(t, url), []string{envRedis + "=" + url}
	ctx := context.Background()
	named := func(t *testing.T) string {
		name := redistest.Name(t)
		t.Cleanup(func() { client.Do(ctx, client.B().Del().Key(name).Build()) })
		return name
	}
	shows := func(t *testing.T, name, text, fields string) {
		t.Helper()
		assert.Equal(t, said{out: text}, runHere(t, env, "inspect", name))
		assert.Equal(t, said{out: `{"name":"` + name + `",` + fields + "}\n"}, runHere(t, env, "inspect", name, "--json"))
	}
	t.Run("number", func(t *testing.T) {
		name := named(t)
		require.NoError(t, c.Semaphore(name).SetPermits(ctx, 3))
		shows(t, name, "name   "+name+"\nkind   semaphore or latch\ncount  3\n",
			`"kind":"semaphore or latch","held":false,"count":3,"remaining_ms":-1`)
	})
	t.Run("latch", func(t *testing.T) {
		name := named(t)
		_, err := c.Latch(name).TrySetCount(ctx, 3)
		require.NoError(t, err)
		assert.Contains(t, runHere(t, env, "inspect", name).out, "kind   semaphore or latch\n")
		_, err = c.Latch(name).CountDownOnce(ctx, "p")
		require.NoError(t, err)
		shows(t, name, "name   "+name+"\nkind   latch\ncount  2\n", `"kind":"latch","held":false,"count":2,"remaining_ms":-1`)
		_, err = c.Latch(name).Delete(ctx)
		require.NoError(t, err)
		_, err = c.Latch(name).TrySetCount(ctx, 1)
		require.NoError(t, err)
		assert.Contains(t, runHere(t, env, "inspect", name).out, "kind   latch\ncount  1\n", "it has opened before")
	})
	t.Run("permits", func(t *testing.T) {
		name := named(t)
		s := c.PermitSemaphore(name)
		require.NoError(t, s.SetPermits(ctx, 3))
		p, err := s.Acquire(ctx)
		require.NoError(t, err)
		dead := client.B().Zadd().Key("{"+name+"}:timeout").ScoreMember().ScoreMember(1, "ended").Build()
		require.NoError(t, client.Do(ctx, dead).Error())
		shows(t, name, "name       "+name+"\nkind       permit semaphore\navailable  3\nheld       1\n",
			`"kind":"permit semaphore","held":true,"available":3,"permits":1,"remaining_ms":-1`)
		require.NoError(t, p.Release(ctx))
		_, err = s.Delete(ctx)
		require.NoError(t, err)
	})
	t.Run("barrier", func(t *testing.T) {
		name := named(t)
		waiting, leave := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { // ends with leave
			_, err := c.Barrier(name, 3).Await(waiting)
			done <- err
		}()
		var out string
		redistest.Eventually(t, func() bool {
			out = runHere(t, env, "inspect", name).out
			return out != "name     "+name+"\nowner    nobody\nwaiting  0\n"
		}, time.Minute, time.Millisecond)
		assert.Regexp(t, "^name        "+name+`\nkind        barrier\nparties     3\nwaiting     1\ngeneration  [0-9]{16}\nremaining   [0-9.ms]+\n$`, out)
		var got barrierFound
		require.NoError(t, json.Unmarshal([]byte(runHere(t, env, "inspect", name, "--json").out), &got))
		assert.NotZero(t, got.Generation)
		assert.Equal(t, barrierFound{name, "barrier", false, 3, 1, got.Generation, got.RemainingMS}, got)
		leave()
		require.Error(t, <-done)
	})
	t.Run("sharded", func(t *testing.T) {
		name := named(t)
		m := rmap.NewSharded[string, int](c, name, 5)
		require.NoError(t, m.PutMany(ctx, map[string]int{"a": 1, "b": 2, "c": 3}))
		shows(t, name, "name     "+name+"\nkind     sharded map\nshards   5\nentries  3\n",
			`"kind":"sharded map","held":false,"shards":5,"entries":3,"remaining_ms":-1`)
		_, err := m.Expire(ctx, time.Hour)
		require.NoError(t, err)
		assert.Contains(t, runHere(t, env, "inspect", name).out, "remaining  59m59")
		_, err = m.Delete(ctx)
		require.NoError(t, err)
	})
	t.Run("multimaps", func(t *testing.T) {
		name := named(t)
		l, s := rmap.NewListMultimap[string, int](c, name), rmap.NewSetMultimap[string, int](c, name+"-set")
		require.NoError(t, l.PutAll(ctx, "k", 1, 1, 2))
		require.NoError(t, l.Put(ctx, "l", 1))
		shows(t, name, "name    "+name+"\nkind    list multimap\nkeys    2\nvalues  4\n",
			`"kind":"list multimap","held":false,"keys":2,"values":4,"ending":0,"remaining_ms":-1`)
		_, err := s.PutAll(ctx, "k", 1, 1, 2)
		require.NoError(t, err)
		_, err = s.Expire(ctx, "k", time.Hour)
		require.NoError(t, err)
		shows(t, s.Name(), "name    "+s.Name()+"\nkind    set multimap\nkeys    1\nvalues  2\nending  1\n",
			`"kind":"set multimap","held":false,"keys":1,"values":2,"ending":1,"remaining_ms":-1`)
		_, err = l.ExpireAll(ctx, time.Hour)
		require.NoError(t, err)
		assert.Contains(t, runHere(t, env, "inspect", name).out, "remaining  59m59")
		for _, other := range []string{"SET", "SADD"} {
			require.NoError(t, l.Put(ctx, "other", 1))
			ids, err := client.Do(ctx, client.B().Hgetall().Key(name).Build()).AsStrMap()
			require.NoError(t, err)
			values := companion(name, ids["other"])
			require.NoError(t, client.Do(ctx, client.B().Del().Key(values).Build()).Error())
			require.NoError(t, client.Do(ctx, client.B().Arbitrary(other).Keys(values).Args("x").Build()).Error())
			assert.Contains(t, runHere(t, env, "inspect", name).out, "kind       list multimap\nkeys       3\nvalues     4\n", other)
			require.NoError(t, client.Do(ctx, client.B().Del().Key(values).Build()).Error())
			require.NoError(t, client.Do(ctx, client.B().Hdel().Key(name).Field("other").Build()).Error())
		}
		require.NoError(t, l.Clear(ctx))
		require.NoError(t, s.Clear(ctx))
	})
	t.Run("limiter", func(t *testing.T) {
		name := named(t)
		l := c.RedissonRateLimiter(name)
		_, err := l.TrySetRate(ctx, perMinute)
		require.NoError(t, err)
		shows(t, name, "name  "+name+"\nkind  redisson rate limiter\nrate  5 in 1m0s\nsee   rueidisson limit peek --redisson "+name+"\n",
			`"kind":"redisson rate limiter","held":false,"rate":5,"interval_ms":60000,"remaining_ms":-1`)
	})
}

// TestInspectSeesABarrierThatComesUnderItsLook: the hash of a barrier whose first
// party arrives between the commands of inspect is never taken for a lock's.
func TestInspectSeesABarrierThatComesUnderItsLook(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, url := server.Client(t), "redis://"+server.Addr()
	env := []string{envRedis + "=" + url}
	for i := range 60 {
		name := redistest.Name(t)
		due := time.NewTimer(time.Duration(i%20) * time.Millisecond / 2)
		done := make(chan error, 1)
		go func() { // ends with the timer
			<-due.C
			done <- client.Do(t.Context(), client.B().Hset().Key(name).FieldValue().FieldValue("parties", "3").FieldValue("gen", "7").Build()).Error()
		}()
		assert.NotContains(t, runHere(t, env, "inspect", name).out, "lock")
		require.NoError(t, <-done)
		require.NoError(t, client.Do(t.Context(), client.B().Del().Key(name).Build()).Error())
	}
}

// TestInspectTakesNothingForWhatItIsNot: maps whose entries have the names of fields
// of others, and strings that are no numbers of ours.
func TestInspectTakesNothingForWhatItIsNot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, env := server.Client(t), []string{envRedis + "=redis://" + server.Addr()}
	for _, fields := range [][]string{
		{"parties", "3"}, {"gen", "3"}, {"parties", "3", "gen", "x"}, {"parties", "3", "gen", "3", "more", "3"},
		{"rate", "1", "interval", "1"}, {"rate", "1", "interval", "1", "type", "x"}, {"rate", "1", "interval", "1", "type", "0", "more", "1"},
		{"keepAliveTime", "1"}, {"abc", "BhA5LsZVetaLy1jDRVlHJg", "abd", "BhA5LsZVetaLy1jDRVlHJg"},
	} {
		require.NoError(t, client.Do(t.Context(), client.B().Arbitrary("HSET").Keys("m").Args(fields...).Build()).Error())
		assert.Contains(t, runHere(t, env, "inspect", "m").out, "kind     map\n", fields)
		require.NoError(t, client.Do(t.Context(), client.B().Del().Key("m").Build()).Error())
	}
	for _, text := range []string{"", "v", "007", "-0", "rueidisson:sharded 1 0", "rueidisson:sharded 2 4", "+1", "1.5", " 1", "92233720368547758080"} {
		require.NoError(t, client.Do(t.Context(), client.B().Set().Key("s").Value(text).Build()).Error())
		got := runHere(t, env, "inspect", "s")
		assert.Equal(t, exitUnavailable, got.code, text)
		assert.Contains(t, got.errors, "WRONGTYPE", text)
	}
	require.NoError(t, client.Do(t.Context(), client.B().Del().Key("s").Build()).Error())
	require.NoError(t, client.Do(t.Context(), client.B().Lpush().Key("l").Element("1").Build()).Error())
	assert.Contains(t, runHere(t, env, "inspect", "l").errors, "WRONGTYPE")
	require.NoError(t, client.Do(t.Context(), client.B().Del().Key("l").Build()).Error())
}
