package bloom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// hasty has refused requests given up soon.
func hasty(c *core.Config) { c.WatchdogTimeout = redistest.Scaled(900 * time.Millisecond) }

// TestALostReplyIsToldOrRepeated: of each operation the reply is lost once.
func TestALostReplyIsToldOrRepeated(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		for what, op := range operations {
			client, proxy := through(t, server)
			e := engineOn(t, client)
			f := New[string](e, named(t, raw))
			warm := made(t, e, named(t, raw)) // so that the server knows the scripts
			require.NoError(t, op.do(t.Context(), warm))
			if what != "init" {
				is(t, true)(f.Init(t.Context(), 100, 0.01))
			}
			match := redistest.Command("EXEC", "EVALSHA")
			if what == "shape" {
				match = redistest.Command("HMGET")
			}
			lost := proxy.DropReply(match, 1)
			err := op.do(t.Context(), f)
			require.Equal(t, 1, lost.Dropped(), "%s: %v", what, err)
			if op.reads || op.grows {
				require.NoError(t, err, what)
				continue
			}
			require.ErrorIs(t, err, ErrOutcomeUnknown, what)
			require.ErrorContains(t, err, `"`+f.Name()+`"`)
			if what == "init" {
				require.ErrorContains(t, err, "the filter is there")
				require.NoError(t, op.do(t.Context(), f))
			} else {
				require.ErrorContains(t, err, "all values are in the filter")
				is(t, []bool{true, true})(f.HasEach(t.Context(), "a", "b"))
			}
		}
	})
}

// TestAddNewOfARequestThatWasLost says that the value is new: the first send did not arrive.
func TestAddNewOfARequestThatWasLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	f := made(t, engineOn(t, client, enginetest.ShortSends), named(t, server.Client(t)))
	is(t, []bool{true})(f.AddNew(t.Context(), "a"))
	held := proxy.HoldRequest(redistest.Command("EVALSHA"))
	done := make(chan error, 1)
	go func() { // ends with its answer
		fresh, err := f.AddNew(context.Background(), "b", "c")
		if err == nil && !slices.Equal(fresh, []bool{true, true}) {
			err = fmt.Errorf("answered %v", fresh)
		}
		done <- err
	}()
	require.NoError(t, redistest.Done(t, done))
	held.Release() // late
	is(t, []bool{true, true})(f.HasEach(t.Context(), "b", "c"))
}

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
			f, orphan := made(t, e, "f"), "orphan"
			for _, op := range operations {
				require.NoError(t, op.do(t.Context(), f))
			}
			redistest.Do(t, raw, "SETBIT", orphan, "9", "1")
			say := func(command string) {
				require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary(strings.Fields(command)...).Build()).Error())
			}
			var rule *redistest.Rule
			if code == "MISCONF" {
				rule = proxy.Answer(redistest.Command("EVALSHA", "EVAL"), "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.")
			} else {
				say(how.refuse)
			}
			var all sync.WaitGroup
			for what, op := range operations {
				all.Go(func() {
					on := f
					if what == "init" {
						on = New[string](e, orphan)
					}
					err := op.do(t.Context(), on)
					if op.reads && code != "NOPERM" {
						assert.NoError(t, err, what)
						return
					}
					assert.ErrorContains(t, err, code, what)
					assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
				})
			}
			all.Wait()
			if rule != nil {
				rule.Cancel()
			} else {
				say(how.accept)
			}
			require.EqualValues(t, 1, number(t, raw, "BITCOUNT", orphan), "nothing was written")
			require.Zero(t, number(t, raw, "EXISTS", keys.BloomConfig(orphan)))
			redistest.Eventually(t, func() bool { return f.Add(t.Context(), "after") == nil }, soon, 10*time.Millisecond)
		})
	}
}

// TestWhatAUserMayNotDo: one command, or MULTI.
func TestWhatAUserMayNotDo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	made(t, engineOn(t, raw), "f")
	for without, want := range map[string][]string{
		"multi": {"has", "has each", "count"}, "bitfield_ro": {"has", "has each"}, "bitcount": {"count"}, "bitfield": {"add", "add new"},
		"hmget": {"has", "has each", "count", "shape", "add", "add new", "init"},
	} {
		redistest.Do(t, raw, "ACL", "SETUSER", without, "on", ">secret", "~*", "&*", "+@all", "-"+without)
		e := engineOn(t, server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = without, "secret" }), hasty)
		for what, op := range operations {
			f := New[string](e, "f")
			f.kept.Store(&shape{958, 7})
			err := op.do(t.Context(), f)
			if !slices.Contains(want, what) {
				require.NoError(t, err, "%s without %s", what, without)
				continue
			}
			require.ErrorContains(t, err, "run", "%s without %s", what, without) // each server has its own words
			require.NotErrorIs(t, err, ErrOutcomeUnknown)
		}
		err := New[string](e, "f").Check(t.Context())
		require.ErrorIs(t, err, core.ErrNotPermitted)
		require.ErrorContains(t, err, strings.ToUpper(without))
	}
}

