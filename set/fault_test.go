package set

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// about matches a request of an operation on a key. Of a transaction the last one names none.
func about(m redistest.Match, name string) redistest.Match {
	return func(cmd []string) bool { return m(cmd) && (cmd[0] == "EXEC" || redistest.Arg(name)(cmd)) }
}

// TestALostReply drops the reply to each write once. It was sent once, and says so.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range kinds {
		for what, one := range of.effects {
			t.Run(kind+" "+what, func(t *testing.T) {
				t.Parallel()
				client, proxy := redistest.ThroughProxy(t, server)
				k := kitOn(enginetest.On(t, client), fresh(t, raw))
				of.old(t, raw, k.name)
				lost := proxy.DropReply(about(one.sends, k.name), 1)
				_, err := one.do(t.Context(), k)
				lost.Await(t)
				require.ErrorIs(t, err, ErrOutcomeUnknown)
				require.ErrorContains(t, err, k.name)
				requireState(t, one.left, of.state(t, raw, k.name), "it was done")
			})
		}
	}
}

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range kinds {
		for what, one := range of.looks {
			t.Run(kind+" "+what, func(t *testing.T) {
				t.Parallel()
				client, proxy := redistest.ThroughProxy(t, server)
				k := kitOn(enginetest.On(t, client), fresh(t, raw))
				of.old(t, raw, k.name)
				lost := proxy.DropReply(about(one.sends, k.name), 1)
				answer, err := one.do(t.Context(), k)
				lost.Await(t)
				require.NoError(t, err)
				require.Equal(t, one.answer, answer)
				require.Equal(t, of.first, of.state(t, raw, k.name), "it writes nothing")
			})
		}
	}
}

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct{ refuse, allow []string }{
		"OOM":        {[]string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
		"NOREPLICAS": {[]string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		"READONLY":   {[]string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
		"NOPERM":     {[]string{"ACL", "SETUSER", "orders", "-@write"}, []string{"ACL", "SETUSER", "orders", "+@write"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			raw := server.Client(t)
			redistest.Do(t, raw, "ACL", "SETUSER", "orders", "on", ">password", "~*", "&*", "+@all")
			user := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })
			e := enginetest.On(t, user)
			var all sync.WaitGroup
			refused := sync.Map{}
			for kind, of := range kinds {
				for what := range of.effects {
					of.old(t, raw, kind+" "+what)
				}
			}
			redistest.Do(t, raw, how.refuse...)
			for kind, of := range kinds {
				for what, one := range of.effects {
					all.Go(func() { // each is sent again for a while
						_, err := one.do(t.Context(), kitOn(e, kind+" "+what))
						refused.Store(kind+" "+what, err)
					})
				}
			}
			all.Wait()
			for kind, of := range kinds {
				for what, one := range of.effects {
					said, _ := refused.Load(kind + " " + what)
					left := of.state(t, raw, kind+" "+what)
					if said == nil { // it does not write, or takes no memory
						if one.left != "one" {
							require.Contains(t, []string{one.left, of.first}, left, what)
						}
						continue
					}
					err := said.(error)
					require.Regexp(t, name+"|can't run this command", err.Error(), what) // which is how 7.0 says it of scripts
					require.ErrorContains(t, err, what)
					require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
					require.Equal(t, of.first, left, what)
				}
				for what, one := range of.looks {
					k := kitOn(e, kind+" expire")
					if kind == "cache" {
						k = kitOn(e, "cache add if absent what is there")
					}
					if _, err := one.do(t.Context(), k); name != "NOPERM" {
						require.NoError(t, err, what)
					}
				}
			}
			for _, what := range []string{"set add", "cache add", "cache add if absent", "set add all", "set unite"} {
				said, _ := refused.Load(what)
				require.NotNil(t, said, what)
			}
			redistest.Do(t, raw, how.allow...)
			redistest.Eventually(t, func() bool { return last(kitOn(e, "set add").s.Add(t.Context(), "new")) == nil }, redistest.Soon, time.Millisecond)
		})
	}
}

// TestAServerThatCannotSave answers MISCONF to writes.
func TestAServerThatCannotSave(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	const why = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
	for kind, of := range kinds {
		client, proxy := redistest.ThroughProxy(t, server)
		e := enginetest.On(t, client)
		name := fresh(t, raw)
		of.old(t, raw, name)
		scan := map[string]redistest.Match{"set": script(scanSetScript), "cache": script(scanCacheScript)}[kind]
		proxy.Answer(redistest.All(redistest.Arg(name), func(cmd []string) bool { return !scan(cmd) && !redistest.Command("ZMSCORE")(cmd) }), why)
		var all sync.WaitGroup
		for what, one := range of.effects {
			if kind == "cache" && one.sends([]string{"EXEC"}) {
				continue // the server queues what it has answered nothing to
			}
			all.Go(func() {
				_, err := one.do(t.Context(), kitOn(e, name))
				assert.ErrorContains(t, err, "MISCONF", what)
				assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			})
		}
		all.Wait()
		require.Equal(t, of.first, of.state(t, raw, name))
	}
}

