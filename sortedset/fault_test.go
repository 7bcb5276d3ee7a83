package sortedset

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
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
	o := enginetest.Refused{
		Old: old, State: state, Before: before, Never: []string{"add", "add much to a score"}, Read: "add",
		Writes: map[string]enginetest.Effect{}, Reads: map[string]enginetest.Do{},
	}
	for what, one := range effects {
		o.Writes[what] = enginetest.Effect{Do: on(one.do), Left: one.left}
	}
	for what, one := range reads {
		o.Reads[what] = on(one.do)
	}
	o.Test(t)
}

// on runs an operation on the objects of a name.
func on(do func(ctx context.Context, k kit) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) error {
		_, err := do(ctx, kitOn(e, name))
		return err
	}
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