// TestASlotThatMoves: operations go on, and those on two keys that are apart are refused for the moment.
func TestASlotThatMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("the suite", func(t *testing.T) { filterOperations(t, raw, redistest.Name(t)) })
	e, patient, ctx := engineOn(t, raw, hasty), engineOn(t, raw), t.Context()
	require.ErrorIs(t, New[string](e, "{}a").Add(ctx, "a"), ErrInvalidArgument)
	name := "{m}f"
	f := made(t, patient, name)
	vs := values("v", 1000) // several exchanges
	require.NoError(t, f.Add(ctx, vs...))
	all := func(f *Filter[string]) error {
		has, err := f.HasEach(ctx, vs...)
		if err == nil && slices.Contains(has, false) {
			err = errors.New("a value is not found")
		}
		return err
	}
	m := cluster.StartMigration(t, name)
	require.NoError(t, f.Add(ctx, "where it was"))
	require.NoError(t, all(f))
	m.Move(t, keys.BloomConfig(name)) // the keys are apart
	asks := New[string](e, name)
	for what, op := range operations {
		if what == "shape" {
			require.NoError(t, op.do(ctx, asks))
			continue
		}
		err := op.do(ctx, asks)
		require.ErrorIs(t, err, core.ErrSlotMoving, what)
		require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
	}
	done := make(chan error, 2)
	for _, do := range []func() error{func() error { return all(f) }, func() error { return f.Add(ctx, "patience") }} {
		go func() { done <- do() }() // ends when the slot has moved
	}
	m.Move(t, name)
	require.NoError(t, redistest.Done(t, done))
	require.NoError(t, redistest.Done(t, done))
	require.NoError(t, all(f)) // ASK
	require.NoError(t, f.Add(ctx, "b"))
	m.Finish(t)
	require.NoError(t, all(f)) // MOVED
	is(t, []bool{true, true, true})(f.HasEach(ctx, "where it was", "patience", "b"))
	is(t, true)(f.Has(ctx, "b"))
}

// TestAnOutageIsToldToAllTogether, in the time of one.
func TestAnOutageIsToldToAllTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	raw := server.Client(t)
	e := engineOn(t, client, hasty)
	f := made(t, e, named(t, raw))
	require.NoError(t, f.Add(t.Context(), "a"))
	const callers = 100
	proxy.BlackHole()
	done := make(chan error, 3*callers)
	for range callers {
		go func() { done <- last(f.Has(context.Background(), "a")) }()                             // ends with the sends
		go func() { done <- f.Add(context.Background(), "b") }()                                   // ends with the sends
		go func() { done <- last(New[string](e, f.Name()).Has(context.Background(), "secret")) }() // ends with the sends
	}
	for range 3 * callers {
		err := redistest.Done(t, done)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
	proxy.Restore()
	redistest.Eventually(t, func() bool { return last(f.Has(t.Context(), "a")) == nil }, soon, 10*time.Millisecond)
}

// TestACallerMayLeave: it learns that its add may have been done, and others are not harmed.
func TestACallerMayLeave(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	f := made(t, engineOn(t, client), named(t, server.Client(t)))
	require.NoError(t, f.Add(t.Context(), "a"))
	for _, what := range []string{"add", "has", "has each"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		held := proxy.HoldRequest(redistest.Command("EVALSHA", "EXEC"))
		done := make(chan error, 1)
		go func() { done <- operations[what].do(ctx, f) }() // ends with ctx
		held.Await(t)
		cancel(errors.New("no time"))
		err := redistest.Done(t, done)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "no time")
		require.Equal(t, what == "add", errors.Is(err, ErrOutcomeUnknown), what)
		held.Release()
		is(t, true)(f.Has(t.Context(), "a"))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, op := range operations {
		require.ErrorIs(t, op.do(ended, f), context.Canceled, what)
		require.NotErrorIs(t, op.do(ended, f), ErrOutcomeUnknown, what)
	}
}

// TestAClosedClientIsTold at once.
func TestAClosedClientIsTold(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	f := made(t, e, named(t, raw))
	require.NoError(t, locking.Close(t.Context(), e))
	for what, op := range operations {
		require.ErrorIs(t, op.do(t.Context(), f), ErrClosed, what)
	}
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user that docs/redis.md sets up, and asks the
// server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	f := New[string](engineOn(t, user.Client(t)), "orders:seen")
	is(t, true)(f.Init(t.Context(), 100, 0.01))
	for what, op := range operations {
		assert.NoError(t, op.do(t.Context(), f), what)
	}
	is(t, true)(f.Expire(t.Context(), time.Hour))
	is(t, true)(f.Persist(t.Context()))
	is(t, true)(f.Exists(t.Context()))
	require.NoError(t, last(f.Remaining(t.Context())))
	is(t, true)(f.Rename(t.Context(), "orders:other"))
	require.NoError(t, last(f.Delete(t.Context())))
	require.NoError(t, f.Check(t.Context()))
	user.NothingDenied(t)
}

func TestCheckOfAFilter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		f := New[string](engineOn(t, raw), named(t, raw))
		require.NoError(t, f.Check(t.Context()))
		redistest.Do(t, raw, "SET", keys.BloomConfig(f.Name()), "x")
		require.ErrorIs(t, f.Check(t.Context()), core.ErrWrongKind)
		require.ErrorIs(t, New[string](engineOn(t, raw), "").Check(t.Context()), ErrInvalidArgument)
	})
}

// TestAServerThatForgets has no filter, and Init makes an empty one; handles go on.
func TestAServerThatForgets(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := made(t, engineOn(t, server.Client(t)), "f")
	require.NoError(t, f.Add(t.Context(), "a"))
	server.Kill()
	server.Restart()
	redistest.Eventually(t, func() bool { return errors.Is(f.Add(t.Context(), "b"), ErrNotSet) }, soon, 10*time.Millisecond)
	require.ErrorIs(t, last(f.HasEach(t.Context(), "a")), ErrNotSet)
	is(t, true)(f.Init(t.Context(), 1000, 0.01))
	is(t, []bool{false, false})(f.HasEach(t.Context(), "a", "b"))
	require.NoError(t, f.Add(t.Context(), "b"))
	is(t, true)(f.Has(t.Context(), "b"))
}
