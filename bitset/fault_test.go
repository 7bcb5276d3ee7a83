package bitset

import (
	"context"
	"testing"

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
			s := New(enginetest.On(t, client), fresh(t, raw))
			a5(t, raw, s.Name())
			lost := proxy.DropReply(redistest.All(one.sends, redistest.Arg(s.Name())), 1)
			_, err := one.do(t.Context(), s)
			lost.Await(t)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, s.Name())
			require.Equal(t, one.left, state(t, raw, s.Name()), "it was done")
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
			s := New(enginetest.On(t, client), fresh(t, raw))
			a5(t, raw, s.Name())
			lost := proxy.DropReply(redistest.All(one.sends, redistest.Arg(s.Name())), 1)
			answer, err := one.do(t.Context(), s)
			lost.Await(t)
			require.NoError(t, err)
			if one.answer != nil {
				require.Equal(t, one.answer, answer)
			}
			require.Equal(t, "a5 hour", state(t, raw, s.Name()), "it writes nothing")
		})
	}
}

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) {
	o := enginetest.Refused{
		Old: a5, State: state, Before: "a5 hour", Never: []string{"set", "set range"}, Read: "set",
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

// on runs an operation on the set of a name.
func on(do func(ctx context.Context, s *Set) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) error {
		_, err := do(ctx, New(e, name))
		return err
	}
}

// TestAKeyOfAnotherType keeps what it has, and how long.
func TestAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		s := New(e, fresh(t, raw))
		redistest.Do(t, raw, "RPUSH", s.Name(), "a", "b")
		redistest.Do(t, raw, "PEXPIRE", s.Name(), decimal(hour.Milliseconds()))
		refused := func(what string, err error) {
			t.Helper()
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			msg := redistest.Do(t, raw, "LRANGE", s.Name(), "0", "-1")
			all, err := msg.AsStrSlice()
			require.NoError(t, err, what)
			require.Equal(t, []string{"a", "b"}, all, what)
			require.Equal(t, "hour", ends(t, raw, s.Name()), what)
		}
		for what, one := range effects {
			if !one.moves {
				_, err := one.do(t.Context(), s)
				refused(what, err)
				require.ErrorContains(t, err, "is no string", what)
			}
		}
		for what, one := range reads {
			if !one.any {
				_, err := one.do(t.Context(), s)
				refused(what, err)
			}
		}
		bits := New(e, other(s))
		a5(t, raw, bits.Name())
		refused("another", bits.Or(t.Context(), s.Name()))
		require.Equal(t, "a5 hour", state(t, raw, bits.Name()))
	})
}

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) {
	t.Parallel()
	e := enginetest.On(t, redistest.MiniredisClient(t))
	require.NoError(t, locking.Close(context.Background(), e))
	for what, one := range effects {
		_, err := one.do(t.Context(), New(e, "b"))
		require.ErrorIs(t, err, ErrClosed, what)
	}
	for what, one := range reads {
		_, err := one.do(t.Context(), New(e, "b"))
		require.ErrorIs(t, err, ErrClosed, what)
	}
}
