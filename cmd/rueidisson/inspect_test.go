package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/stream"
	"github.com/rueidisson/rueidisson/topic"
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
		shows(t, name, "name   "+name+"\nkind   semaphore\ncount  3\n",
			`"kind":"semaphore","held":false,"count":3,"remaining_ms":-1`)
		require.NoError(t, client.Do(ctx, client.B().Set().Key(name).Value("3").Build()).Error())
		require.NoError(t, client.Do(ctx, client.B().Del().Key(inspect.Prefixed("rueidisson_set", name)).Build()).Error())
		shows(t, name, "name   "+name+"\nkind   semaphore or latch\ncount  3\n", // as Java sets one
			`"kind":"semaphore or latch","held":false,"count":3,"remaining_ms":-1`)
	})
	t.Run("latch", func(t *testing.T) {
		name := named(t)
		_, err := c.Latch(name).TrySetCount(ctx, 3)
		require.NoError(t, err)
		assert.Contains(t, runHere(t, env, "inspect", name).out, "kind   latch\n")
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
			return out != "name     "+name+"\nkind     none\nwaiting  0\n"
		}, time.Minute, time.Millisecond)
		assert.Regexp(t, "^name        "+name+`\nkind        barrier\nparties     3\nwaiting     1\ngeneration  [0-9]{16}\nremaining   [0-9.ms]+\n$`, out)
		var got barrierFoundJSON
		require.NoError(t, json.Unmarshal([]byte(runHere(t, env, "inspect", name, "--json").out), &got))
		assert.NotZero(t, got.Generation)
		assert.Equal(t, barrierFoundJSON{name, "barrier", false, 3, 1, 0, got.Generation, got.RemainingMS}, got)
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
		l, s := multimap.NewList[string, int](c, name), multimap.NewSet[string, int](c, name+"-set")
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
			values := inspect.Companion(name, ids["other"])
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
		assert.Equal(t, said{out: fmt.Sprintf("name  s\nkind  unknown\ntype  string\nsize  %d bytes\n", len(text))}, runHere(t, env, "inspect", "s"))
	}
	require.NoError(t, client.Do(t.Context(), client.B().Del().Key("s").Build()).Error())
	require.NoError(t, client.Do(t.Context(), client.B().Sadd().Key("members").Member("a", "b").Build()).Error())
	require.NoError(t, client.Do(t.Context(), client.B().Pexpire().Key("members").Milliseconds(3_600_000).Build()).Error())
	assert.Regexp(t, `^name       members\nkind       unknown\ntype       set\nsize       2 members\nremaining  59m59\.[0-9]+s\n$`, runHere(t, env, "inspect", "members").out)
	assert.Regexp(t, `^{"name":"members","kind":"unknown","held":false,"type":"set","size":2,"unit":"members","remaining_ms":359[0-9]{4}}\n$`,
		runHere(t, env, "inspect", "members", "--json").out)
}

// TestInspectKnowsEveryKind: by what each object leaves in Redis.
func TestInspectKnowsEveryKind(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			inspectsEveryKind(t, redistest.Start(t, redistest.Version(version)), version != "7.0")
		})
	}
}

