package sortedset

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
			k := kitOn(enginetest.On(t, client), fresh(t, raw))
			old(t, raw, k.name)
			sent := redistest.All(one.sends, redistest.Arg(k.name))
			lost := proxy.DropReply(sent, 1)
			_, err := one.do(t.Context(), k)
			lost.Await(t)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, k.name)
			require.Equal(t, one.left, state(t, raw, k.name), "it was done")
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
			k := kitOn(enginetest.On(t, client), fresh(t, raw))
			old(t, raw, k.name)
			lost := proxy.DropReply(redistest.All(one.sends, redistest.Arg(k.name)), 1)
			answer, err := one.do(t.Context(), k)
			lost.Await(t)
			require.NoError(t, err)
			if one.answer != nil {
				require.Equal(t, one.answer, answer)
			}
			require.Equal(t, before, state(t, raw, k.name), "it writes nothing")
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
			user := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "orders", "password" })
			e := enginetest.On(t, user)
			for what := range effects {
				old(t, raw, what)
			}
			redistest.Do(t, raw, how.refuse...)
			refused := map[string]error{}
			var mu sync.Mutex
			var all sync.WaitGroup
			for what, one := range effects {
				all.Go(func() { // each is sent again for a while
					_, err := one.do(t.Context(), kitOn(e, what))
					mu.Lock()
					defer mu.Unlock()
					refused[what] = err
				})
			}
			all.Wait()
			for what, one := range effects {
				if refused[what] == nil { // it does not write, or takes no memory
					require.Contains(t, []string{one.left, before}, state(t, raw, what), what)
					continue
				}
				require.Regexp(t, name+"|can't run this command", refused[what].Error(), what) // which is how 7.0 says it of scripts
				require.ErrorContains(t, refused[what], what)
				require.NotErrorIs(t, refused[what], ErrOutcomeUnknown, what)
				require.Equal(t, before, state(t, raw, what), what)
			}
			require.Error(t, refused["add"])
			require.Error(t, refused["add much to a score"])
			for what, one := range reads {
				_, err := one.do(t.Context(), kitOn(e, "add"))
				require.NoError(t, err, what)
			}
			redistest.Do(t, raw, how.allow...)
			redistest.Eventually(t, func() bool { return added(kitOn(e, "add")) == nil }, redistest.Soon, time.Millisecond)
		})
	}
}

// TestAServerThatCannotSave answers MISCONF to writes.
func TestAServerThatCannotSave(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := redistest.ThroughProxy(t, server)
	e := enginetest.On(t, client)
	name := fresh(t, raw)
	old(t, raw, name)
	const why = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
	proxy.Answer(redistest.Arg(name), why)
	var all sync.WaitGroup
	for what, one := range effects {
		all.Go(func() {
			_, err := one.do(t.Context(), kitOn(e, name))
			assert.ErrorContains(t, err, "MISCONF", what)
			assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
		})
	}
	all.Wait()
	require.Equal(t, before, state(t, raw, name))
}

// TestAKeyOfAnotherType keeps what it has, and how long.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		name := fresh(t, raw)
		redistest.Do(t, raw, "RPUSH", name, "a", "b")
		redistest.Do(t, raw, "PEXPIRE", name, decimal(hour.Milliseconds()))
		refused := func(what string, do func(ctx context.Context, k kit) (any, error)) {
			_, err := do(t.Context(), kitOn(e, name))
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.ErrorContains(t, err, "no sorted set", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			msg := redistest.Do(t, raw, "LRANGE", name, "0", "-1")
			all, err := msg.AsStrSlice()
			require.NoError(t, err, what)
			require.Equal(t, []string{"a", "b"}, all, what)
			require.Equal(t, "hour", ends(t, raw, name), what)
		}
		for what, one := range effects {
			if !one.any && !(one.lacks && miniredis(t)) {
				refused(what, one.do)
			}
		}
		for what, one := range reads {
			if !one.any {
				refused(what, one.do)
			}
		}
	})
}

// TestAnOutageIsReportedToAll: also to the callers that share an exchange.
func TestAnOutageIsReportedToAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := redistest.ThroughProxy(t, server)
	s := kitOn(enginetest.On(t, client, enginetest.ShortSends), "s").s
	_, err := s.Add(t.Context(), 1, "a")
	require.NoError(t, err)
	proxy.Refuse()
	proxy.CutAll()
	const each = 20
	errs := make(chan error, 3*each)
	for range each {
		go func() { _, _, err := s.Score(t.Context(), "a"); errs <- err }() // ends with the outage's error
		go func() { _, err := s.Add(t.Context(), 1, "a"); errs <- err }()   // as above
		go func() { _, err := collect(s.All(t.Context())); errs <- err }()  // as above
	}
	for range 3 * each {
		require.Error(t, redistest.Done(t, errs))
	}
	proxy.Accept()
	redistest.Eventually(t, func() bool { _, there, err := s.Score(t.Context(), "a"); return err == nil && there }, redistest.Soon, time.Millisecond)
}

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) {
	t.Parallel()
	raw := redistest.MiniredisClient(t)
	e := enginetest.On(t, raw)
	require.NoError(t, locking.Close(context.Background(), e))
	for what, one := range effects {
		_, err := one.do(t.Context(), kitOn(e, "b"))
		require.ErrorIs(t, err, ErrClosed, what)
	}
	for what, one := range reads {
		_, err := one.do(t.Context(), kitOn(e, "b"))
		require.ErrorIs(t, err, ErrClosed, what)
	}
}

func added(k kit) error {
	_, err := k.s.Add(context.Background(), 1, "a")
	return err
}
