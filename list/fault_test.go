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

// TestALostReply drops the reply to each write once.
func TestALostReply(t *testing.T) { faulty().LosesReplies(t) }

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) { faulty().ReadsAgain(t) }

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) { faulty().Refuses(t) }

// TestAClosedClient answers each operation with ErrClosed.
func TestAClosedClient(t *testing.T) { faulty().Closed(t) }

// faulty is a list whose operations are tried under faults.
func faulty() enginetest.Object {
	o := enginetest.Object{
		Old: abac, State: state, Before: "abac hour", Needs: []string{"set", "append"}, Read: "set",
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

// on runs an operation on the list of a name.
func on(do func(ctx context.Context, l *List[string]) (any, error)) enginetest.Do {
	return func(ctx context.Context, e *locking.Engine, name string) (any, error) {
		return do(ctx, listOn(e, name))
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
