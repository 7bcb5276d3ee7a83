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

// TestALostReply drops the reply to each write once.
func TestALostReply(t *testing.T) { faulty().LosesReplies(t) }

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) { faulty().ReadsAgain(t) }

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) { faulty().Refuses(t) }

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) { faulty().Closed(t) }

// faulty is a set whose operations are tried under faults.
func faulty() enginetest.Object {
	o := enginetest.Object{
		Old: a5, State: state, Before: "a5 hour", Needs: []string{"set", "set range"}, Read: "set",
		Writes: map[string]enginetest.Write{}, Reads: map[string]enginetest.Read{},
	}
	for what, one := range effects {
		o.Writes[what] = enginetest.Write{Do: on(one.do), Sends: one.sends, Left: one.left}
	}
	for what, one := range reads {
		o.Reads[what] = enginetest.Read{Do: on(one.do), Sends: one.sends, Answer: one.answer}
	}
	return o
}

// on runs an operation on the set of a name.
func on(do func(ctx context.Context, s *Set) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) (any, error) { return do(ctx, New(e, name)) }
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
