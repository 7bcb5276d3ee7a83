package list

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
	o := enginetest.Refused{
		Old: abac, State: state, Before: "abac hour", Never: []string{"set", "append"}, Read: "set",
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

// on runs an operation on the list of a name.
func on(do func(ctx context.Context, l *List[string]) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) error {
		_, err := do(ctx, listOn(e, name))
		return err
	}
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
