package counter

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// TestALostReplyIsToldOrRepeated: of each operation the reply is lost once.
func TestALostReplyIsToldOrRepeated(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	direct := engineOn(t, raw)
	for what, op := range operations {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			e := engineOn(t, client)
			name := named(t, raw)
			other := name + "-other" // so that the server knows the script
			t.Cleanup(func() {
				raw.Do(context.Background(), raw.B().Del().Key(other, "{"+other+"}:allocation", "{"+name+"}:allocation").Build())
			})
			require.NoError(t, op.do(t.Context(), direct, other))
			lost := proxy.DropReply(redistest.Arg(name), 1)
			err := op.do(t.Context(), e, name)
			require.Equal(t, 1, lost.Dropped(), "%v", err)
			if op.reads || op.grows || op.counts {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrOutcomeUnknown)
				require.ErrorContains(t, err, `"`+name+`"`)
			}
			if what == "counter add under a slot" || what == "adder" || what == "counter add" {
				require.Equal(t, "2", textOf(t, raw, name), "once")
			}
		})
	}
}

// hasty has refused requests given up soon.
func hasty(c *core.Config) { c.WatchdogTimeout = redistest.Scaled(900 * time.Millisecond) }

// TestARefusalIsTold, changes nothing, and is over when the server takes writes again.
func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	refusals := map[string]struct{ refuse, accept string }{
		"OOM":        {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"NOREPLICAS": {"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
		"READONLY":   {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
		"NOPERM":     {"ACL SETUSER default -@all +@connection +config +acl +replicaof", "ACL SETUSER default +@all"},
		"MISCONF":    {"", ""},
	}
	for code, how := range refusals {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client, proxy := through(t, server)
			raw := server.Client(t)
			e := engineOn(t, client, hasty)
			for _, op := range operations {
				require.NoError(t, op.do(t.Context(), e, "warm:"+redistest.Name(t)))
			}
			say := func(command string) {
				require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary(strings.Fields(command)...).Build()).Error())
			}
			var rule *redistest.Rule
			if code == "MISCONF" {
				rule = proxy.Answer(redistest.Command("EVALSHA", "EVAL", "INCRBY", "INCRBYFLOAT", "SET", "PFADD", "PFMERGE", "UNLINK"),
					"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.")
			} else {
				say(how.refuse)
			}
			t.Run("refused", func(t *testing.T) {
				for what, op := range operations {
					frees := code == "OOM" && what == "counter delete"
					// On a name without a counter these change nothing, so that their scripts write nothing.
					idle := code != "NOPERM" && code != "MISCONF" && strings.Contains("counter compare, swap; float compare, swap; counter compare, clear; counter take; counter lower", what)
					quiet := op.reads && code != "NOPERM" || frees || idle
					t.Run(what, func(t *testing.T) {
						t.Parallel()
						err := op.do(t.Context(), e, redistest.Name(t))
						if quiet {
							require.NoError(t, err)
							return
						}
						require.ErrorContains(t, err, code)
						require.NotErrorIs(t, err, ErrOutcomeUnknown)
					})
				}
			})
			if rule != nil {
				rule.Cancel()
			} else {
				say(how.accept)
			}
			all, err := raw.Do(t.Context(), raw.B().Keys().Pattern("*-refused-*").Build()).AsStrSlice()
			require.NoError(t, err)
			all = slices.DeleteFunc(all, func(key string) bool { return strings.Contains(key, "-refused-adder") }) // whose sum stays, and is sent now
			require.Empty(t, all, "nothing was written")
			redistest.Eventually(t, func() bool { return last(New(e, "after").Add(t.Context(), 1)) == nil }, soon, 10*time.Millisecond)
		})
	}
}

// TestASlotThatMoves: operations go on, and those on two keys that are apart are refused for the moment.
func TestASlotThatMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("the suite", func(t *testing.T) {
		counterOperations(t, New(engineOn(t, raw), redistest.Name(t)))
		counterOperations(t, New(engineOn(t, raw), redistest.Name(t), WithRequestIDs(), WithTTL(time.Hour)))
		require.ErrorIs(t, last(New(engineOn(t, raw), "{}a").Add(t.Context(), 1)), ErrInvalidArgument)
		a, b := NewDistinct[string](engineOn(t, raw), "a:{1}"), NewDistinct[string](engineOn(t, raw), "b:{1}")
		require.NoError(t, a.Add(t.Context(), "x", "y"))
		require.NoError(t, b.Add(t.Context(), "y", "z"))
		is(t, int64(3))(a.CountWith(t.Context(), "b:{1}"))
		require.ErrorIs(t, a.Merge(t.Context(), "c:{2}"), ErrInvalidArgument)
		require.NoError(t, a.Merge(t.Context(), "b:{1}"))
		is(t, int64(3))(a.Count(t.Context()))
	})
	e := engineOn(t, raw, hasty)
	c, counted, ids := New(e, "{m}c"), New(e, "{m}s", WithRequestIDs()), NewIDs(e, "{m}i")
	ctx := t.Context()
	is(t, int64(1))(c.Add(ctx, 1))
	is(t, int64(1))(counted.Add(ctx, 1))
	is(t, true)(ids.Init(ctx, 1, 1))
	is(t, int64(1))(ids.Next(ctx))
	m := cluster.StartMigration(t, "{m}c")
	is(t, int64(2))(c.Add(ctx, 1))
	is(t, true)(c.Raise(ctx, 3))
	m.Move(t, "{m}c", "{m}s", "{m}i")
	is(t, int64(4))(c.Add(ctx, 1))
	is(t, true)(c.Raise(ctx, 5))
	for what, err := range map[string]error{"slot": last(counted.Add(ctx, 1)), "ids": nextUntil(ctx, ids)} {
		require.ErrorIs(t, err, core.ErrSlotMoving, what)
	}
	m.Finish(t)
	is(t, int64(6))(c.Add(ctx, 1))
	redistest.Eventually(t, func() bool { return last(counted.Add(ctx, 0)) == nil }, soon, 10*time.Millisecond)
	is(t, int64(2))(counted.Add(ctx, 1))
	redistest.Eventually(t, func() bool { return last(ids.Next(ctx)) == nil }, soon, 10*time.Millisecond)
	redistest.Eventually(t, func() bool { return !e.CleaningUp() }, soon, time.Millisecond)
}