// TestAKeyOfAnotherType keeps what it has, and how long.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		refused := func(what, name string, err error) {
			t.Helper()
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.ErrorContains(t, err, "is no s", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			msg := redistest.Do(t, raw, "LRANGE", name, "0", "-1")
			all, err := msg.AsStrSlice()
			require.NoError(t, err, what)
			require.Equal(t, []string{"a", "b"}, all, what)
			left := redistest.Left(t, raw, name)
			require.True(t, left > hour/2 && left <= hour, what)
		}
		for kind, of := range kinds {
			k := kitOn(e, fresh(t, raw))
			redistest.Do(t, raw, "RPUSH", k.name, "a", "b")
			redistest.Do(t, raw, "PEXPIRE", k.name, decimal(hour.Milliseconds()))
			for what, one := range of.effects {
				if one.foreign == refuses {
					_, err := one.do(t.Context(), k)
					refused(kind+" "+what, k.name, err)
				}
			}
			for what, one := range of.looks {
				if what != "exists" && what != "remaining" && what != "remaining all" {
					_, err := one.do(t.Context(), k)
					refused(kind+" "+what, k.name, err)
				}
			}
		}
		k := kitOn(e, fresh(t, raw))
		oldSet(t, raw, k.name)
		redistest.Do(t, raw, "RPUSH", k.to, "a")
		for what, err := range map[string]error{
			"union": last(all(k.s.Union(t.Context(), k.to))),
			"inter": last(all(k.s.Inter(t.Context(), k.to))),
			"move":  last(k.s.Move(t.Context(), k.to, "a")),
			"into":  last(k.s.UnionInto(t.Context(), "x:{"+k.name+"}", k.to)),
		} {
			require.ErrorContains(t, err, "one of the keys is no set", what)
		}
		require.Equal(t, "a b", stateOfSet(t, raw, k.name))
		n, err := k.s.UnionInto(t.Context(), k.to)
		require.NoError(t, err, "it writes over any key")
		require.EqualValues(t, 2, n)
		require.Equal(t, "a b", stateOfSet(t, raw, k.to))
	})
}

// TestAnOutageIsReportedToAll: also to the callers that share an exchange.
func TestAnOutageIsReportedToAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := redistest.ThroughProxy(t, server)
	k := kitOn(enginetest.On(t, client, enginetest.ShortSends), "s")
	oldSet(t, client, k.name)
	proxy.Refuse()
	proxy.CutAll()
	const each = 20
	errs := make(chan error, 3*each)
	for range each {
		go func() { errs <- last(k.s.Has(t.Context(), "a")) }() // ends with the outage's error
		go func() { errs <- last(k.c.Has(t.Context(), "a")) }() // as above
		go func() { errs <- last(k.c.Add(t.Context(), "a")) }() // as above
	}
	for range 3 * each {
		require.Error(t, redistest.Done(t, errs))
	}
	proxy.Accept()
	redistest.Eventually(t, func() bool { has, err := k.s.Has(t.Context(), "a"); return err == nil && has }, redistest.Soon, time.Millisecond)
}

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) {
	t.Parallel()
	e := enginetest.On(t, redistest.MiniredisClient(t))
	require.NoError(t, locking.Close(context.Background(), e))
	for kind, of := range kinds {
		for what, one := range of.effects {
			_, err := one.do(t.Context(), kitOn(e, "b"))
			require.ErrorIs(t, err, ErrClosed, kind+what)
		}
		for what, one := range of.looks {
			_, err := one.do(t.Context(), kitOn(e, "b"))
			require.ErrorIs(t, err, ErrClosed, kind+what)
		}
	}
	for _, err := range NewCache[string](e, "b").Expired(t.Context()) {
		require.ErrorIs(t, err, ErrClosed)
	}
}

// TestAUserWithoutTransactions has the commands of an Add run one by one, and is told that the outcome is unknown.
func TestAUserWithoutTransactions(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	redistest.Do(t, raw, "ACL", "SETUSER", "orders", "on", ">password", "~*", "&*", "+@all", "-multi")
	c := NewCache[string](enginetest.On(t, server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })), "c")
	_, err := c.Add(t.Context(), "a")
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorContains(t, err, "grant multi and exec by the ACL")
	require.Equal(t, "a:forever", stateOfCache(t, raw, "c"))
	require.Error(t, c.Check(t.Context()))
}