func inspectsEveryKind(t *testing.T, server *redistest.Server, hasTTLMaps bool) {
	client, url := server.Client(t), "redis://"+server.Addr()
	c, env, ctx := openAt(t, url), []string{envRedis + "=" + url}, t.Context()
	must := func(_ any, err error) { t.Helper(); require.NoError(t, err) }
	due := time.Now().Add(time.Hour)

	group, err := c.LockGroup("lock group").Of("a", "b").Lock(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, group.Unlock(context.Background())) }()
	leave, left := make(chan struct{}), make(chan error, 2)
	inside := make(chan error, 2)
	for range 2 {
		go func() { // ends when the test has looked
			m, err := c.DoubleBarrier("double barrier", 2).Enter(ctx)
			inside <- err
			if err == nil {
				<-leave
				err = m.Leave(context.Background())
			}
			left <- err
		}()
	}
	require.NoError(t, errors.Join(<-inside, <-inside))
	defer func() {
		close(leave)
		require.NoError(t, errors.Join(<-left, <-left))
	}()
	must(nil, c.RateLimiter("limit").SetRate(ctx, ratelimiter.PerMinute(5)))
	if hasTTLMaps {
		must(nil, rmap.NewTTLMap[string, string](c, "ttl map").Put(ctx, "k", "v", rmap.WithTTL(time.Hour)))
	}
	must(nil, rmap.New[string, string](c, "map").Put(ctx, "k", "v"))
	must(client.Do(ctx, client.B().Xadd().Key("{map}:rueidisson_writes").Id("*").FieldValue().FieldValue("k", "k").Build()).ToString())
	must(queue.New[string](c, "queue").Offer(ctx, "a"))
	bounded := queue.NewBounded[string](c, "bounded queue")
	must(bounded.TrySetCapacity(ctx, 5))
	must(queue.NewBounded[string](c, "empty bounded queue").TrySetCapacity(ctx, 5))
	must(bounded.Offer(ctx, "a"))
	ring := queue.NewRing[string](c, "ring buffer")
	must(ring.TrySetCapacity(ctx, 5))
	must(ring.Offer(ctx, "a"))
	must(queue.NewPriority[string](c, "priority queue").Offer(ctx, "a", 1))
	must(queue.NewDelayed[string](c, "delayed queue").Offer(ctx, "a", time.Until(due)))
	must(queue.NewDelayed[string](c, "redisson's", queue.WithRedissonFormat()).Offer(ctx, "a", time.Until(due)))
	must(reliable.New[string](c, "reliable queue").Add(ctx, "a"))
	entries := stream.New[string, string](c, "stream")
	must(entries.Add(ctx, map[string]string{"k": "v"}))
	must(entries.Group("g").Create(ctx, stream.FromStart))
	subscribed, stop := context.WithCancel(ctx)
	listened := make(chan struct{})
	go func() { // ends with subscribed
		defer close(listened)
		for range topic.NewReliable[string](c, "reliable topic", topic.WithMaxLength(10)).Durable("billing").Subscribe(subscribed) {
		}
	}()
	defer func() { stop(); <-listened }()
	redistest.Eventually(t, func() bool {
		return client.Do(ctx, client.B().XinfoGroups().Key("reliable topic").Build()).Error() == nil
	}, patience, time.Millisecond)
	fenced := c.FencedLock("fenced")
	hold, err := fenced.Lock(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, hold.Unlock(context.Background())) }()
	token, ok := fence.FromContext(hold.Context(ctx))
	require.True(t, ok)
	must(nil, c.FenceGuard("guarded", "fenced").Set(ctx, token, "v"))

	for name, want := range map[string]struct{ text, json string }{
		"lock group":          {"kind lock group|values 2|owner " + c.ID() + ":", `"kind":"lock group","held":true,"values":2,"owners":["` + c.ID()},
		"double barrier":      {"kind double barrier|parties 2|waiting 0|inside 2|", `"kind":"double barrier","held":false,"parties":2,"waiting":0,"inside":2,`},
		"limit":               {"kind rate limiter|rate 5/m burst 5|see rueidisson limit show limit|", `"kind":"rate limiter","held":false,"rate":{"text":"5/m burst 5","n":5,`},
		"ttl map":             {"kind ttl map|entries 1|", `"kind":"ttl map","held":false,"entries":1,"remaining_ms":-1}`},
		"map":                 {"kind map|entries 1|unwritten 1|", `"kind":"map","held":false,"entries":1,"unwritten":1,"remaining_ms":-1}`},
		"queue":               {"kind queue|entries 1|", `"kind":"queue","held":false,"entries":1,"remaining_ms":-1}`},
		"bounded queue":       {"kind bounded queue|entries 1|capacity 5|", `"kind":"bounded queue","held":false,"entries":1,"capacity":5,"remaining_ms":-1}`},
		"empty bounded queue": {"kind bounded queue|entries 0|capacity 5|", `"kind":"bounded queue","held":false,"entries":0,"capacity":5,`},
		"ring buffer":         {"kind ring buffer|entries 1|capacity 5|", `"kind":"ring buffer","held":false,"entries":1,"capacity":5,"remaining_ms":-1}`},
		"priority queue":      {"kind priority queue|entries 1|", `"kind":"priority queue","held":false,"entries":1,"remaining_ms":-1}`},
		"delayed queue":       {"kind delayed queue|entries 0|delayed 1|next due 20", `"kind":"delayed queue","held":false,"entries":0,"delayed":1,"due_ms":` + fmt.Sprint(due.UnixMilli())[:8]},
		"redisson's":          {"kind delayed queue|entries 0|delayed 1|next due 20", `"kind":"delayed queue","held":false,"entries":0,"delayed":1,"due_ms":` + fmt.Sprint(due.UnixMilli())[:8]},
		"reliable queue":      {"kind reliable queue|ready 1|due 0|behind 0|leased 0|dead 0|see rueidisson job stats reliable queue|", `"kind":"reliable queue","held":false,"ready":1,"due":0,"behind":0,"leased":0,"dead":0,"remaining_ms":-1}`},
		"stream":              {"kind stream|entries 1|group g: consumers 0, pending 0, lag 1, dead 0|", `"kind":"stream","held":false,"entries":1,"groups":[{"group":"g","consumers":0,"pending":0,"lag":1,"dead":0}],"remaining_ms":-1}`},
		"reliable topic":      {"kind reliable topic|entries 0|group billing: consumers ", `"kind":"reliable topic","held":false,"entries":0,"groups":[{"group":"billing",`},
		"fenced":              {"kind fenced|owner " + c.ID() + ":", `"kind":"fenced","held":true,`},
		"guarded":             {fmt.Sprintf("kind unknown|type string|size 1 bytes|guard fenced, token %d|", token.Number()), fmt.Sprintf(`"guards":{"fenced":%d}`, token.Number())},
		"nothing":             {"kind none|waiting 0|", `{"name":"nothing","held":false,`},
	} {
		if name == "ttl map" && !hasTTLMaps {
			continue
		}
		t.Run(name, func(t *testing.T) {
			got := runHere(t, env, "inspect", name)
			assert.Zero(t, got.code, got.errors)
			lines := strings.Split(got.out, "\n")
			for i, line := range lines {
				label, value, _ := strings.Cut(line, "  ")
				lines[i] = strings.TrimSpace(label) + " " + strings.TrimSpace(value)
			}
			text := strings.TrimSuffix(strings.Join(lines, "|"), " ")
			assert.True(t, strings.HasPrefix(text, "name "+name+"|"+want.text), text)
			assert.NotContains(t, text, "owner nobody")
			got = runHere(t, env, "inspect", name, "--json")
			assert.Contains(t, got.out, want.json)
			assert.True(t, json.Valid([]byte(got.out)))
		})
	}
}
