package list

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

// TestALostReply drops the reply to each write once. It was sent once, and says so.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for what, one := range effects {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client, proxy := redistest.ThroughProxy(t, server)
			l := listOn(enginetest.On(t, client), fresh(t, raw))
			abac(t, raw, l.Name())
			lost := proxy.DropReply(redistest.All(one.sends, redistest.Arg(l.Name())), 1)
			_, err := one.do(t.Context(), l)
			lost.Await(t)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, l.Name())
			require.Equal(t, one.left, state(t, raw, l.Name()), "it was done")
		})
	}
}

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for what, one := range reads {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client, proxy := redistest.ThroughProxy(t, server)
			l := listOn(enginetest.On(t, client), fresh(t, raw))
			abac(t, raw, l.Name())
			lost := proxy.DropReply(redistest.All(one.sends, redistest.Arg(l.Name())), 1)
			answer, err := one.do(t.Context(), l)
			lost.Await(t)
			require.NoError(t, err)
			if one.answer != nil {
				require.Equal(t, one.answer, answer)
			}
			require.Equal(t, "abac hour", state(t, raw, l.Name()), "it writes nothing")
		})
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
			e := enginetest.On(t, server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" }))
			for what := range effects {
				abac(t, raw, what)
			}
			redistest.Do(t, raw, how.refuse...)
			refused := map[string]error{}
			var mu sync.Mutex
			var all sync.WaitGroup
			for what, one := range effects {
				all.Go(func() { // each is sent again for a while
					_, err := one.do(t.Context(), listOn(e, what))
					mu.Lock()
					defer mu.Unlock()
					refused[what] = err
				})
			}
			all.Wait()
			for what, one := range effects {
				if refused[what] == nil { // it does not write, or takes no memory
					require.Contains(t, []string{one.left, "abac hour"}, state(t, raw, what), what)
					continue
				}
				require.Regexp(t, name+"|can't run this command", refused[what].Error(), what) // which is how 7.0 says it of scripts
				require.ErrorContains(t, refused[what], what)
				require.NotErrorIs(t, refused[what], ErrOutcomeUnknown, what)
				require.Equal(t, "abac hour", state(t, raw, what), what)
			}
			require.Error(t, refused["set"])
			require.Error(t, refused["append"])
			for what, one := range reads {
				_, err := one.do(t.Context(), listOn(e, "set"))
				require.NoError(t, err, what)
			}
			redistest.Do(t, raw, how.allow...)
			redistest.Eventually(t, func() bool { return listOn(e, "set").Trim(t.Context(), 0, 1) == nil }, redistest.Soon, time.Millisecond)
		})
	}
}

// TestAServerThatCannotSave answers MISCONF to writes.
func TestAServerThatCannotSave(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := redistest.ThroughProxy(t, server)
	l := listOn(enginetest.On(t, client), fresh(t, raw))
	abac(t, raw, l.Name())
	proxy.Answer(redistest.Arg(l.Name()), "MISCONF Redis is configured to save RDB snapshots, but it'l currently unable to persist to disk.")
	var all sync.WaitGroup
	for what, one := range effects {
		all.Go(func() {
			_, err := one.do(t.Context(), l)
			assert.ErrorContains(t, err, "MISCONF", what)
			assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
		})
	}
	all.Wait()
	require.Equal(t, "abac hour", state(t, raw, l.Name()))
}

// TestAKeyOfAnotherType keeps what it has, and how long.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		l := listOn(e, fresh(t, raw))
		redistest.Do(t, raw, "SET", l.Name(), "x", "PX", decimal(hour.Milliseconds()))
		refused := func(what string, err error) {
			t.Helper()
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			msg := redistest.Do(t, raw, "GET", l.Name())
			text, err := msg.ToString()
			require.NoError(t, err, what)
			require.Equal(t, "x", text, what)
			require.Equal(t, "hour", ends(t, raw, l.Name()), what)
		}
		for what, one := range effects {
			if !one.moves {
				_, err := one.do(t.Context(), l)
				refused(what, err)
				require.ErrorContains(t, err, "is no list", what)
			}
		}
		for what, one := range reads {
			if !one.any {
				_, err := one.do(t.Context(), l)
				refused(what, err)
			}
		}
	})
}

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) {
	t.Parallel()
	e := enginetest.On(t, redistest.MiniredisClient(t))
	require.NoError(t, locking.Close(context.Background(), e))
	for what, one := range effects {
		_, err := one.do(t.Context(), listOn(e, "b"))
		require.ErrorIs(t, err, ErrClosed, what)
	}
	for what, one := range reads {
		_, err := one.do(t.Context(), listOn(e, "b"))
		require.ErrorIs(t, err, ErrClosed, what)
	}
}