// nextUntil takes ids until that fails, or until there were many.
func nextUntil(ctx context.Context, g *IDs) error {
	for range 1000 {
		if _, err := g.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// TestALateCopyAddsNothing: at once, after a later request, after one that was refused, and after the request was ended.
func TestALateCopyAddsNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		recorder := redistest.RecordScripts(t, raw)
		recorder.Learn(slotAddScript.Body())
		e := engineOn(t, recorder)
		c, ctx := New(e, named(t, raw), WithRequestIDs()), t.Context()
		body, err := scripts.Read(lua, "lua/slot_add.lua")
		require.NoError(t, err)
		arrive := func(call redistest.ScriptCall) rueidis.RedisResult {
			return raw.Do(ctx, raw.B().Eval().Script(body).Numkeys(2).Key(call.Keys...).Arg(call.Args...).Build())
		}
		lastCall := func() redistest.ScriptCall {
			calls := recorder.Take()
			return calls[len(calls)-1]
		}
		recorder.Take()
		is(t, int64(5))(c.Add(ctx, 5))
		call := lastCall()
		call.Check(t)
		is(t, "5")(arrive(call).ToString())
		is(t, int64(7))(c.Add(ctx, 2))
		is(t, int64(-1))(arrive(call).AsInt64())
		require.Equal(t, "7", textOf(t, raw, c.Name()))

		setText(t, raw, c.Name(), "9223372036854775807")
		recorder.Take()
		require.ErrorIs(t, last(c.Add(ctx, 1)), ErrInvalidArgument)
		call = lastCall()
		setText(t, raw, c.Name(), "7")
		require.ErrorContains(t, arrive(call).Error(), "would overflow")
		require.Equal(t, "7", textOf(t, raw, c.Name()))
		setText(t, raw, c.Name(), "x")
		require.ErrorIs(t, last(c.Add(ctx, 1)), ErrDecode)
		call = lastCall()
		setText(t, raw, c.Name(), "7")
		require.ErrorContains(t, arrive(call).Error(), "not an integer")
		require.Equal(t, "7", textOf(t, raw, c.Name()))

		is(t, int64(8))(c.Add(ctx, 1))
		call = lastCall()
		setText(t, raw, call.Keys[1], call.Args[0]+" 0 void")
		is(t, int64(-1))(arrive(call).AsInt64())
		require.Equal(t, "8", textOf(t, raw, c.Name()))
	})
}

// TestAnUnknownAddCountsOnce: the server is silent for longer than a caller waits, and the client goes on.
func TestAnUnknownAddCountsOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for _, runs := range []bool{true, false} {
		client, proxy := through(t, server)
		raw := server.Client(t)
		e := engineOn(t, client, hasty)
		c := New(e, named(t, raw), WithRequestIDs())
		is(t, int64(1))(c.Add(t.Context(), 1))
		restore := proxy.Silence(redistest.Arg(c.Name()), runs)
		require.ErrorIs(t, last(c.Add(t.Context(), 2)), ErrOutcomeUnknown)
		restore()
		redistest.Eventually(t, func() bool { return !e.CleaningUp() }, soon, time.Millisecond)
		require.Equal(t, "3", textOf(t, raw, c.Name()))
		is(t, int64(4))(c.Add(t.Context(), 1))
	}
}

// TestAnOutageIsToldToAllTogether, also to those who wait for one block of ids.
func TestAnOutageIsToldToAllTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	raw := server.Client(t)
	e := engineOn(t, client, hasty)
	name := named(t, raw)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key("{"+name+"}:allocation").Build()) })
	g, c := NewIDs(e, name), New(e, name+"-c")
	const callers = 200
	proxy.BlackHole()
	began := time.Now()
	done := make(chan error, 2*callers)
	for range callers {
		go func() { done <- last(g.Next(context.Background())) }()   // ends with the sends
		go func() { done <- last(c.Add(context.Background(), 1)) }() // ends with the sends
	}
	for range 2 * callers {
		require.Error(t, redistest.Done(t, done))
	}
	took := time.Since(began)
	proxy.Restore()
	t.Logf("all %d were told after %v", 2*callers, took)
	redistest.Eventually(t, func() bool { return last(g.Next(t.Context())) == nil }, soon, 10*time.Millisecond)
	raw.Do(context.Background(), raw.B().Del().Key(name+"-c").Build())
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user that docs/redis.md sets up, and asks the
// server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	e := engineOn(t, user.Client(t))
	for what, op := range operations {
		assert.NoError(t, op.do(t.Context(), e, "orders:"+strings.ReplaceAll(what, " ", "-")), what)
	}
	user.NothingDenied(t)
	checks := map[string]func(ctx context.Context) error{
		"counter": New(e, "orders:c").Check, "slots": New(e, "orders:c", WithRequestIDs()).Check, "float": NewFloat(e, "orders:f").Check,
		"ids": NewIDs(e, "orders:i").Check, "distinct": NewDistinct[int](e, "orders:d").Check, "adder": NewAdder(e, "orders:a").Check,
	}
	for what, check := range checks {
		assert.NoError(t, check(t.Context()), what)
	}
}
